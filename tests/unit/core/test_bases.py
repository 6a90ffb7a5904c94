"""Properties of mechanisms are defined once, in their bases; nothing is overridden, and no other code probes types."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deniable
from deniable.core.card import Card
from deniable.core.mechanism import Mechanism
from deniable.report.page import Part
from deniable.survey.question_kind import QuestionKind

SOURCE = Path(deniable.__file__).parent


def _modules() -> Iterator[Any]:
    yield deniable
    for found in pkgutil.walk_packages(deniable.__path__, "deniable."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _below(cls: Any) -> Iterator[type]:
    for child in cls.__subclasses__():
        yield child
        yield from _below(child)


MODULES = list(_modules())
CLASSES: list[Any] = sorted(
    {Mechanism, *_below(Mechanism)}
    & {value for module in MODULES for value in vars(module).values() if isinstance(value, type)},
    key=lambda cls: cls.__qualname__,
)
ALL = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)

MADE_BY_DATACLASS = {"__init__", "__eq__", "__repr__", "__hash__", "__setattr__", "__delattr__", "__replace__"}


def _has_body(member: Any) -> bool:
    described = isinstance(member, property | functools.cached_property | classmethod | staticmethod)
    return (described or inspect.isfunction(member)) and not getattr(member, "__isabstractmethod__", False)


def _bodies(cls: type) -> dict[str, Any]:
    return {name: member for name, member in vars(cls).items() if _has_body(member) and name not in MADE_BY_DATACLASS}


def test_all_mechanisms_are_here() -> None:
    names = {cls.name for cls in CLASSES if not inspect.isabstract(cls)}
    assert {"GRR", "RAPPOR", "CMS", "SPL", "RS+RFD", "Corr-RR", "QuotaRR", "JRR", "QuotaRecords"} <= names
    assert len(names) >= 35


@ALL
def test_is_abstract_or_final(cls: type) -> None:
    assert inspect.isabstract(cls) != bool(vars(cls).get("__final__")), "neither abstract nor final, or both"
    if not inspect.isabstract(cls):
        assert isinstance(getattr(cls, "card", None), Card)
        assert isinstance(getattr(cls, "name", None), str)


@ALL
def test_no_method_with_a_body_is_overridden(cls: type) -> None:
    inherited: dict[str, type] = {}
    for base in cls.__mro__[:0:-1]:
        inherited |= dict.fromkeys(_bodies(base), base)
    overridden = {name: inherited[name].__name__ for name in vars(cls) if name in inherited}
    assert not overridden
    # No two bases have a body for one name either, because the order of bases would decide.
    for name in {name for base in cls.__mro__ for name in _bodies(base)}:
        assert len([base for base in cls.__mro__ if name in _bodies(base)]) == 1, name


OVERRIDDEN = {
    ("SpawningRandomness", "__subclasshook__"),
    ("PostgresStore", "_migrating"),
    *(("Moved", "evaluate"), ("MixtureProblem", "middle")),
}
"""Allowed overrides.

