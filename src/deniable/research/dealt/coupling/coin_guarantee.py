"""Guarantees of JRR and similar mechanisms, computed from the implemented integer thresholds.

A guarantee has one row per adversary, and each row names the adversary's view. The paper states one number. It holds
for an adversary who looks at one report and at what m colluders reveal. But a collector has all reports. Each row
therefore says what is seen. The proofs are on the pages docs/theory/jrr.md and docs/theory/coupling.md. When two
answers are compared, a given report is the truth for one answer, and one of k - 1 equally likely lies for the other
answer.

A collector sees the effect of one contributor's own choice between truth and lie, beside all other reports. The other
reports are exchangeable, so the number of ones among them carries all their information. If the data of everybody else
are known, the number of their lies carries all the information. Its distribution is the one with base rate one:
whatever the data, anyone who knows them can turn a report into "truth" or "lie".
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from deniable.core.privacy import Guarantee, Status, TrustModel, repeated
from deniable.core.thresholds import log_up
from deniable.research.dealt.coupling.coins import Coin
from deniable.research.dealt.coupling.parameters import peer_posterior

Floats = NDArray[np.float64]

_DIRECT_PRODUCTS = 1 << 27


def binomial_law(trials: int, probability: float) -> tuple[int, Floats]:
    """Return (first, weights) of a binomial distribution, without tails that sum to less than 1e-30."""
    if trials == 0 or probability in (0.0, 1.0):
        return (trials if probability == 1.0 else 0), np.ones(1)
    mode = min(int((trials + 1) * probability), trials)
    reach = math.ceil(13 * math.sqrt(trials * probability * (1 - probability))) + 40
    low, high = max(0, mode - reach), min(trials, mode + reach)
    x = np.arange(low, high)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - x) / (x + 1) * (probability / (1 - probability))))])
    weights = np.exp(logs - logs.max())
    return low, weights / weights.sum()


def _convolved(one: Floats, other: Floats) -> Floats:
    if len(one) * len(other) <= _DIRECT_PRODUCTS:
        return np.convolve(one, other)
    # Beyond some 10^6 contributors, absolute errors are near 1e-16, far below any delta that is asked for.
    length = len(one) + len(other) - 1
    size = fft.next_fast_len(length, real=True)
    return np.maximum(fft.irfft(fft.rfft(one, size) * fft.rfft(other, size), size)[:length], 0.0)


def coin_beside_reports(coin: Coin, n: int, theta: float) -> tuple[Floats, Floats]:
    """Return P(true report, s ones among the other n-1) and P(lie, s ones), each over the same values of s.

    The answers of the others are drawn independently. Each is one with probability theta.
    """
    lies = [float(coin.lie_plus), float(coin.lie_minus), float(coin.q)]
    plus, minus, unpaired = (theta * (1 - lie) + (1 - theta) * lie for lie in lies)
    half = n // 2
    rest = _convolved(binomial_law(half - 1, plus)[1], binomial_law(half - 1, minus)[1])

    def beside(*ones: float) -> Floats:
        law = rest
        for one in ones:
            law = np.convolve(law, [1 - one, one])
        return law

    if n % 2 == 0:
        laws = [(0.5, lies[0], beside(minus)), (0.5, lies[1], beside(plus))]
    else:
        laws = [
            (half / n, lies[0], beside(minus, unpaired)),
            (half / n, lies[1], beside(plus, unpaired)),
            (1 / n, lies[2], beside(plus, minus)),
        ]
    truth: Floats = np.sum([share * (1 - lie) * law for share, lie, law in laws], axis=0)
    lie_: Floats = np.sum([share * lie * law for share, lie, law in laws], axis=0)
    return truth, lie_


def delta_at(truth: Floats, lie: Floats, epsilon: float) -> float:
    """Return the hockey-stick divergence between the answers 1 and 0 in the view of `coin_beside_reports`.

    A report of one is the truth for the answer 1, and a lie for the answer 0.
    """
    ratio = math.exp(epsilon)
    return float(np.maximum(truth - ratio * lie, 0.0).sum() + np.maximum(lie - ratio * truth, 0.0).sum())


def epsilon_at(truth: Floats, lie: Floats, delta: float) -> float:
    """Return the least epsilon whose hockey-stick divergence is at most delta, rounded up.

    The result is infinity if the least epsilon is above 600.
    """
    low, high = 0.0, 600.0
    if delta_at(truth, lie, high) > delta:
        return math.inf
    if delta_at(truth, lie, low) <= delta:
        return 0.0
    while high - low > 1e-13 * max(1.0, high):
        middle = (low + high) / 2
        if delta_at(truth, lie, middle) > delta:
            low = middle
        else:
            high = middle
    return high


ALL_DATA = "all reports and everybody else's data"


def worst_ratio(k: int, least: Fraction, most: Fraction) -> Fraction | float:
    """Return the largest likelihood ratio of a report if a lie's probability, given the view, is in least..most."""
    if least <= 0 or most >= 1:
        return math.inf
    return max((k - 1) * (1 - least) / least, most / ((k - 1) * (1 - most)))


