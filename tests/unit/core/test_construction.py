"""Construction of mechanisms from a name and questions; wrong combinations are refused with the reason."""

from __future__ import annotations

import pytest

from deniable.core.construction import mechanism_for
from deniable.core.names import mechanism_class
from deniable.errors import InvalidParameterError
from deniable.oracles.rappor import RAPPOR


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("HeavyHitters", (3,), "works with open text, but the schema asks for listed categories: .* such as GRR"),
        ("HeavyHitters", (2, 2), "works with open text, but the schema asks for listed categories"),
        ("GRR", (0,), "works with listed categories, but the schema asks for open text: .* such as HeavyHitters"),
        ("SPL", (0,), "works with listed categories, but the schema asks for open text"),
        ("RAPPOR", (0,), "works with listed categories, but the schema asks for open text"),
        ("GRR", (2, 2), "works with one attribute, but the schema has 2"),
        ("JRR", (3,), "works with an attribute with two categories, but the attribute of the schema has 3"),
    ],
)
def test_mechanisms_for_something_else_are_refused(name: str, sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        mechanism_for(name, sizes, 1.0)


def test_a_constructor_of_its_own() -> None:
    built = mechanism_for("rappor", (4,), 1.0, {"p": 0.25})
    assert built == RAPPOR.from_epsilon(4, 1.0, p=0.25)


def test_special_case_for_a_domain() -> None:
    assert mechanism_for("olh", (40,), 1.0) == mechanism_class("OLH")(40, 1.0)
