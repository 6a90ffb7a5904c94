"""An object from somebody's Python file, as something to audit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.cli._mechanisms import build_mechanism
from deniable.core.randomness import Randomness
from deniable.errors import DeniableError, InvalidInputError, InvalidParameterError
from deniable.leakage.adversary.collection_audit import Subject


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
