"""Function `check_mechanism`, which checks every law that the base classes of a mechanism promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deniable.core.mechanism import Mechanism
from deniable.errors import BrokenLawError, InvalidParameterError, TooLargeError, quoted
from deniable.oracles.linear import LinearOracle
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.pure import PureOracle
from deniable.records.record import RecordMechanism
from deniable.testing import bulk, laws

EXACT_CELLS = 1 << 16
"""Largest channel (inputs x outputs) that is enumerated, in seconds of rational arithmetic."""

DRAWN_CELLS = 1 << 12
"""Largest channel, and largest square of a state's length, for which reports and states are drawn and counted."""

MANY_BYTES = 1 << 28
"""Most memory that inputs and reports of many contributors may take."""


class Skipped(NamedTuple):
    """A law that was not checked.

    Attributes
    ----------
    law : str
        Name of the law in `deniable.testing.laws` or `deniable.testing.bulk`.
    why : str
        Reason why it was not checked, and what would help.
    """

    law: str
    why: str


@dataclass(frozen=True)
class Checked:
    """Laws that a mechanism keeps, and laws that were not checked, as `check_mechanism` returns them.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism that was checked.
    held : tuple of str
        Names of the laws that hold, in `deniable.testing.laws` and `deniable.testing.bulk`.
    skipped : tuple of Skipped
        The laws that were not checked.
    """

    mechanism: Mechanism[Any]
    held: tuple[str, ...]
    skipped: tuple[Skipped, ...]

    def __str__(self) -> str:
        lines = [f"{quoted(self.mechanism)}: {len(self.held)} laws hold, {len(self.skipped)} not checked"]
        return "\n".join([*lines, *(f"  {law}: {why}" for law, why in self.skipped)])


class _Law(NamedTuple):
    """Law, with the largest channel for which it is checked and the properties that it concerns.

    `biased` is true if the law says nothing about unbiased estimates. `many` is true if the law is about hundreds of
    thousands of reports together. `named` is true if the law finds the mechanism by its name.
    """

    check: Callable[[Any], None]
    cells: float = math.inf
    biased: bool = True
    many: bool = False
    named: bool = False


def merging_is_adding(mechanism: Any) -> None:
    """Check `laws.merging_is_adding` for a few batches and cuts."""
    for n, cuts in ((40, [1, 17, 17]), (3, [2]), (1, [0])):
        laws.merging_is_adding(mechanism, laws.some_reports(mechanism, n, n), cuts)


def intervals_cover(mechanism: Any) -> None:
    """Check `laws.intervals_cover` from below only, because exact intervals for small counts cover more than 95%."""
    laws.intervals_cover(mechanism, draws=1000, no_wider=False)


_REHEARSED = (
    _Law(laws.simulated_aggregates_follow_the_law, DRAWN_CELLS),
    _Law(intervals_cover, EXACT_CELLS, biased=False),
)

_LAWS: dict[type, tuple[_Law, ...]] = {
    Mechanism: (
        _Law(laws.is_data),
        _Law(laws.is_found_by_name, named=True),
        _Law(laws.reports_match_their_declaration),
        _Law(laws.report_bits_fit),
        _Law(laws.refuses_bad_answers),
        _Law(laws.refuses_what_does_not_belong),
        _Law(merging_is_adding),
        _Law(laws.rows_sum_to_one, EXACT_CELLS),
        _Law(laws.ratio_keeps_the_budget, EXACT_CELLS),
        _Law(laws.report_bits_hold_the_entropy, EXACT_CELLS),
        _Law(laws.unbiased, EXACT_CELLS, biased=False),
        _Law(laws.reports_follow_the_channel, DRAWN_CELLS),
        _Law(laws.reports_have_a_likelihood, EXACT_CELLS),
        _Law(laws.models_have_their_gradient, EXACT_CELLS),
        _Law(bulk.bits_decide_one_report, many=True),
        _Law(bulk.distant_reports_are_unrelated, many=True),
        _Law(bulk.blocks_are_independent, many=True),
    ),
    FrequencyOracle: (*_REHEARSED, _Law(laws.variance_is_the_channels, EXACT_CELLS, biased=False)),
    RecordMechanism: _REHEARSED,
    LinearOracle: (_Law(laws.covariance_is_the_channels, EXACT_CELLS),),
    PureOracle: (_Law(laws.supports_follow_the_channel, EXACT_CELLS),),
}
"""Laws of each base. A mechanism must keep the laws of all its bases."""


