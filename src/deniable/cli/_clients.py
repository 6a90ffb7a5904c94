"""What an audit runs: a collection attribute by attribute, or an object from somebody's Python file."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.cli._mechanisms import build_mechanism
from deniable.collection import Collection
from deniable.errors import DeniableError, InvalidInputError, InvalidParameterError, InvalidReportError
from deniable.multi._about import Visible, reports_about
from deniable.randomness import Randomness


@dataclass(frozen=True)
class Subject:
    """One client to audit, what it claims, and how its reports are read."""

    name: str
    client: Any
    claimed: float | None
    k: int | None
    reports_of: Any = None


def collection_subjects(collection: Collection, names: Sequence[str] | None) -> list[Subject]:
    """Return one subject per attribute of a collection, or those that are named."""
    schema, mechanism = collection.schema, collection.mechanism
    if schema.is_text:
        raise InvalidParameterError(f"attribute {schema.names[0]!r} is open text: an audit compares listed categories")
    if collection.dealt:
        raise InvalidParameterError(
            f"an audit runs a client on its own, and {mechanism.name} promises something about all reports of a deal "
            "together: its proof and its enumeration are in docs/theory/quota_rr.md"
        )
    unknown = [name for name in names or () if name not in schema.names]
    if unknown:
        raise InvalidParameterError(f"attributes must be among {', '.join(schema.names)}, got {unknown[0]!r}")
    promised = collection.privacy().per_attribute
    subjects = []
    for j, attribute in enumerate(schema.attributes):
        if names is not None and attribute.name not in names:
            continue
        if hasattr(mechanism, "sizes"):
            client = AttributeClient(mechanism, j)
            subjects.append(Subject(attribute.name, client, promised[j], attribute.k, client.oracle))
        else:
            subjects.append(Subject(attribute.name, mechanism, promised[0], attribute.k))
    return subjects


class AttributeClient:
    """One attribute of a record mechanism: all other answers stay the same, and only the part about it is read.

    Contributors who sample one are asked until the attribute is drawn, which does not depend on their answers.
    """

    def __init__(self, mechanism: Any, attribute: int) -> None:
        if not hasattr(mechanism, "oracles"):
            raise InvalidParameterError(f"an audit by attribute is not known for {mechanism!r}: audit it with --module")
        self._mechanism, self._attribute = mechanism, attribute
        self.oracle = mechanism.oracles[attribute]

    def randomize(self, inputs: NDArray[Any], rng: Randomness) -> NDArray[Any]:
        """Return the part about the attribute of one report per input."""
        records = np.zeros((len(inputs), len(self._mechanism.sizes)), dtype=np.int64)
        records[:, self._attribute] = inputs
        if not isinstance(self._mechanism, Visible):
            return self._part(self._mechanism.randomize(records, rng))
        result: NDArray[Any] | None = None
        waiting = np.arange(len(records))
        while len(waiting):
            drawn, part = reports_about(
                self._mechanism, self._mechanism.randomize(records[waiting], rng), self._attribute
            )
            if not isinstance(part, np.ndarray):
                raise InvalidParameterError(
                    f"an audit by attribute needs reports of one array, got those of {self.oracle!r}"
                )
            if result is None:
                result = np.zeros((len(records), *part.shape[1:]), dtype=part.dtype)
            result[waiting[drawn]] = part
            waiting = waiting[~drawn]
        return np.empty(0, dtype=np.uint8) if result is None else result

    @property
    def _width(self) -> int | None:
        width: int | None = self.oracle.report_fields[0].width
        return width

    def _part(self, reports: NDArray[Any]) -> NDArray[Any]:
        if not self._width:
            return reports[:, self._attribute]
        widths = [oracle.report_fields[0].width for oracle in self._mechanism.oracles]
        start = sum(widths[: self._attribute])
        return reports[:, start : start + self._width]


class ForeignClient:
    """Somebody else's object: whatever it raises becomes one clear line."""

    def __init__(self, client: Any, source: str) -> None:
        self._client, self._source = client, source

    def randomize(self, inputs: NDArray[Any], rng: Randomness) -> Any:
        """Return what the object returns."""
        try:
            reports = self._client.randomize(inputs, rng)
        except DeniableError:
            raise
        except Exception as error:
            raise InvalidInputError(f"{self._source} failed to randomize: {type(error).__name__}: {error}") from error
        return np.asarray(reports) if isinstance(reports, list) else reports


def module_subject(path: str, epsilon: float | None, k: int | None, reports_of: str | None) -> Subject:
    """Return the subject "file.py:object"; the file is run.

    Raises
    ------
    InvalidParameterError
        If there is no such file or object, the object has no ``randomize``, or a number that it does not state is not
        given either.
    """
    file, colon, name = path.rpartition(":")
    if not colon or not file or not name:
        raise InvalidParameterError(f"module must be FILE.py:OBJECT, got module={path!r}")
    client = _imported(Path(file), name)
    if not callable(getattr(client, "randomize", None)) or isinstance(client, type):
        raise InvalidParameterError(
            f"{path} must be an object with randomize(inputs, rng), got {type(client).__name__}"
        )
    claimed = epsilon if epsilon is not None else getattr(client, "epsilon", None)
    if claimed is None:
        raise InvalidParameterError(f"epsilon must be given (--epsilon): {path} does not state what it claims")
    k = k if k is not None else getattr(client, "k", None)
    if k is None:
        raise InvalidParameterError(f"k must be given (--k): {path} does not state how many answers it takes")
    read_as = None if reports_of is None else build_mechanism(reports_of, (int(k),), str(claimed), {})
    return Subject(path, ForeignClient(client, path), float(claimed), int(k), read_as)


def _imported(file: Path, name: str) -> Any:
    if not file.is_file():
        raise InvalidParameterError(f"there is no file {file}")
    specification = importlib.util.spec_from_file_location(f"audited_{file.stem}", file)
    if specification is None or specification.loader is None:
        raise InvalidParameterError(f"{file} must be a Python file, its name must end in .py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise InvalidParameterError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise InvalidParameterError(f"{file} has no object {name!r}")
        found = getattr(found, part)
    return found


def parse_codes(text: str | None) -> list[int] | None:
    """Return the codes in "0,3,5", None for None; InvalidParameterError if one is no integer."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidParameterError(f"inputs must be codes separated by commas, got inputs={text!r}") from None


@contextlib.contextmanager
def naming(subject: Subject, subjects: int) -> Iterator[None]:
    """Put a subject's name in front of what is wrong with its audit, if there are several, and say what may help."""
    try:
        yield
    except InvalidReportError as error:
        raise InvalidReportError(f"{subject.name}: {error} (--reports-of NAME)") from error
    except DeniableError as error:
        if subjects == 1:
            raise
        raise type(error)(f"{subject.name}: {error}") from error
