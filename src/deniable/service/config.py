"""Configuration of a collector: TOML file, environment (`DENIABLE_*`) and command line; the last one wins."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator

from deniable.core.documents import Document, placed
from deniable.errors import FileFormatError, InvalidParameterError, quoted
from deniable.service.limits import PER_HOUR, PER_MINUTE, Allowance, Limits, networks
from deniable.service.stores.releases import WHOLE_DAY

PREFIX = "DENIABLE_"


class AllowanceShape(Document):
    """Setting for the number of reports that one network may send."""

    per_minute: int = Field(default=PER_MINUTE, ge=1)
    per_hour: int = Field(default=PER_HOUR, ge=1)

    def allowance(self) -> Allowance:
        """Return the setting as an `Allowance`, which the counter takes."""
        return Allowance(self.per_minute, self.per_hour)


class LimitsShape(AllowanceShape):
    """Numbers of reports per network: ``[limits]``, and ``[limits.networks."10.1.0.0/16"]`` for a named network."""

    off: bool = False
    networks: dict[str, AllowanceShape] = Field(default_factory=dict)

    def limits(self) -> Limits | None:
        """Return the counter of reports per network, or None if nothing is counted.

        Raises
        ------
        InvalidParameterError
            If a name is not a network.
        """
        named = networks(self.networks, "limits.networks")
        shapes = zip(named, self.networks.values(), strict=True)
        return None if self.off else Limits(self.allowance(), {network: one.allowance() for network, one in shapes})


class ResultsShape(Document):
    """Setting for the releases that analysts see while a survey is open: ``[results]``."""

    while_open: Literal["day"] | Annotated[int, Field(ge=1)] = WHOLE_DAY

    @field_validator("while_open", mode="wrap")
    @classmethod
    def _step(cls, value: object, check: ValidatorFunctionWrapHandler) -> object:
        with contextlib.suppress(ValidationError):
            return check(value)
        raise InvalidParameterError(
            f'results.while_open must be "day" or a number of batches from 1 on, got while_open={quoted(value)}'
        )


class Configuration(Document):
    """Configuration of a collector.

    Parameters
    ----------
    database : str
        Address of the database, ``sqlite:PATH`` or ``postgresql://...``.
    public, admin : str
        Addresses on which the two ports listen, ``HOST:PORT``; port 0 takes a free one.
    public_url : str
        Address of the public port as contributors type it, such as https://survey.example.org: links and QR codes begin
        with it. By default the port's own address, if that is on this machine.
    page_origin : list of str
        Origins that host survey pages besides the collector.
    trusted_proxies : list of str
        Networks of proxies of the public port whose forwarded addresses are believed.
    admin_proxies : list of str
        Networks of proxies of the admin port whose forwarded addresses are believed. A proxy of the public port says
        nothing about who comes to the admin port.
    log : str
        File that the log is written to; "" for stderr. It may be moved away while the collector runs.
    hosts : list of str
        Names by which browsers reach the admin port, besides its own address and this machine's.
    limits : LimitsShape
        Reports per network.
    results : ResultsShape
        Releases that analysts see while a survey is open.
    """

    database: str = "sqlite:deniable.db"
    public: str = "127.0.0.1:8080"
    admin: str = "127.0.0.1:8081"
    public_url: str = ""
    page_origin: list[str] = Field(default_factory=list)
    trusted_proxies: list[str] = Field(default_factory=list)
    admin_proxies: list[str] = Field(default_factory=list)
    log: str = ""
    hosts: list[str] = Field(default_factory=list)
    limits: LimitsShape = LimitsShape()
    results: ResultsShape = ResultsShape()


_LISTS = ("page_origin", "trusted_proxies", "admin_proxies", "hosts")
_LIMITS = ("per_minute", "per_hour", "off")
_TABLES = ("limits", "results")


def read_configuration(
    path: Path | None, given: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> Configuration:
    """Return the configuration that a file, the environment and the command line give.

    Parameters
    ----------
    path : Path or None
        TOML file.
    given : mapping
        Values from the command line, by key; None for a key that it does not give.
    environment : mapping
        Environment variables, `DENIABLE_DATABASE` and so on. Lists are separated by commas; `DENIABLE_LIMITS_OFF` and
        the like stand for ``[limits]`` and ``[results]``.

    Raises
    ------
    FileFormatError
        If the file is not TOML, or has an unknown key.
    InvalidParameterError
        If a value is out of bounds.
    """
    values: dict[str, Any] = {}
    if path is not None:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileFormatError(f"cannot read {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{path} is not TOML: {error}") from error
    for key in Configuration.model_fields:
        text = environment.get(PREFIX + key.upper())
        if text is not None and key not in _TABLES:
            values[key] = [part for part in text.split(",") if part] if key in _LISTS else text
    limits = dict(values.get("limits", {}))
    for key in _LIMITS:
        if (text := environment.get(f"{PREFIX}LIMITS_{key.upper()}")) is not None:
            limits[key] = text.lower() in ("1", "true", "yes") if key == "off" else _integer(text, f"limits.{key}")
    if (text := environment.get(f"{PREFIX}RESULTS_WHILE_OPEN")) is not None:
        values["results"] = {"while_open": int(text) if text.isdecimal() else text}
    values |= {key: value for key, value in given.items() if value is not None and key != "no_rate_limits"}
    if given.get("no_rate_limits"):
        limits["off"] = True
    with placed(str(path or "the configuration")):
        found = Configuration.model_validate({**values, "limits": limits})
    origins = [("page_origin", origin) for origin in found.page_origin]
    for key, origin in [*origins, *([("public_url", found.public_url)] if found.public_url else [])]:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
            raise InvalidParameterError(
                f"{key} must be an origin, such as https://example.org, got {quoted(origin)}", parameters=(key,)
            )
    return found


def address(text: str, what: str) -> tuple[str, int]:
    """Return the host and the port of an address.

    Examples
    --------
    >>> address("127.0.0.1:8080", "public"), address("[::1]:0", "admin")
    (('127.0.0.1', 8080), ('::1', 0))
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidParameterError(f"{what} must be HOST:PORT, got {quoted(text)}")
    return host.strip("[]"), int(port)


def _integer(text: str, what: str) -> int:
    if not text.isdecimal():
        raise InvalidParameterError(f"{what} must be a whole number, got {quoted(text)}")
    return int(text)