They are: typing's method of a protocol; the lock of a database during changes of its tables; the single shift of a sum
by a likelihood in other parameters; and a mixture's sum of squares without copies. Kinds of questions and parts of
pages are left out: their bases are right for one answer out of a list, and for a part without an axis.
"""


def test_no_other_class_overrides_a_body() -> None:
    classes = {value for module in MODULES for value in vars(module).values() if isinstance(value, type)}
    found = set()
    for cls in (one for one in classes if one.__module__.startswith("deniable.")):
        ours = [base for base in cls.__mro__[1:] if base.__module__.startswith("deniable.")]
        found |= {(cls.__name__, name) for name in vars(cls) if any(name in _bodies(base) for base in ours)}
    defaulted = {cls.__name__ for cls in classes if issubclass(cls, QuestionKind | Part)}
    assert {one for one in found if one[0] not in defaulted} == OVERRIDDEN


@ALL
def test_no_member_is_a_function_or_none(cls: type) -> None:
    """Abilities of only some mechanisms are abstract in their own base, and not None in all others."""
    assert not [name for name, kind in vars(cls).get("__annotations__", {}).items() if "Callable" in str(kind)]


# ---------------------------------------------------------------- no sniffing


BASES = {
    *("core/mechanism.py", "oracles/oracle.py", "oracles/pure.py"),
    *("records/record.py", "records/joint.py", "records/pairs.py", "research/dealt/dealt.py"),
}

MECHANISMS = {"mechanism", "oracle", "release", "sketch", "self.mechanism", "collection.mechanism", "self.oracle"}

ALLOWED = {
    "cli/audit.py: getattr(client, 'epsilon', None)": "what a user's module brings may be no client",
    "cli/audit.py: getattr(client, 'k', None)": "the same",
    "cli/audit.py: getattr(client, 'randomize', None)": "the same",
    "cli/audit.py: hasattr(found, part)": "the same",
    "leakage/adversary/auditor.py: getattr(client, 'epsilon', None)": "a client of anybody's, which may claim a budget",
    "research/leakage/calibration/calibration.py: getattr(mechanism, 'name', mechanism)": "a mechanism, or its name",
    "leakage/prior/correlation.py: isinstance(release, (int, float, np.integer, np.floating))": "or a budget",
    "leakage/prior/correlation.py: isinstance(release, bool)": "a budget or more",
    "leakage/prior/correlation.py: isinstance(release, Mechanism)": "a budget or a channel tells no kind of answers",
    "research/comparison/comparing.py: getattr(module, name, None)": "what a user's file may lack",
    "core/randomness.py: getattr(rng, 'fill', None)": "a source of random words, no mechanism",
    "errors.py: getattr(value, 'name', type(value).__name__)": "any value that a message names",
    "files/jobs/memos.py: isinstance(collection.mechanism, Memoised)": "a device keeps responses of these alone",
    "oracles/paired.py: isinstance(mechanism, AffineIndicators)": "refuses what counts no pairs",
    "planning/programme.py: isinstance(mechanism, MemoisedGRR)": "only its sequences are few enough to list",
    "service/control.py: getattr(error, 'reason', error)": "an error of a connection, no mechanism",
    "service/verifying.py: getattr(error, 'reason', error)": "the same",
}
"""Calls that look like probes of a mechanism outside the bases, with the reason for each."""


def _probes(path: Path) -> Iterator[str]:
    where = path.relative_to(SOURCE).as_posix()
    for node in ast.walk(ast.parse(path.read_text())) if where not in BASES else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        called, arguments = node.func.id, [ast.unparse(argument) for argument in node.args]
        # Checking whether a table or a list was given, as users do, is not a question about a mechanism.
        sniffs = called == "hasattr" and arguments[1] != "'__len__'"
        sniffs |= called == "getattr" and len(arguments) == 3
        if sniffs or (called == "isinstance" and arguments[0] in MECHANISMS):
            yield f"{where}: {called}({', '.join(arguments)})"


def test_nothing_is_found_by_sniffing() -> None:
    found = {probe for path in SOURCE.rglob("*.py") for probe in _probes(path)}
    assert found <= ALLOWED.keys()
    assert found >= ALLOWED.keys(), "an exception that nothing needs any more"


def test_the_search_finds_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "x.py").write_text("hasattr(a, 'k'); getattr(a, 'k', 0); isinstance(oracle, GRR); getattr(a, b)")
    assert list(_probes(tmp_path / "x.py")) == [
        "x.py: hasattr(a, 'k')",
        "x.py: getattr(a, 'k', 0)",
        "x.py: isinstance(oracle, GRR)",
    ]


# ---------------------------------------------------------------- documentation


def _public() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        if any(part.startswith("_") for part in module.__name__.split(".")):
            continue
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, type) or inspect.isfunction(value):
                yield f"{module.__name__}.{name}", value


def test_everything_public_is_documented() -> None:
    silent = []
    for name, value in _public():
        if not inspect.getdoc(value) or (isinstance(value, type) and not vars(value).get("__doc__")):
            silent.append(name)
        for attribute, member in inspect.getmembers_static(value) if isinstance(value, type) else ():
            ours = any(attribute in vars(base) for base in value.__mro__ if base.__module__.startswith("deniable"))
            told = _has_body(member) or getattr(member, "__isabstractmethod__", False)
            told = told and not any(inspect.getdoc(vars(base).get(attribute)) for base in value.__mro__)
            if ours and told and not attribute.startswith("_"):
                silent.append(f"{name}.{attribute}")
    assert not silent
