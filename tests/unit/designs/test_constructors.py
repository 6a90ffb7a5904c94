"""Designs by name: their channels, and parameters out of range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deniable import designs
from deniable.designs import Design
from deniable.errors import InvalidParameterError


def test_the_same_channel_under_other_names_gives_the_same_estimates() -> None:
    """Values from the last column of the contract's table."""
    pairs = [
        (designs.forced("1/6", "1/6"), designs.warner("5/6")),
        (designs.unrelated("1/2", "1/2"), designs.warner("3/4")),
        (designs.kuk("7/10", "3/10"), designs.warner("7/10")),
        (designs.crosswise("2/12"), designs.warner("10/12")),
        (designs.triangular("1/4"), designs.garbling("1/4")),
        (designs.mangat("7/10"), designs.garbling("3/10")),
        (designs.two_stage("2/5", "7/10"), designs.warner("41/50")),
        (designs.two_stage_unrelated("1/2", "3/5", "1/4"), designs.unrelated("4/5", "1/4")),
        (designs.improved_unrelated("3/5", "1/2"), designs.garbling("1/5")),
        (designs.two_trial("3/4", 3), designs.kuk("3/4", "1/4", 3)),
        (designs.forced_k(["1/12", "1/12", "1/12"]), designs.modular(["5/6", "1/12", "1/12"])),
    ]
    for one, other in pairs:
        assert one.rows == other.rows
        counts = range(30, 30 + one.state_size)
        assert np.array_equal(one.estimate_counts(counts).shares, other.estimate_counts(counts).shares)
        assert one != other


def test_two_trials_spend_twice_the_epsilon() -> None:
    assert max(designs.two_trial("3/4", 2).odds) == max(designs.warner("3/4").odds) ** 2


def test_a_turned_design_gives_the_mirrored_estimate() -> None:
    """If report 0 supports carriers, a and b are swapped for intervals."""
    straight = designs.kuk("4/5", "1/5").estimate_counts([12, 9])
    turned = designs.kuk("1/5", "4/5").estimate_counts([9, 12])
    assert turned.prevalence == straight.prevalence
    assert turned.interval == pytest.approx(straight.interval, abs=1e-15)
    assert turned.standard_error == pytest.approx(straight.standard_error, abs=1e-15)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: designs.warner(0.7), r"p must be an exact number, got p=0\.7"),  # type: ignore[arg-type]
        (lambda: designs.warner(True), "p must be an exact number"),
        (lambda: designs.warner("3/2"), r"p must be in \[0, 1\], got p=3/2"),
        (lambda: designs.crosswise("1/2"), "p must differ from 1/2, got p=1/2"),
        (lambda: designs.two_stage("1/4", "1/3"), r"t \+ \(1 - t\) p must differ from 1/2"),
        (lambda: designs.triangular(1), "p must be < 1, got p=1"),
        (lambda: designs.mangat(0), "p must be > 0, got p=0"),
        (lambda: designs.garbling(1), "q must be < 1, got q=1"),
        (lambda: designs.unrelated(0, "1/2"), "p must be > 0, got p=0"),
        (lambda: designs.improved_unrelated(0, 1), r"\(1 - p\) alpha must be < 1"),
        (lambda: designs.kuk("1/3", "2/6"), "p1 must differ from p2"),
        (lambda: designs.kuk("1/3", "2/3", 0), r"draws must be a whole number in 1\.\.63, got draws=0"),
        (lambda: designs.two_trial("3/4", "3/2"), "trials must be a whole number"),  # type: ignore[arg-type]
        (lambda: designs.two_trial("1/2"), "p must differ from 1/2"),
        (
            lambda: designs.kuk("1234567/7654321", "1/3", 3),
            r"probabilities of kuk must have a common denominator of at most 2\^62",
        ),
        (lambda: designs.christofides(["1/2", "1/3"]), "weights must sum to 1, got a sum of 5/6"),
        (lambda: designs.christofides(["1/4", "1/2", "1/4"]), "weights must have another mean"),
        (lambda: designs.christofides("1/2"), "weights must be a list"),
        (lambda: designs.christofides(["1"]), "weights must have 2 to 64 probabilities, got 1"),
        (lambda: designs.christofides([0, "1/3", "2/3", 0]), "every report must be possible"),
        (lambda: designs.forced_k(["1/2", "1/2"]), "probs must sum to less than 1"),
        (lambda: designs.modular(["1/3", "1/3", "1/3"]), "weights must tell the answers apart"),
        (lambda: designs.modular(["1/2", "0", "1/2", "0"]), "weights must tell the answers apart"),
        (lambda: designs.forced.at(odds=(1, 2)), "odds must be > 1"),
        (lambda: designs.forced.at(odds="2"), "odds must be two exact numbers"),  # type: ignore[arg-type]
        (lambda: Design("poker", ()), "got design=“poker”. The names are warner, forced"),
        (lambda: Design("warner", ("1/3", "1/4")), "warner needs the parameters p, got 2 values"),
        (lambda: Design("warner", "1/3"), "parameters must be a tuple"),  # type: ignore[arg-type]
        (lambda: Design("warner", ("1/3",), one_sided=True), "one_sided must be left out for warner"),
        (lambda: Design("garbling", ("1/3",), one_sided=1), "one_sided must be true or false"),  # type: ignore[arg-type]
    ],
)
def test_what_is_out_of_bounds_is_refused(build: Callable[[], Design], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        build()
