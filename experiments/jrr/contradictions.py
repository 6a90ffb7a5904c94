"""Where the paper on joint randomised response and its reproduction disagree, row by row of docs/papers/jrr.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.jrr.paper import EPSILONS, expected
from experiments.jrr.sweeps import RATIO_ERROR
from experiments.pages import DOCS, Contradiction, Results, number_of, setting, traced

ALG, OPT = "JRR, Algorithm 1", "JRR, optimum"
KNOWN, DEALER = "all reports, others' data known", "the dealer colludes"
RATE = "all reports, base rate known"
THEORY, COUPLING = (Results(DOCS / "theory" / "results" / name) for name in ("jrr", "coupling"))
SEEN = "of the figure's error"
FIGURES = 200
"""Repetitions of figure 2."""


def contradictions(r: Results) -> Sequence[Contradiction]:
    """Return all rows."""
    return (*_privacy(r), *_gaps(r), *_underperforming(r), *_data(r))


def _privacy(r: Results) -> list[Contradiction]:
    def leak(adversary: str, method: str) -> str:
        return r.number("attackers", adversary, ".3f", epsilon=0.1, share=0.05, method=method)

    (lies,) = THEORY.rows("theory-lies", n=4)
    known = "n = 10,000, share of ones .05, M = 5, epsilon .1"
    return [
        Contradiction(
            '"the same level of data privacy as the classical RR mechanism" (section 7)',
            f"{known}, delta 1e-6; the collector reads all reports and knows everybody else's data; exact",
            f"epsilon {leak(KNOWN, ALG)} with Algorithm 1's parameters, {leak(KNOWN, OPT)} with the best ones by (22); RR "
            f"{leak(KNOWN, 'RR')}",
            'that (19) is about one report beside what colluders reveal, that 4.2 promises "a form of data privacy similar to" LDP, '
            'and that its collector does not know the others\' data. But 4.2 gives the collector "all perturbed values". Against '
            f"a collector who has all values and knows only the base rate, the epsilons are {leak(RATE, ALG)} and {leak(RATE, OPT)}",
        ),
        Contradiction(
            'a collector who learns R_j from all other contributors "cannot recover" whether the report is true (4.5.1)',
            f"{known}; all others hand over their shares; exact",
            f"with the best parameters by (22) it can for some: epsilon is {leak(DEALER, OPT)}. With Algorithm 1's parameters it "
            f"cannot, but epsilon is {leak(DEALER, ALG)}",
            'that it grants a "reduced data privacy guarantee" there, that such collusion is "extremely impractical", and that its '
            "server does not collude by assumption (4.5.1)",
        ),
        Contradiction(
            "Theorem 2: a report is epsilon-private by (20) beside the truthfulness of m colluders; for 2 <= m < n - 1",
            "n = 4, m = 2, p = .6, rho = -2/3; exact, every deal listed",
            f"printed {number_of(lies, 'Theorem 2', '.3f')}, true {number_of(lies, 'truth', '.3f')}: the theorem uses the "
            "probability that a contributor's peer colludes before the colluders' reports are known",
            "that m is much smaller than n: at n = 10,000 and m = 5 the printed epsilon is at most 3e-7 too small, at "
            "epsilon .01, .1 and 1",
        ),
    ]


def _gaps(r: Results) -> list[Contradiction]:
    claims = {row["id"]: (float(row["paper"]), float(row["Algorithm 1"])) for row in r.rows("fig-3-claims")}
    apart = [
        f"{traced(claims[name][0], '.3f')} ({traced((claims[name][0] / claims[name][1] - 1) / RATIO_ERROR, '.1f')})"
        for name in ("3a-0.01", "3c-0.01")
    ]
    thresholds = {epsilon: r.rows("fig-5-thresholds", epsilon=epsilon)[0] for epsilon in EPSILONS}

    def three(column: str, *specs: str) -> str:
        cells = [number_of(thresholds[one], column, spec) for one, spec in zip(EPSILONS, specs, strict=True)]
        return f"{cells[0]}, {cells[1]} and {cells[2]}"

    slip = next(claim["paper"] for claim in expected()["claims"] if claim["id"] == "3c-74.1")
    of_rr = r.number("fig-3-stated", "of RR", ".1%", id="3c-mse-0.1")
    return [
        Contradiction(
            '"with the performance gap widening as n increases" (5.3.1)',
            "epsilon .01, share of ones .01, M = 0 to 2, figure 3(a) at n = 10,000 and figure 3(c) at n = 80,000; exact",
            f"{r.number('which-m', 'M = 2', '.4f', id='3a-0.01')} of RR's MSE in both; printed are {apart[0]} and "
            f"{apart[1]}, in brackets the distance in standard errors of the ratio",
            f"that the difference of the two MSEs does widen, though its examples are ratios, and that at Table 4's M = 5 the ratio "
            f"falls up to n = 25,000: {r.number('which-m', 'M = 5', '.4f', id='3a-0.01')} "
            "at n = 10,000",
        ),
        Contradiction(
            '"JRR consistently outperforms RR in terms of MSE for any M" (5.3.3)',
            "Algorithm 1, n = 10,000, share of ones .1, epsilon .01, .1 and 1; exact",
            f"worse from M = {three('Algorithm 1 worse from M', '.0f', '.0f', '.0f')} on, by "
            f"{three('largest excess', '.1%', '.1%', '.1%')} at most, which is "
            f"{three(SEEN, '.1f', '.2f', '.2f')} standard errors of a ratio in the figure",
            'that 1,000 runs cannot show so little, and that for very large M, 90% of n, "JRR degrades to RR"',
        ),
        Contradiction(
            f'"which is about {traced(slip, ".1%")} of the one under RR" (5.3.1)',
            "Algorithm 1, n = 80,000, share of ones 1, epsilon .1, M = 5; exact",
            f"{of_rr}",
            "that it is a slip: the same paragraph has 90.9% less",
        ),
        Contradiction(
            'k-JRR "consistently outperforms GRR" (4.6.3)',
            "n = 10,000, m = 5, epsilon 1, the best parameters for the frequency f; exact",
            _kary(),
            'that 4.6.1 leaves the choice of p and rho open, and that "its advantage over GRR diminishes as the domain size '
            'grows"',
        ),
    ]


def _kary() -> str:
    def ratio(k: int, column: str) -> str:
        return COUPLING.number("couplings", column, ".3f", k=k, epsilon=1.0)

    return (
        f"share of GRR's variance: for f of {setting('1/k')}, {ratio(4, 'f = 1/k')} and {ratio(10, 'f = 1/k')} with k = 4 and 10; "
        f"for f of {setting('0')}, {ratio(4, 'f = 0')}, "
        f"{ratio(10, 'f = 0')} and {ratio(20, 'f = 0')} with k = 4, 10 and 20"
    )


def _underperforming(r: Results) -> list[Contradiction]:
    excess = [
        r.number("fig-7", "RI", spec, method=ALG, n=10_000, epsilon=epsilon)
        for epsilon, spec in ((0.001, ".1f"), (0.01, ".3f"), (0.1, ".4f"), (1.0, ".4f"))
    ]
    wide = [r.number("fig-8", "R", ".0%", method=ALG, n=1_000, epsilon=epsilon) for epsilon in EPSILONS]
    at_same = [float(row["R"]) for row in r.rows("fig-7", method=ALG, n=10_000)]
    own = r.rows("which-m-own-p", n=10_000, epsilon=0.001, M=0)[0]
    five = r.rows("which-m-own-p", n=10_000, epsilon=0.001, M=5)[0]
    small = r.rows("which-m-own-p", n=1_000, epsilon=0.1, M=0)[0]
    same = "Algorithm 1 with M = 5, the same epsilon for both; exact"
    return [
        Contradiction(
            'RI is "always less than" 1e-4 (5.3.5)',
            f"n = 10,000, half of them hold 1, {same}",
            f"{excess[0]}, {excess[1]}, {excess[2]} and {excess[3]} at epsilon .001, .01, .1 and 1",
            f"that RI shows the price of the correlation alone: against RR at JRR's own p it is {number_of(five, 'RI', '.1e')} at epsilon "
            f".001 ({number_of(own, 'RI', '.3e')} for M from 0 to 2)",
        ),
        Contradiction(
            '"R is less than 3%, indicating JRR outperforms RR" for more than 97% of the shares (5.3.5)',
            f"n = 1,000, {same}",
            f"R is {wide[0]}, {wide[1]} and {wide[2]} at epsilon .01, .1 and 1",
            "that R, too, shows the price of the correlation alone: against RR at JRR's own p it is "
            f"{number_of(small, 'R', '.2%')}, and {number_of(small, 'R in whole counts', '.2%')} "
            "in whole counts",
        ),
        Contradiction(
            'R "is not affected by" epsilon (5.3.5)',
            f"n = 10,000, epsilon .001 to 1, {same}",
            f"it falls from {traced(max(at_same), '.0%')} to {traced(min(at_same), '.0%')}",
            f"that it is 1/sqrt(n), as 4.4 derives: at JRR's own p it is {number_of(own, 'R', '.2%')} for every epsilon",
        ),
    ]


def _data(r: Results) -> list[Contradiction]:
    margin = r.rows("which-m-data", epsilon=0.01, M=5)[0]
    below = r.number("fig-2-seeds", "percentiles below RR's", ".0%", data="all")
    never = r.value("fig-2-seeds", "figures with all below", data="all") * FIGURES
    assert never == 0, "the bound of the row is that of no figure among all"
    most = 1 - 0.05 ** (1 / FIGURES)
    jrr = r.rows("fig-2-80th", method=ALG)[0]
    kosarak, users = (r.rows("data-counts", data=name)[0] for name in ("Kosarak", "Kosarak, users"))
    chance = float(kosarak["at least the printed"])
    assert math.isclose(float(kosarak["error"]), math.sqrt(chance * (1 - chance) / 20_000))
    return [
        Contradiction(
            '"JRR outperforms RR by a larger margin on Kosarak and Census datasets" (5.2)',
            "figure 1, Algorithm 1, epsilon .01, M = 5; exact",
            f"share of RR's MSE: Kosarak {number_of(margin, 'Kosarak', '.3f')}, Census {number_of(margin, 'Census', '.3f')}, Amazon "
            f"{number_of(margin, 'Amazon', '.3f')}, E-commerce {number_of(margin, 'E-commerce', '.3f')}; Census and "
            f"E-commerce are {traced(-float(margin['z in the figure']), '.1f')} standard errors of the figure apart",
            "that figure 1 states no M, and that for M from 0 to 3 it is true",
        ),
        Contradiction(
            '"for any specific percentile, JRR consistently outperforms RR with a lower ARE" (5.2)',
            f"figure 2, all twelve panels, M = 5, 1,000 runs; the whole figure repeated {setting(FIGURES)} times",
            f"below RR at {below} of the percentiles, at all of them in {traced(never, '.0f')} of {setting(FIGURES)} figures "
            f"(with {setting('95%')} confidence in {traced(most, '.1%')} at most)",
            "that it describes the runs that it drew, and that at the median and above the order holds here, too",
        ),
        Contradiction(
            '"the 80th percentile under JRR on the Kosarak dataset is 0.7" (5.2)',
            f"figure 2(b), epsilon .1, M = 5, 1,000 runs; repeated {setting(FIGURES)} times",
            f"the interval of {setting('90%')} of the figures is {number_of(jrr, '5%', '.2f')} to {number_of(jrr, '95%', '.2f')}, the least is "
            f"{number_of(jrr, 'least', '.2f')}",
            f"that figure 2 states no M: for M from 0 to 4 the percentile is {r.number('which-m-percentile', 'normal law', '.3f', M=4)}",
        ),
        Contradiction(
            "ARE (29) where everybody holds a 1, as in figures 3(d) to 3(f)",
            "share of ones 1; exact",
            f"it divides by the number of people who hold a value, and nobody holds a {setting(0)}: undefined",
            "that values which nobody holds were left out, as they are here",
        ),
        Contradiction(
            "659 of 20,000 clicks on 100 random pages (Table 3, appendix J)",
            "Kosarak, the first 100,000 users of the file; 20,000 choices of pages",
            f"median {number_of(kosarak, 'expected', '.0f')}; {setting('659')} or more in "
            f"{number_of(kosarak, 'at least the printed', '.1%')} ± {number_of(kosarak, 'error', '.1%')} of the choices",
            f"that contributors were users: then {number_of(users, 'at least the printed', '.0%')} ± "
            f"{number_of(users, 'error', '.1%')} of the choices have as many",
        ),
    ]


def corrections(r: Results) -> Sequence[str]:
    """Return what a third reading corrected on the page: what was wrong, what is there now, command and number."""
    phases = r.rows("two-phase", epsilon=0.1, share=0.05, **{"of epsilon": 0.05})[0]
    own = r.rows("which-m-own-p", n=10_000, epsilon=0.001, M=0)[0]
    margin = r.rows("which-m-data", epsilon=0.01, M=0)[0]
    late = r.rows("newcomers", share=0.05, late=0.05)[0]
    return [
        f"| two phases split the contributors | they split epsilon, as section 7 says; our variant is called two groups | `two-phase`, "
        f"`two-groups` | of RR's MSE at epsilon .1, share .05, {setting('5%')} first: {number_of(phases, 'better', '.3f')}; one phase "
        f"{number_of(phases, 'one phase, no guess', '.3f')} |",
        f"| figures 7 and 8 were only refuted | they are explained: their numbers are about RR at JRR's own p | `which-m` | RI at epsilon .001, "
        f"n = 10,000: {number_of(own, 'RI', '.3e')} |",
        f"| M = 5 was taken for granted | the M that fit every printed number; Amazon cannot be tested; Kosarak has two readings | "
        f"`which-m`, `data-counts` | of RR's MSE on Kosarak, epsilon .01, M = 0 to 2: {number_of(margin, 'Kosarak', '.3f')} |",
        f"| `combine_deals([JRR, GRR])` raised | one estimate of dealt contributors and newcomers | `newcomers` | of RR's MSE with "
        f"{setting('5%')} newcomers, epsilon .1, share .05: {number_of(late, 'newcomers', '.3f')} |",
    ]
