"""Contradictions between the paper on the optimised sketch and its reproduction: rows for docs/papers/ocms.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.pages import Contradiction, Results, number_of, setting, traced

KOSARAK = "The first 100,000 of 990,002 lines of Kosarak: n = 801,947 clicks, k = 23,496 pages; 100 runs"
THEIR_FILE = "The paper evaluates another file. If separators count as values, the sentence is true."


def contradictions(r: Results) -> Sequence[Contradiction]:
    """Return all rows; errata without a claim have their replies in the table of errata."""
    return (*_kosarak(r), *_orders(r), *_hashing(r), *_randomness(r), *_formulas(r))


def _worst(r: Results, method: str, epsilon: int) -> str:
    """Return a method's largest measured MSE on the clicks, with its standard error."""
    (one,) = r.rows("kosarak", method=method, epsilon=epsilon)
    return f"{number_of(one, 'worst_mse', '.2g')} ± {number_of(one, 'worst_error', '.1g')}"


def _l2(r: Results, data: str, method: str, epsilon: int, spec: str) -> str:
    (one,) = r.rows(data, method=method, epsilon=epsilon)
    return f"{number_of(one, 'l2', spec)} ± {number_of(one, 'l2_error', spec)}"


def _kosarak(r: Results) -> list[Contradiction]:
    def entries(words: str, column: str, spec: str) -> str:
        return r.number("errata-kosarak", column, spec, counted=words)

    def theory(method: str, epsilon: int) -> float:
        return r.value("kosarak", "worst theory", method=method, epsilon=epsilon)

    less = [traced(theory("RHR", e) / theory("HE", e), ".2f") for e in (2, 3, 4, 5)]
    return [
        Contradiction(
            '"Kosarak has one value whose frequency is above 0.4" (6.3)',
            "The count of clicks is from the first 100,000 of 990,002 lines, with 801,947 clicks. The count of clicks and separators is from published totals of the whole file. Both are exact.",
            f"The commonest page has {entries('clicks', 'commonest', '.3f')} of the clicks. If the ends of clicks and of lines count as "
            f"values, the end of a click has {entries('clicks and both', 'commonest', '.3f')} of all values.",
            "The file that the paper evaluates has such a value. The paper does not say how the file was shrunk to 1%.",
        ),
        Contradiction(
            'Its 1% of Kosarak "contains over 170,000 entries" (6.3)',
            "One hundredth of the published totals of the whole file; exact",
            f"There are {entries('clicks', '1%', ',.0f')} clicks, or {entries('clicks and both', '1%', ',.0f')} entries if the ends of clicks and of lines count, too.",
            "The file that the paper evaluates has as many entries. The paper does not say how the file was shrunk to 1%.",
        ),
        Contradiction(
            'RHR "performs the worst in" worst-case MSE (6.3)',
            f"{KOSARAK}, epsilon 2 to 5",
            f"RHR's calculated worst-case MSE is {less[0]}, {less[1]}, {less[2]} and {less[3]} times HE's. Measured at epsilon 3: RHR {_worst(r, 'RHR', 3)}, "
            f"HE {_worst(r, 'HE', 3)}. Measured at epsilon 2: RHR {_worst(r, 'RHR', 2)}, HE {_worst(r, 'HE', 2)}; undecided.",
            THEIR_FILE,
        ),
        Contradiction(
            'HE and CMS+HE "perform the worst in" l1 and l2 (6.3)',
            f"{KOSARAK}, epsilon 1",
            f"RHR has the larger l2 loss: RHR {_l2(r, 'kosarak', 'RHR', 1, '.5f')}, HE {_l2(r, 'kosarak', 'HE', 1, '.5f')}",
            "From epsilon 2 on the sentence is true. (We agree.)",
        ),
    ]