def worst_epsilon(k: int, least: Fraction, most: Fraction) -> float:
    """Return the natural logarithm of `worst_ratio`, rounded up."""
    return log_up(worst_ratio(k, least, most))


def revealed_shares(k: int, coin: Coin, mu: Fraction) -> float:
    """Return the epsilon against an adversary who sees my report and m colluders' shares.

    In this view, the probability of a lie is between q - mu s and q + mu s.
    """
    return worst_epsilon(k, coin.q - mu * coin.s, coin.q + mu * coin.s)


def revealed_lies(k: int, coin: Coin, mu: Fraction) -> float:
    """Return the epsilon against an adversary who sees my report and which of m colluders lied.

    If my peer lied, the probability that I lied is lower by s^2/q. If my peer told the truth, it is higher.
    """
    square = mu * coin.s**2
    return worst_epsilon(k, coin.q - square / coin.q, coin.q + square / (1 - coin.q))


def lie_tells_more(k: int, coin: Coin, mu: Fraction) -> bool:
    """Return True if the worst report of `revealed_shares` is one that is surely a lie rather than surely the truth."""
    least, most = coin.q - mu * coin.s, coin.q + mu * coin.s
    return most >= 1 or (least > 0 and most * least > (k - 1) ** 2 * (1 - least) * (1 - most))


def known_data_at(k: int, coin: Coin, n: int, delta: float) -> float:
    """Return the epsilon at this delta against an adversary who sees all reports and everybody else's data.

    This adversary sees who of the others lied, whatever the data are. A given lie has a (k-1)-th of the probability of
    a lie.
    """
    truth, lie = coin_beside_reports(coin, n, 1.0)
    return epsilon_at(truth, lie / (k - 1), delta)


def known_data(coin: Coin, n: int) -> float:
    """Return the epsilon of JRR against an adversary who sees all reports and everybody else's data.

    It is ln((1 + a) p/(q - a p)). For odd n, this ratio is mixed with the ratio p/q of the unpaired contributor.
    """
    lie = coin.q - coin.s**2 / coin.q
    ratio = worst_ratio(2, lie, lie)
    if n % 2 and lie > 0:
        ratio = ((1 - coin.q) / coin.q + (n - 1) * ratio) / n
    return log_up(ratio)


