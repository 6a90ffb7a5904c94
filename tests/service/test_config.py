"""Settings of a collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.errors import (
    FileFormatError,
    InvalidParameterError,
)
from deniable.service.config import AllowanceShape, LimitsShape, address, read_configuration


def test_named_networks_are_configured(tmp_path: Path) -> None:
    path = tmp_path / "collector.toml"
    path.write_text('[limits]\nper_minute = 7\n[limits.networks."10.1.0.0/16"]\nper_minute = 700\n')
    found = read_configuration(path, {}, {})
    assert found.limits.networks == {"10.1.0.0/16": AllowanceShape(per_minute=700)}
    limits = found.limits.limits()
    assert limits is not None
    assert sum(limits.wait("10.1.2.3") == 0 for _ in range(800)) == 700
    with pytest.raises(InvalidParameterError, match=r"limits\.networks must list networks, such as 10\.0\.0\.0/8"):
        LimitsShape(networks={"school": AllowanceShape()}).limits()


def test_the_step_is_configured() -> None:
    def step(environment: dict[str, str]) -> object:
        return read_configuration(None, {}, environment).results.while_open

    assert (step({}), step({"DENIABLE_RESULTS_WHILE_OPEN": "4"})) == ("day", 4)
    assert step({"DENIABLE_RESULTS_WHILE_OPEN": "day"}) == "day"
    for text in ("week", "0", "1.5"):
        with pytest.raises(FileFormatError, match=r'results.while_open must be "day" or a number of batches from 1 on'):
            step({"DENIABLE_RESULTS_WHILE_OPEN": text})


def test_settings_come_from_file_environment_and_options_and_the_last_wins(tmp_path: Path) -> None:
    path = tmp_path / "collector.toml"
    path.write_text(
        'database = "sqlite:a.db"\npublic = "127.0.0.1:1"\npage_origin = ["https://a.example"]\n'
        "[limits]\nper_minute = 7\n"
    )
    environment = {
        "DENIABLE_PUBLIC": "127.0.0.1:2",
        "DENIABLE_LIMITS_PER_HOUR": "9",
        "DENIABLE_TRUSTED_PROXIES": "10.0.0.0/8,::1/128",
    }
    found = read_configuration(path, {"database": "sqlite:b.db", "public": None, "no_rate_limits": False}, environment)
    assert (found.database, found.public, found.admin) == ("sqlite:b.db", "127.0.0.1:2", "127.0.0.1:8081")
    assert (found.limits.per_minute, found.limits.per_hour, found.limits.off) == (7, 9, False)
    assert (found.page_origin, found.trusted_proxies) == (["https://a.example"], ["10.0.0.0/8", "::1/128"])
    assert read_configuration(None, {"no_rate_limits": True}, {}).limits.off
    assert read_configuration(None, {}, {"DENIABLE_LIMITS_OFF": "yes"}).limits.off
    for text, said in (
        ("nonsense", "is not TOML"),
        ("more = 1", "more must be left out"),
        ("public = 1", "public must be"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=said):
            read_configuration(path, {}, {})
    path.write_text('[limits.networks."10.0.0.0/8"]\nper_hour = 0\n')
    with pytest.raises(
        InvalidParameterError, match=r"limits.networks.10.0.0.0/8.per_hour must be >= 1, got per_hour=0$"
    ):
        read_configuration(path, {}, {})
    for origin in ("pages.example", "https://pages.example/x", "https://"):
        with pytest.raises(InvalidParameterError, match="page_origin must be an origin"):
            read_configuration(None, {"page_origin": [origin]}, {})
    with pytest.raises(InvalidParameterError, match="public must be HOST:PORT, got “here”"):
        address("here", "public")