def _orders(r: Results) -> list[Contradiction]:
    def costs(method: str) -> str:
        return r.number("kosarak", "worst theory", ".2g", method=method, epsilon=4)

    def table(column: str, epsilon: int) -> float:
        return r.value("table-1", column, row="RHR", d=100_000, epsilon=epsilon)

    fall = table("l2", 1) / table("l2", 5)
    assert abs(fall / 5 - r.value("errata", "number", where="Table I, RHR, l2")) < 0.01
    return [
        Contradiction(
            '"The precision of RHR lies between OCMS+RR and the other algorithms" (6.2)',
            "Gaussian data, k = n = 10,000, standard deviation 50, epsilon 1, 100 runs",
            f"RHR has a larger l2 loss than HE: RHR {_l2(r, 'gaussian', 'RHR', 1, '.3f')}, HE {_l2(r, 'gaussian', 'HE', 1, '.3f')}",
            "From epsilon 2 on the sentence is true. (We agree.)",
        ),
        Contradiction(
            'For the worst-case MSE with "no prior knowledge", the paper takes f* = 1 (after Theorem 3.7). Section 6.3 compares this sketch with RHR, HE and '
            "CMS+HE, but not with the sketch for the l1 and l2 losses.",
            f"{KOSARAK}, epsilon 4; parameters chosen by our function `OCMS`",
            f"The sketch for f* = {setting(1)} has the larger worst-case MSE. The measured worst-case MSE is {_worst(r, 'OCMS-MSE', 4)} for the sketch for "
            f"f* = {setting(1)}, and {_worst(r, 'OCMS', 4)} for the sketch for the l1 and l2 losses. The calculated numbers are {costs('OCMS-MSE')} and {costs('OCMS')}.",
            "f* = 1 bounds the worst case over all data. (We agree.) A known f* gives a smaller error.",
        ),
        Contradiction(
            "The l2 loss of RHR is of order d/min(epsilon, epsilon^2) (Table I).",
            "d = 100,000, epsilon 1 to 5; exact",
            f"From epsilon 1 to 5 the loss falls by a factor of {traced(fall, '.0f')}, and the printed order falls by a factor of {setting('5')}.",
            "The entry is taken from its source.",
        ),
    ]


def _hashing(r: Results) -> list[Contradiction]:
    def scan(statement: str, column: str, spec: str, fields: str = "P >= 5m") -> str:
        return r.number("errata-imperfect-hashing", column, spec, statement=statement, fields=fields)

    stricter = r.number("errata", "number", ".0e", where="After Theorem 3.7")
    grid = "m = 2 to 12, primes P of at least 5m below 12m, nine epsilons from .05 to 5"

    def fails(statement: str, fields: str = "P >= 5m") -> str:
        few, all_of = (scan(statement, column, ",.0f", fields) for column in ("fails as printed", "settings"))
        return f"in {few} of {all_of} settings"

    over = "largest excess over promise"
    return [
        Contradiction(
            "Under a condition on q, the variance with imperfect hashing is less than 1 + tau times the variance with perfect hashing (Theorem 3.9).",
            "m = 2 to 12, all primes P above m and below 12m, nine epsilons from .05 to 5, three frequencies; exact",
            f"The theorem is false {fails('Theorem 3.9', 'all P > m')}. The true excess is up to {scan('Theorem 3.9', over, '.2f', 'all P > m')} times the "
            f"promised excess. With P of at least {setting('5')}m the theorem is false {fails('Theorem 3.9')}, and the true excess is up to {scan('Theorem 3.9', over, '.3f')} times the promised excess.",
            "The excess is tiny in the fields that the paper advises. With the prime 2^64 - 59 of Algorithm 1 the error does not matter.",
        ),
        Contradiction(
            "If 2q + 1 > sqrt(1/tau), imperfect hashing adds less than the share tau to the worst-case MSE and to the l2 loss of the optimised "
            "sketches. So P of at least 5m is enough for 1% (Corollary 3.5).",
            f"{grid}; exact",
            f"The corollary is false {fails('Corollary 3.5')}. The true excess is up to {scan('Corollary 3.5', over, '.2f')} times the promised excess.",
            "The variance grows by 1.7% instead of 1%, and only at small epsilon.",
        ),
        Contradiction(
            "A wrong f* is harmless as long as delta (1 - 2f*) is of order 4E/(n (E-1)^2) (after Theorem 3.7).",
            "The formula for the variance; the number is for n = 10,000; exact",
            f"The n does not belong there, because both sides of (14) fall as {setting('1/n')}. The delta that the printed condition allows is "
            f"{stricter} times the harmless delta.",
            'This is advice, and "otherwise, one can always assume" f* = 1.',
        ),
    ]