def check_mechanism(
    mechanism: Mechanism[Any],
    *,
    report_epsilon: float | None = None,
    unbiased: bool = True,
    registered: bool = True,
) -> Checked:
    """Check that a mechanism keeps every law of its base classes; takes seconds if its channel is small.

    If you wrote a mechanism, check it with several choices of parameters: a domain of two, uneven domains, small and
    large budgets. Choose parameters with few outputs. A law that needs a channel with more than 65,536 cells is
    skipped, and `Checked` says so. Laws about many contributors need no channel.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that takes codes or records and needs no dealer.
    report_epsilon : float, optional
        Tight epsilon of one report, if the guarantee is for more than one report (RAPPOR). The default is
        `privacy().epsilon`.
    unbiased : bool
        Whether the mechanism claims that its estimates are unbiased, with valid variances and intervals.
    registered : bool
        Whether specifications find the mechanism by its name. False skips the law about names, so you can check a class
        before it has an entry point in the group ``deniable.mechanisms``.

    Returns
    -------
    Checked
        Laws that hold, and laws that were not checked, with reasons.

    Raises
    ------
    BrokenLawError
        If the mechanism breaks a law. The message says which law, where, and by how much. The error is also an
        AssertionError.
    InvalidParameterError
        If the mechanism takes texts, or shares from a dealer.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.testing import check_mechanism
    >>> print(check_mechanism(GRR(k=3, epsilon=1.0)))
    GRR(k=3, epsilon=1.0): 22 laws hold, 0 not checked
    """
    if mechanism.takes_text or mechanism.dealt:
        raise InvalidParameterError(
            f"mechanism must take codes or records, and must not need shares of a dealer, got {mechanism.name}"
        )
    cells, size = _channel_cells(mechanism)
    stored = sum(np.dtype(field.dtype).itemsize * (field.width or 1) for field in mechanism.report_fields)
    memory = 2 * bulk.LARGEST_LAG * (stored + 8 * len(mechanism.domain))
    held: list[str] = []
    skipped: list[Skipped] = []
    for law in (law for base in type(mechanism).__mro__[::-1] for law in _LAWS.get(base, ())):
        name = law.check.__name__
        if cells > law.cells:
            skipped.append(Skipped(name, f"{size}, at most {law.cells} for this: check it with fewer values too"))
        elif law.many and memory > MANY_BYTES:
            skipped.append(
                Skipped(name, f"its inputs and reports would take {memory >> 20} MiB: check it with fewer values too")
            )
        elif not (unbiased or law.biased):
            skipped.append(Skipped(name, "its estimates are not said to be unbiased"))
        elif law.named and not registered:
            skipped.append(Skipped(name, "registered=False: check it again once its entry point is installed"))
        else:
            check = law.check
            if check is laws.ratio_keeps_the_budget:
                check = partial(laws.ratio_keeps_the_budget, tight=report_epsilon)
            try:
                with bulk.overwritten_words():
                    check(mechanism)
            except BrokenLawError as broken:
                raise BrokenLawError(f"{quoted(mechanism)} breaks {name}: {broken}") from broken
            held.append(name)
    return Checked(mechanism, tuple(held), tuple(skipped))


def _channel_cells(mechanism: Mechanism[Any]) -> tuple[float, str]:
    """Return the number of cells of a mechanism's channel, infinite beyond what `outputs` lists, and that in words."""
    try:
        inputs, outputs = math.prod(mechanism.domain), laws.length(mechanism.outputs())
    except TooLargeError as error:
        return math.inf, str(error)
    return inputs * outputs, f"its channel has {inputs} x {outputs} cells"
