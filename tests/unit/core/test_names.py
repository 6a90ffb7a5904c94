"""One table of names: it equals the classes' names, needs no imports, and other packages can extend it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import deniable
from deniable.core.construction import mechanism
from deniable.core.mechanism import Mechanism
from deniable.core.names import CLASSES, SPECIAL_CASES, find, mechanism_class, mechanism_names, spelling
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError
from deniable.oracles.grr import GRR


def final_classes() -> Iterator[type[Mechanism[Any]]]:
    """Yield all concrete mechanisms below the base, in all modules of the package."""
    for module in pkgutil.walk_packages(deniable.__path__, "deniable."):
        if not module.name.endswith("__main__") and not module.name.startswith("deniable.cli"):
            importlib.import_module(module.name)
    todo: list[Any] = [Mechanism]
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if cls.__module__.startswith("deniable.") and not inspect.isabstract(cls):
            yield cls


def test_the_table_is_the_classes() -> None:
    found = {cls.name: f"{cls.__module__}:{cls.__qualname__}" for cls in final_classes()}
    assert found.items() <= CLASSES.items()
    for name in CLASSES:
        assert mechanism_class(name).name == name
    for name in SPECIAL_CASES:
        assert mechanism_class(name).__name__ == name


def test_a_name_imports_its_own_module_only() -> None:
    code = "import sys, deniable; deniable.mechanism('GRR', k=4, epsilon=1); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    families = {"grr", "unary", "subset", "count_mean_sketch", "apple", "rappor", "hadamard"}
    assert {name.rpartition(".")[2] for name in loaded} & families == {"grr"}
    assert not {"numba", "scipy", "pyarrow", "pydantic", "cryptography"} & set(loaded)


def test_spellings_are_distinct() -> None:
    assert len({spelling(name) for name in mechanism_names()}) == len(mechanism_names())


@pytest.mark.parametrize(
    ("typed", "name", "settings"),
    [
        ("grr", "GRR", {}),
        ("k-RR", "GRR", {}),
        ("direct Encoding", "GRR", {}),
        ("olh", "OLH", {}),
        ("countmeansketch", "CMS", {}),
        ("cms[SPREAD]", "CMS[spread]", {"family": "spread"}),
        ("CMS queries", "CMS-queries", {}),
    ],
)
def test_what_people_type(typed: str, name: str, settings: dict[str, Any]) -> None:
    found = find(typed)
    assert (found.name, found.settings) == (name, settings)
    assert found.make is mechanism_class(name.partition("[")[0])


@pytest.mark.parametrize("typed", ["", "nobody's", "GRR[OUE]", "OLH[prime]", "["])
def test_what_means_nothing(typed: str) -> None:
    with pytest.raises(InvalidParameterError, match="mechanism must be"):
        find(typed)


def test_mechanism_by_name() -> None:
    assert mechanism("GRR", k=4, epsilon=1.0) == GRR(4, 1.0)
    assert mechanism("CMS[spread]", k=4000, epsilon=1.0).family == "spread"
    with pytest.raises(InvalidParameterError, match="GRR has no parameter “m”; its parameters are: k, epsilon"):
        mechanism("GRR", k=4, epsilon=1.0, m=3)
    with pytest.raises(InvalidParameterError, match="family must be"):
        mechanism("CMS[sha]", k=4, epsilon=1.0)
    with pytest.raises(InvalidParameterError, match="GRR needs the parameter epsilon: give a value as epsilon="):
        mechanism("GRR", k=4)


class _Point:
    """An entry point of another package."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self._value = name, value

    def load(self) -> Any:
        return self._value


def test_other_packages_add_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Toy:
        name = "Toy RR"
        stated = ()

        def __init__(self, k: int, epsilon: Any) -> None:
            self.k, self.epsilon = k, epsilon

    asked: list[str] = []

    def entry_points(group: str) -> list[_Point]:
        asked.append(group)
        return [_Point("Toy RR", Toy)]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    mechanism_class.cache_clear()
    mechanism("GRR", k=4, epsilon=1.0)
    to_spec(GRR(4, 1.0))
    assert asked == []
    made: Any = mechanism("toy-rr", k=3, epsilon="0.5")
    assert isinstance(made, Toy)
    assert made.k == 3
    assert isinstance(from_spec({"mechanism": "Toy RR", "k": 3, "epsilon": "0.5"}), Toy)
    assert set(asked) == {"deniable.mechanisms"}
    mechanism_class.cache_clear()
