"""Command that audits a client's promise, with a lower bound from runs of the client."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from deniable.cli._app import check_unused, command, print_result, progress
from deniable.cli._mechanisms import build_mechanism
from deniable.cli._options import AsJson, parse_names
from deniable.core.randomness import Randomness, SecureRandomness, SimulationRandomness
from deniable.core.thresholds import checked_epsilon
from deniable.errors import DeniableError, InvalidInputError, InvalidParameterError, InvalidReportError, quoted
from deniable.leakage.adversary.collection_audit import Subject, audit_subjects, collection_subjects
from deniable.report import audit_page
from deniable.survey.collection import Collection

REFUTED = 1
"""Exit code of an audit that refutes a claim."""


@command("audit", interrupted="an audit writes nothing")
def audit(
    context: typer.Context,
    collection: Annotated[
        Path | None,
        typer.Argument(metavar="COLLECTION", help="Collection whose mechanism to audit (or give --module)."),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(
            "--module",
            metavar="FILE.py:OBJECT",
            help="Object to audit instead, with randomize(inputs, rng). The file is executed.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", help="Epsilon that the object claims; default: its own epsilon attribute."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", help="Number of answers that the object accepts (codes 0 to k-1).", min=2)
    ] = None,
    reports_of: Annotated[
        str | None,
        typer.Option("--reports-of", metavar="NAME", help="Mechanism whose reports the object makes."),
    ] = None,
    attributes: Annotated[
        str | None, typer.Option("--attributes", metavar="A,B,...", help="Attributes to audit; default: all.")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option("--inputs", metavar="0,1,...", help="Codes to compare; default: all.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Reports per input; default: as many as the test needs.")
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Probability of a false alarm over the whole audit.")] = 0.01,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed for a repeatable audit; default: the operating system's randomness."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test whether a client breaks its privacy promise.

    For anyone. Runs the client and computes a lower confidence bound on its epsilon. An audit can
    refute a promise but never confirm one. Exit code 1: refuted.
    """
    if (collection is None) == (module is None):
        raise InvalidParameterError("exactly one of COLLECTION and --module must be given")
    if module is None:
        foreign = {"epsilon": epsilon, "k": k, "reports-of": reports_of}
        given = next((name for name, value in foreign.items() if value is not None), None)
        if given is not None:
            raise InvalidParameterError(
                f"{given} must be left out with a collection, because the collection already contains this value: "
                f"leave out --{given}, or use --module in place of the collection"
            )
        names = None if attributes is None else parse_names(attributes)
        subjects = collection_subjects(Collection.load(collection or ""), names)
    else:
        check_unused(context, "with --module", {"attributes"})
        claimed = None if epsilon is None else float(checked_epsilon(epsilon))
        subjects = [_module_subject(module, claimed, k, reports_of)]
    rng = SecureRandomness() if seed is None else SimulationRandomness(seed)
    with progress("auditing", quiet=as_json) as report:
        try:
            summary = audit_subjects(
                subjects, rng=rng, inputs=_codes(inputs), samples=samples, alpha=alpha, progress=report
            )
        except InvalidReportError as error:
            raise InvalidReportError(f"{error}. On the command line, name the mechanism with --reports-of") from error
    print_result(summary, audit_page(summary), as_json)
    if summary.refuted:
        raise typer.Exit(REFUTED)


class _ForeignClient:
    """Wrapper for an external object that turns any exception of the object into one clear line."""

    def __init__(self, client: Any, source: str) -> None:
        self._client, self._source = client, source

    def randomize(self, inputs: NDArray[Any], rng: Randomness) -> Any:
        """Return the reports of the object, as an array if they are a list."""
        try:
            reports = self._client.randomize(inputs, rng)
        except DeniableError:
            raise
        except Exception as error:
            raise InvalidInputError(f"{self._source} failed to randomize: {type(error).__name__}: {error}") from error
        return np.asarray(reports) if isinstance(reports, list) else reports


def _module_subject(path: str, epsilon: float | None, k: int | None, reports_of: str | None) -> Subject:
    """Return the subject that "file.py:object" names.

    This runs the file.
    """
    file, colon, name = path.rpartition(":")
    if not colon or not file or not name:
        raise InvalidParameterError(f"module must be FILE.py:OBJECT, got module={quoted(path)}")
    client = _imported(Path(file), name)
    rule = f"{path} must be an object with the method randomize(inputs, rng)"
    if isinstance(client, type):
        raise InvalidParameterError(
            f"{rule}, but {name} is a class; write client = {name}() in {file}, and audit {file}:client"
        )
    if not callable(getattr(client, "randomize", None)):
        raise InvalidParameterError(f"{rule}, got an object of the type {type(client).__name__}")
    claimed = epsilon if epsilon is not None else getattr(client, "epsilon", None)
    if claimed is None:
        raise InvalidParameterError(f"epsilon must be given (--epsilon), because {path} does not state an epsilon")
    k = k if k is not None else getattr(client, "k", None)
    if k is None:
        raise InvalidParameterError(
            f"k must be given (--k), because {path} does not state how many possible answers there are"
        )
    read_as = None if reports_of is None else build_mechanism(reports_of, (int(k),), str(claimed), {})
    return Subject(path, _ForeignClient(client, path), float(claimed), int(k), read_as)


def _imported(file: Path, name: str) -> Any:
    if not file.is_file():
        raise InvalidParameterError(f"there is no file {file}")
    specification = importlib.util.spec_from_file_location(f"audited_{file.stem}", file)
    if specification is None or specification.loader is None:
        raise InvalidParameterError(f"{file} must be a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise InvalidParameterError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise InvalidParameterError(f"{file} has no object {quoted(name)}")
        found = getattr(found, part)
    return found


def _codes(text: str | None) -> list[int] | None:
    """Return the codes in a text such as "0,3,5", or None for None."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"inputs must be codes of answers separated by commas, such as 0,3,5, got inputs={quoted(text)}; the first "
            "code is 0"
        ) from None
