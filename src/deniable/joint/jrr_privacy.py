"""What JRR guarantees: one row per adversary, each with its view, computed from the implemented coins.

The paper states one number, for an adversary who looks at one report and at what m colluders reveal. A collector has
all reports. Each row says what is seen; `docs/theory/jrr.md` has the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.joint._jrr_coin import Coin
from deniable.joint._jrr_laws import coin_beside_reports, epsilon_at
from deniable.joint.jrr_parameters import peer_posterior
from deniable.privacy import Guarantee, TrustModel, repeated
from deniable.thresholds import log_up


def lie_epsilon(lie: Fraction) -> float:
    """Return ln((1 - lie)/lie), rounded up: what a report says if its lie probability may be as small as that."""
    return log_up((1 - lie) / lie) if lie > 0 else math.inf


def own_report(coin: Coin) -> float:
    """My report alone: ln(p/q)."""
    return lie_epsilon(coin.q)


def everybody(coin: Coin) -> float:
    """Whoever knows or learns my sign, whatever else they know: ln((p + s)/(q - s)). No adversary learns more."""
    return lie_epsilon(coin.lie_plus)


def revealed_truthfulness(coin: Coin, mu: Fraction) -> float:
    """My report and which of m colluders lied: ln((p + mu a p)/(q - mu a p)), a p = s^2/q."""
    return lie_epsilon(coin.q - mu * coin.s**2 / coin.q)


def revealed_signs(coin: Coin, mu: Fraction) -> float:
    """My report and the signs of m colluders: ln((p + mu s)/(q - mu s))."""
    return lie_epsilon(coin.q - mu * coin.s)


def _attained(coin: Coin, n: int, colluders: int) -> bool:
    """Whether `revealed_truthfulness` is the worst case itself: a lie then gives the sign or the only peer away."""
    if colluders == 0 or coin.s == 0:
        return True
    return n % 2 == 0 and (coin.plus == 0 or colluders in (1, n - 1))


def known_data(coin: Coin, n: int) -> float:
    """All reports and everybody else's data: ln((1 + a) p/(q - a p)); for odd n mixed with the unpaired case's p/q."""
    lie = coin.q - coin.s**2 / coin.q
    if lie <= 0:
        return math.inf
    ratio = (1 - lie) / lie
    if n % 2:
        ratio = ((1 - coin.q) / coin.q + (n - 1) * ratio) / n
    return log_up(ratio)


def known_base_rate(coin: Coin, theta: Fraction) -> float:
    """All reports, the others' data drawn with base rate theta: the worst of all report vectors.

    The likelihood ratio is monotone in the number of ones among the others, so its ends are where the peer's report is
    certain. Independent of even n; for odd n the unpaired case only dilutes it.
    """
    signs = (coin.lie_plus, coin.lie_minus)
    ones = [theta * (1 - lie) + (1 - theta) * lie for lie in signs]
    worst = Fraction(1)
    for peer in ([ones[1], ones[0]], [1 - ones[1], 1 - ones[0]]):
        truth = sum(((1 - lie) * seen for lie, seen in zip(signs, peer, strict=True)), Fraction(0))
        false = sum((lie * seen for lie, seen in zip(signs, peer, strict=True)), Fraction(0))
        if truth == false == 0:
            continue  # this report of the peer does not occur
        if false == 0:
            return math.inf
        worst = max(worst, truth / false)  # a truth is always the more telling: p > q
    return log_up(worst)


def known_data_at(coin: Coin, n: int, delta: float) -> float:
    """All reports and everybody else's data, at delta."""
    return epsilon_at(*coin_beside_reports(coin, n, 1.0), delta)


def known_base_rate_at(coin: Coin, n: int, theta: float, delta: float) -> float:
    """All reports, the others' data drawn with base rate theta, at delta."""
    return epsilon_at(*coin_beside_reports(coin, n, theta), delta)


def jrr_guarantee(coin: Coin, n: int, theta: float, colluders: int, delta: float) -> Guarantee:
    """Return the guarantee, the weakest rows first."""
    mu = peer_posterior(n, colluders)
    prior = Fraction(theta)
    worst = everybody(coin)
    verbatim = "who is dealt R = +1, half of all, reports the truth verbatim" if coin.plus == 0 and coin.s else ""
    drawn = f"all reports; everybody else's answer is 1 with known base rate {theta:g}, independently"
    # Odd n: a mixture of the paired case and of randomised response is bounded by the worse of the two.
    rate = max(known_base_rate(coin, prior), own_report(coin)) if n % 2 else known_base_rate(coin, prior)
    return Guarantee(
        epsilon=worst,
        per_attribute=(worst,),
        implemented_epsilon=worst,
        trust_models=(
            TrustModel("collector and dealer", "all reports and all shares", worst, note=verbatim),
            TrustModel("collector", "all reports, everybody else's data and all n-1 others' shares", worst),
            TrustModel("collector with my share", "my report and my share", worst, note=verbatim),
            TrustModel("collector", "all reports and everybody else's data", known_data(coin, n)),
            TrustModel("collector", "all reports and everybody else's data", known_data_at(coin, n, delta), delta),
            TrustModel("collector", drawn, rate, status="upper bound" if n % 2 else "exact"),
            TrustModel("collector", drawn, known_base_rate_at(coin, n, theta, delta), delta),
            TrustModel(
                f"collector and {colluders} colluders",
                "my report and the colluders' shares and lies, other reports ignored",
                revealed_signs(coin, mu),
            ),
            TrustModel(
                f"collector and {colluders} colluders",
                "my report and which colluders lied, other reports ignored",
                revealed_truthfulness(coin, mu),
                status="exact" if _attained(coin, n, colluders) else "upper bound",
            ),
            TrustModel("collector", "my report only, other reports ignored", own_report(coin)),
            TrustModel("collector and my peer", "my report and my peer's share, known to be my peer", worst),
            TrustModel(
                "collector and my peer",
                "my report and whether my peer lied, known to be my peer",
                lie_epsilon(coin.q - coin.s**2 / coin.q),
            ),
            TrustModel("dealer", "all shares, no report", 0.0),
            repeated(
                "r reports of the same answer, a fresh deal each", worst, "every row, and its delta, is multiplied by r"
            ),
            TrustModel(
                "collector",
                "all reports and who dropped out",
                known_data(coin, n),
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
