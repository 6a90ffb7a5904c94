"""What k-ary JRR guarantees, one row per adversary, from the implemented coin."""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.joint._jrr_coin import Coin
from deniable.joint._jrr_laws import coin_beside_reports, epsilon_at
from deniable.joint.jrr_parameters import peer_posterior
from deniable.privacy import Guarantee, TrustModel, repeated
from deniable.thresholds import log_up


def worst_ratio(k: int, least: Fraction, most: Fraction) -> Fraction | None:
    """Return the largest likelihood ratio of a report when a lie's probability, given the view, is least..most.

    Of two answers, one is the truth of the report and the other one of its k - 1 equally likely lies. None: infinite.
    """
    if least <= 0 or most >= 1:
        return None
    return max((k - 1) * (1 - least) / least, most / ((k - 1) * (1 - most)))


def worst_epsilon(k: int, least: Fraction, most: Fraction) -> float:
    """Return ln of `worst_ratio`, rounded up."""
    ratio = worst_ratio(k, least, most)
    return math.inf if ratio is None else log_up(ratio)


def revealed_shares(k: int, coin: Coin, mu: Fraction) -> float:
    """My report and m shares: the lie's probability is between q - mu s and q + mu s."""
    return worst_epsilon(k, coin.q - mu * coin.s, coin.q + mu * coin.s)


def revealed_lies(k: int, coin: Coin, mu: Fraction) -> float:
    """My report and which of m peers lied: a lying peer lowers the lie's probability by s^2/q, a true one raises it."""
    square = mu * coin.s**2
    return worst_epsilon(k, coin.q - square / coin.q, coin.q + square / (1 - coin.q))


def lie_tells_more(k: int, coin: Coin, mu: Fraction) -> bool:
    """Whether of `revealed_shares` the worst report is one that is surely a lie rather than surely the truth."""
    least, most = coin.q - mu * coin.s, coin.q + mu * coin.s
    return most >= 1 or (least > 0 and most * least > (k - 1) ** 2 * (1 - least) * (1 - most))


def known_data_at(k: int, coin: Coin, n: int, delta: float) -> float:
    """All reports and everybody else's data: who of them lied, whatever the data; a given lie has a (k-1)-th of it."""
    truth, lie = coin_beside_reports(coin, n, 1.0)
    return epsilon_at(truth, lie / (k - 1), delta)


def kary_guarantee(k: int, coin: Coin, n: int, colluders: int, delta: float) -> Guarantee:
    """Return the guarantee of KaryJRR, the weakest rows first."""
    mu, worst = peer_posterior(n, colluders), revealed_shares(k, coin, Fraction(1))
    at_delta = known_data_at(k, coin, n, delta)
    verbatim = "who is dealt R = +1, half of all, reports the truth verbatim" if coin.plus == 0 and coin.s else ""
    if coin.lie_minus == 1:
        verbatim = "who is dealt R = -1, half of all, surely lies, which rules the report out"
    return Guarantee(
        epsilon=worst,
        per_attribute=(worst,),
        implemented_epsilon=worst,
        trust_models=(
            TrustModel("collector and dealer", "all reports and all shares", worst, note=verbatim),
            TrustModel("collector", "all reports, everybody else's data and all n-1 others' shares", worst),
            TrustModel("collector with my share", "my report and my share", worst, note=verbatim),
            TrustModel(
                "collector",
                "all reports and everybody else's data",
                revealed_lies(k, coin, Fraction(1)),
                status="upper bound" if n % 2 else "exact",
            ),
            TrustModel("collector", "all reports and everybody else's data", at_delta, delta),
            TrustModel(
                "collector",
                "all reports; everybody else's answer drawn independently from known frequencies",
                at_delta,
                delta,
                "upper bound",
            ),
            TrustModel(
                f"collector and {colluders} colluders",
                "my report and the colluders' shares and lies, other reports ignored",
                revealed_shares(k, coin, mu),
            ),
            TrustModel(
                f"collector and {colluders} colluders",
                "my report and which colluders lied, other reports ignored",
                revealed_lies(k, coin, mu),
                status="upper bound",
            ),
            TrustModel("collector", "my report only, other reports ignored", worst_epsilon(k, coin.q, coin.q)),
            TrustModel("dealer", "all shares, no report", 0.0),
            repeated("r reports of the same answer, a fresh deal each", worst),
            TrustModel(
                "collector",
                "all reports and who dropped out",
                revealed_lies(k, coin, Fraction(1)),
                status="assumption",
                note="if dropping out does not depend on the share: clients apply it silently",
            ),
        ),
        remarks=(
            "the first number holds whoever colludes; the smaller ones hold only for the view in their row, and views "
            "do not add up: for colluders and all reports together only the first number is proved",
            "a pairing must never be used twice: some tens of rounds reveal who is paired with whom",
        ),
    )
