"""Guarantees of report coupling in binary randomised response and in unary encoding, with one row per adversary."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from deniable.core.privacy import Guarantee, Status, TrustModel, repeated
from deniable.core.thresholds import SCALE, log_up
from deniable.research.dealt.coupling.parameters import peer_posterior
from deniable.research.dealt.coupling.threshold_coupling import ThresholdCoupling

TOLD = "who is told to report the truth does so verbatim"
SAME = "other data are about as bad if n (p - q) is large, and can be much worse if it is small"
REMARKS = (
    "the first number holds whoever colludes; the smaller ones hold only for the view in their row, and views do not "
    "add up: for colluders and all reports together nothing is proved",
    "a pairing must never be used twice: some tens of rounds reveal who is paired with whom",
)


def odds(unlikely: Fraction) -> float:
    """Return ln((1 - x)/x), rounded up; infinite at 0."""
    return log_up((1 - unlikely) / unlikely) if unlikely > 0 else math.inf


def revealed_types(coupling: ThresholdCoupling, mu: Fraction) -> float:
    """Return the epsilon against an adversary who sees my report and the types of m colluders.

    It is ln((1 - q (1 - x))/(q (1 - x))), where x = mu weight.
    """
    return odds(Fraction(coupling.q, SCALE) * (1 - mu * Fraction(coupling.weight, SCALE)))


def revealed_bit_types(coupling: ThresholdCoupling, mu: Fraction) -> float:
    """Return the epsilon against an adversary who sees my k bits and the types of m colluders for these bits.

    It is ln((1 - q (1 + x))/(q (1 - x))), where x = mu weight. Let my answer be w. Revealed types lower the probability
    of being told 0 for bit w to (1 - x)/2. The bit of the other answer has the ratio 1/(2 q), whatever is revealed.
    """
    x, q = mu * Fraction(coupling.weight, SCALE), Fraction(coupling.q, SCALE)
    return log_up((1 - q * (1 + x)) / (q * (1 - x))) if x < 1 else math.inf


def report_coupling_guarantee(
    coupling: ThresholdCoupling, n: int, theta: float, colluders: int, delta: float
) -> Guarantee:
    """Return the guarantee of ReportCoupledRR, with the weakest rows first."""
    drawn = f"all reports; everybody else's answer is 1 with known base rate {theta:g}, independently"
    same = "all reports; everybody else is known to give one and the same answer"
    views = (
        TrustModel("collector", same, coupling.view(n, 0.0).epsilon_at(delta), delta, note=SAME),
        TrustModel("collector", drawn, coupling.view(n, theta).epsilon_at(delta), delta),
    )
    return _guarantee(coupling, n, colluders, revealed_types, views, attained=coupling.weight == 0)


def coupled_unary_guarantee(coupling: ThresholdCoupling, n: int, colluders: int, delta: float) -> Guarantee:
    """Return the guarantee of CoupledOUE, with the weakest rows first."""
    view = coupling.view(n, 0.0)
    # Two bits distinguish two answers, one in either direction. They are dealt independently, so their bounds add up.
    rare = view.epsilon_at(delta / 2, (0,)) + view.epsilon_at(delta / 2, (1,))
    unrelated = "all reports; everybody else is known to hold none of the two answers compared"
    return _guarantee(
        coupling,
        n,
        colluders,
        revealed_bit_types,
        (TrustModel("collector", unrelated, rare, delta, "upper bound"),),
        attained=n % 2 == 0 and coupling.weight in (0, SCALE),
        note="attained where all others are known to give one answer" if coupling.weight == SCALE else "",
        remarks=("every bit has its own pairs; one pairing for all bits would tell who is paired with whom",),
    )


def _guarantee(
    coupling: ThresholdCoupling,
    n: int,
    colluders: int,
    revealed: Callable[[ThresholdCoupling, Fraction], float],
    views: tuple[TrustModel, ...],
    attained: bool,
    note: str = "",
    remarks: tuple[str, ...] = (),
) -> Guarantee:
    """Return the rows of both mechanisms.

    `attained` is True if the bound on colluders is attained for any number of them.
    """
    others, against = revealed(coupling, Fraction(1)), revealed(coupling, peer_posterior(n, colluders))
    known: Status = "exact" if n % 2 == 0 and coupling.weight in (0, SCALE) else "upper bound"
    few: Status = "exact" if attained or colluders == 0 or (colluders == 1 and n % 2 == 0) else "upper bound"
    told = "my report and the colluders' shares, other reports ignored"
    return Guarantee(
        epsilon=math.inf,
        per_attribute=(math.inf,),
        implemented_epsilon=math.inf,
        trust_models=(
            TrustModel("collector and dealer", "all reports and all shares", math.inf, note=TOLD),
            TrustModel("collector with my share", "my report and my share", math.inf, note=TOLD),
            TrustModel("collector", "all reports and everybody else's data", others, status=known, note=note),
            *views,
            TrustModel(f"collector and {colluders} colluders", told, against, status=few),
            TrustModel("collector", "my report only, other reports ignored", odds(Fraction(coupling.q, SCALE))),
            TrustModel("dealer", "all shares, no report", 0.0),
            repeated("r reports of the same answer, a fresh deal each", others),
            TrustModel(
                "collector",
                "all reports and who dropped out",
                others,
                status="assumption",
                note="if dropping out does not depend on the share: clients apply it silently",
            ),
        ),
        remarks=(*REMARKS, *remarks),
    )