def _randomness(r: Results) -> list[Contradiction]:
    def beyond(n: int) -> str:
        share, runs = (
            r.value("random-bits", column, n=n, epsilon=4, kind="pairwise") for column in ("beyond 4", "runs")
        )
        return f"{traced(share, '.2%')} ± {traced(math.sqrt(share * (1 - share) / runs), '.2%')}"

    def alone(n: int) -> str:
        return r.number("random-bits", "beyond 4", ".2%", n=n, epsilon=4, kind="independent")

    listed = r.number("random-bits-listed", "beyond 4", ".2%", n=121, epsilon=4, kind="pairwise")
    return [
        Contradiction(
            'The assignments of Theorem 5.2 are enough "to ensure that CMS will work as expected" (5.2).',
            "The share of draws with an error above four standard errors, at epsilon 4. Simulated: m = 4, 101^2 functions, 20,000 draws. Listed: m = 5, 121 functions, n = 121.",
            f"Simulated: {beyond(100)} at n = 100, and {beyond(1000)} at n = 1,000. With independent assignments, these shares are {alone(100)} and {alone(1000)}. "
            f"Listed: exactly {listed}.",
            'The theorem is about the "prerequisite of Eq. (4)", the variance. The variance is exactly as the theorem says.',
        ),
        Contradiction(
            '2 log2 d "bits are needed to sync, regardless of which side generates the assignment" (5.3)',
            "d = 2^20, epsilon 1; exact",
            f"By this sentence, {setting('40')} bits are needed. A whole report of Spread, with hash function and answer, has "
            f"{r.number('errata', 'number', '.1f', where='Section 5.3, bits')} bits.",
            "The paper counts (d + 1)^2 functions or more. It means the family (15), which has this many functions.",
        ),
    ]


def _formulas(r: Results) -> list[Contradiction]:
    def fact(where: str, spec: str) -> str:
        return r.number("errata", "number", spec, where=where)

    return [
        Contradiction(
            "A match counts (E+m-1)/(E-1), with E = e^epsilon (Algorithm 1, line 44).",
            "f = 0, epsilon 1, m = 3; exact",
            f"A match must count {setting('(E+m-2)/(E-1)')}. With the printed weight the expected estimate is {fact('Algorithm 1, line 44', '.2f')} too large.",
            "The listing has a slip. The author's code inverts the matrix and is right, so no published figure suffers.",
        ),
        Contradiction(
            "Theorem 3.5 bounds the probability of an error of alpha standard deviations or more. It holds for alpha up to sqrt(E n/(m-1)).",
            "f = 0, epsilon 1, m = 4; exact",
            f"The proof assumes that the delta of the Chernoff bound is at most {setting('1')}. At the end of the range, this delta is {fact('Theorem 3.5', '.2f')}.",
            "For alpha up to sqrt(n/(m-1)) nothing changes.",
        ),
        Contradiction(
            "The recursive CMS hashes to m1 cells, and then to m2 cells. It is a CMS with m1 m2/(m1 + m2 - 1) cells (4.5).",
            "CMS+HE, epsilon 1, m1 = 16, f = 0; exact",
            f"The collision probability of the recursive CMS is that of such a CMS, but its variance is {fact('Section 4.5', '.0%')} larger.",
            "The two agree as m grows, and section 4.5 assumes a large m.",
        ),
        Contradiction(
            "The l1 loss is measured by the Cauchy-Schwarz bound, and not by the mean deviation of a normal distribution (Appendix C).",
            "one value, n = 10,000, epsilon 1, m = 4; exact",
            f"The l1 loss is {fact('Appendix C, l1', '.3f')} times the bound. The factor for a normal distribution is sqrt({setting('2')}/pi).",
            "All mechanisms are compared by the same bound, so their order does not change.",
        ),
    ]


def corrections(r: Results) -> Sequence[str]:
    """Return the page's corrections after a third reading: wrong text, new text, command and number."""
    (hashed,) = r.rows("rappor", kind="aRP", epsilon=1, m=2)
    dearer = traced(max(float(one["1,024 over 2,048"]) - 1 for one in r.rows("fairness-hashes")), ".2%")
    worst = max(r.rows("pilot"), key=lambda one: float(one["failed"]))
    failed, error = (number_of(worst, column, ".1%") for column in ("failed", "failed error"))
    (missed,) = r.rows("errata", where="Theorem 3.9")
    return [
        f"| The page had only nineteen corrected statements. | Each corrected statement has a row, with a reply. | `errata` | {traced(len(r.rows('errata')), 'd')} rows; Theorem 3.9 "
        f"promises {number_of(missed, 'beside', '.3%')}, and the truth is {number_of(missed, 'number', '.3%')} |",
        f"| The page said that hashing adds only bias. | Hashing adds variance. The page has the unbiased sketch over RAPPOR, and its limit. | `rappor` | n MSE of "
        f"aRP at epsilon 1, m = 2: {number_of(hashed, 'n MSE', '.2f')} ± {number_of(hashed, 'error', '.2f')}, limit "
        f"{number_of(hashed, 'limit', '.2f')} |",
        f"| The author's code was not measured. | Decoder, hash functions and b are measured as in his code. | `fairness` | the l2 loss with "
        f"{setting('1,024')} functions is at most {dearer} above the loss with {setting('2,048')} |",
        f"| f* had to be known. | f* can come from a pilot. The page has the cost of a wrong f*. | `pilot` | too low in at most {failed} ± {error} of the runs, "
        f"at {setting('95%')} confidence |",
    ]