def known_base_rate(coin: Coin, theta: Fraction) -> float:
    """Return the epsilon of JRR against all reports, if the others' data are drawn with base rate theta.

    It is the worst case over all report vectors. The likelihood ratio is monotone in the number of ones among the
    others, so it is largest or least where the peer's report is certain. The result does not depend on n if n is even.
    If n is odd, the unpaired case can only lower it.
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
        worst = max(worst, truth / false)  # a truth always tells more than a lie, because p > q
    return log_up(worst)


def jrr_guarantee(coin: Coin, n: int, theta: float, colluders: int, delta: float) -> Guarantee:
    """Return the guarantee of JRR, with the weakest rows first."""
    drawn = f"all reports; everybody else's answer is 1 with known base rate {theta:g}, independently"
    rate = known_base_rate(coin, Fraction(theta))
    # A mixture of the paired case and of randomised response is bounded by the worse of the two.
    if n % 2:
        rate = max(rate, worst_epsilon(2, coin.q, coin.q))
    # A lie then gives away the sign or the only peer.
    attained = n % 2 == 0 and (coin.plus == 0 or colluders in (1, n - 1))
    peer, mine = "collector and my peer", "my report and {}, known to be my peer"
    return _guarantee(
        2,
        coin,
        n,
        colluders,
        delta,
        known=TrustModel("collector", ALL_DATA, known_data(coin, n)),
        drawn=(
            TrustModel("collector", drawn, rate, status="upper bound" if n % 2 else "exact"),
            TrustModel("collector", drawn, epsilon_at(*coin_beside_reports(coin, n, theta), delta), delta),
        ),
        lies="exact" if colluders == 0 or coin.s == 0 or attained else "upper bound",
        peers=(
            TrustModel(peer, mine.format("my peer's share"), revealed_shares(2, coin, Fraction(1))),
            TrustModel(peer, mine.format("whether my peer lied"), revealed_lies(2, coin, Fraction(1))),
        ),
        note="every row, and its delta, is multiplied by r",
    )


def kary_guarantee(k: int, coin: Coin, n: int, colluders: int, delta: float) -> Guarantee:
    """Return the guarantee of KaryJRR, with the weakest rows first."""
    status: Status = "upper bound" if n % 2 else "exact"
    drawn = "all reports; everybody else's answer drawn independently from known frequencies"
    return _guarantee(
        k,
        coin,
        n,
        colluders,
        delta,
        known=TrustModel("collector", ALL_DATA, revealed_lies(k, coin, Fraction(1)), status=status),
        drawn=(TrustModel("collector", drawn, known_data_at(k, coin, n, delta), delta, "upper bound"),),
        lies="upper bound",
    )


def _guarantee(
    k: int,
    coin: Coin,
    n: int,
    colluders: int,
    delta: float,
    known: TrustModel,
    drawn: tuple[TrustModel, ...],
    lies: Status,
    peers: tuple[TrustModel, ...] = (),
    note: str = "",
) -> Guarantee:
    mu, worst = peer_posterior(n, colluders), revealed_shares(k, coin, Fraction(1))
    verbatim = "who is dealt R = +1, half of all, reports the truth verbatim" if coin.plus == 0 and coin.s else ""
    if coin.lie_minus == 1:
        verbatim = "who is dealt R = -1, half of all, surely lies, which rules the report out"
    others = f"collector and {colluders} colluders"
    told, ignored = "my report and the colluders' shares and lies", "other reports ignored"
    return Guarantee(
        epsilon=worst,
        per_attribute=(worst,),
        implemented_epsilon=worst,
        trust_models=(
            TrustModel("collector and dealer", "all reports and all shares", worst, note=verbatim),
            TrustModel("collector", "all reports, everybody else's data and all n-1 others' shares", worst),
            TrustModel("collector with my share", "my report and my share", worst, note=verbatim),
            known,
            TrustModel("collector", ALL_DATA, known_data_at(k, coin, n, delta), delta),
            *drawn,
            TrustModel(others, f"{told}, {ignored}", revealed_shares(k, coin, mu)),
            TrustModel(
                others, f"my report and which colluders lied, {ignored}", revealed_lies(k, coin, mu), status=lies
            ),
            TrustModel("collector", f"my report only, {ignored}", worst_epsilon(k, coin.q, coin.q)),
            *peers,
            TrustModel("dealer", "all shares, no report", 0.0),
            repeated("r reports of the same answer, a fresh deal each", worst, note),
            TrustModel(
                "collector",
                "all reports and who dropped out",
                known.epsilon,
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
