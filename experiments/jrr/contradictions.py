"""Contradictions between the paper on joint randomised response and its reproduction: rows for docs/papers/jrr.md."""

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
    known = "n = 10,000, share of ones .05, M = 5, nominal epsilon .1"
    return [
        Contradiction(
            'JRR has "the same level of data privacy as the classical RR mechanism" (section 7).',
            f"{known}, delta 1e-6. The collector reads all reports and knows everybody else's data. The numbers are exact.",
            f"Against this collector, the epsilon is {leak(KNOWN, ALG)} with Algorithm 1's parameters and {leak(KNOWN, OPT)} with the "
            f"best parameters under (22). For RR it is {leak(KNOWN, 'RR')}.",
            'The guarantee (19) is about one report and what the colluders reveal. Section 4.2 promises "a form of data privacy '
            'similar to" LDP. The collector of the paper does not know the others\' data. (But 4.2 gives the collector "all perturbed '
            f'values". If this collector knows only the base rate, the epsilons are {leak(RATE, ALG)} and {leak(RATE, OPT)}.)',
        ),
        Contradiction(
            'A collector who learns R_j (here called the share) from all other contributors "cannot recover" whether the report is true (4.5.1).',
            f"{known}. All other contributors hand over their shares. The numbers are exact.",
            "With the best parameters under (22), the collector knows for some contributors whether their report is true: epsilon is "
            f"{leak(DEALER, OPT)}. With Algorithm 1's parameters the collector knows this for no contributor, but epsilon is {leak(DEALER, ALG)}.",
            'The paper grants a "reduced data privacy guarantee" in this case. It calls such collusion "extremely impractical", and '
            "assumes that its server does not collude (4.5.1).",
        ),
        Contradiction(
            "Theorem 2, for 2 <= m < n - 1: a report has the epsilon of (20), even if the adversary knows which of m colluders told the "
            "truth.",
            "n = 4, m = 2, p = .6, rho = -2/3. The numbers are exact: we listed every deal.",
            f"The printed epsilon is {number_of(lies, 'Theorem 2', '.3f')}, and the true epsilon is {number_of(lies, 'truth', '.3f')}. "
            "The theorem uses the prior probability that a contributor's peer colludes. But what the colluders reveal changes this "
            "probability.",
            "For m much smaller than n the error is negligible. At n = 10,000 and m = 5, the printed epsilon is at most 3e-7 too small (epsilon .01, .1 and 1).",
        ),
    ]


def _gaps(r: Results) -> list[Contradiction]:
    claims = {row["id"]: (float(row["paper"]), float(row["Algorithm 1"])) for row in r.rows("fig-3-claims")}
    stated = [claims[name] for name in ("3a-0.01", "3c-0.01")]
    first, second = (traced(paper, ".3f") for paper, _ in stated)
    apart = [traced((paper / exact - 1) / RATIO_ERROR, ".1f") for paper, exact in stated]
    thresholds = {epsilon: r.rows("fig-5-thresholds", epsilon=epsilon)[0] for epsilon in EPSILONS}

    def three(column: str, *specs: str) -> str:
        cells = [number_of(thresholds[one], column, spec) for one, spec in zip(EPSILONS, specs, strict=True)]
        return f"{cells[0]}, {cells[1]} and {cells[2]}"

    slip = next(claim["paper"] for claim in expected()["claims"] if claim["id"] == "3c-74.1")
    of_rr = r.number("fig-3-stated", "of RR", ".1%", id="3c-mse-0.1")
    return [
        Contradiction(
            'JRR outperforms RR "with the performance gap widening as n increases" (5.3.1).',
            "Epsilon .01, share of ones .01, M = 0 to 2, figure 3(a) at n = 10,000 and figure 3(c) at n = 80,000. The numbers are exact.",
            f"JRR has {r.number('which-m', 'M = 2', '.4f', id='3a-0.01')} of RR's MSE at both n. The paper prints {first} and {second}. "
            f"The printed numbers are {apart[0]} and {apart[1]} standard errors from ours.",
            "The difference of the two MSEs does widen. (But the paper's examples are ratios.) At Table 4's M = 5, the ratio falls up to "
            f"n = 25,000: it is {r.number('which-m', 'M = 5', '.4f', id='3a-0.01')} at n = 10,000.",
        ),
        Contradiction(
            '"JRR consistently outperforms RR in terms of MSE for any M" (5.3.3).',
            "Algorithm 1, n = 10,000, share of ones .1. Each list of three numbers is for epsilon .01, .1 and 1. The numbers are exact.",
            f"JRR is worse from M = {three('Algorithm 1 worse from M', '.0f', '.0f', '.0f')} on. Its MSE is larger by at most "
            f"{three('largest excess', '.1%', '.1%', '.1%')}. In the paper's figure, these excesses are {three(SEEN, '.1f', '.2f', '.2f')} standard errors of "
            "a ratio.",
            '1,000 runs cannot show such small differences. For very large M (90% of n), "JRR degrades to RR".',
        ),
        Contradiction(
            f'JRR\'s MSE: "which is about {traced(slip, ".1%")} of the one under RR" (5.3.1).',
            "Algorithm 1, n = 80,000, share of ones 1, epsilon .1, M = 5. The number is exact.",
            f"JRR's MSE is {of_rr} of RR's MSE.",
            "This is a slip. The same paragraph says 90.9% less.",
        ),
        Contradiction(
            'k-JRR "consistently outperforms GRR" (4.6.3).',
            "n = 10,000, M = 5, epsilon 1, the best parameters for a value of frequency f. The numbers are exact.",
            _kary(),
            'Section 4.6.1 leaves the choice of p and rho open. The paper adds that "its advantage over GRR diminishes as the domain size '
            'grows".',
        ),
    ]


def _kary() -> str:
    def ratio(k: int, column: str) -> str:
        return COUPLING.number("couplings", column, ".3f", k=k, epsilon=1.0)

    return (
        f"We divide k-JRR's variance by GRR's. If f is {setting('1/k')}, the ratio is {ratio(4, 'f = 1/k')} at k = 4 and "
        f"{ratio(10, 'f = 1/k')} at k = 10. If f is {setting('0')}, the ratio is {ratio(4, 'f = 0')}, {ratio(10, 'f = 0')} and {ratio(20, 'f = 0')} at k = 4, 10 "
        "and 20."
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
    same = "Algorithm 1 with M = 5, RR at the same epsilon. The numbers are exact."
    alone = "shows the price of the correlation alone. Compared with RR at JRR's own p"
    return [
        Contradiction(
            'RI is "always less than" 1e-4 (5.3.5).',
            f"n = 10,000, share of ones .5, {same}",
            f"RI is {excess[0]}, {excess[1]}, {excess[2]} and {excess[3]} at epsilon .001, .01, .1 and 1.",
            f"RI {alone}, RI is {number_of(five, 'RI', '.1e')} at epsilon .001. For M from 0 to 2, RI is {number_of(own, 'RI', '.3e')}.",
        ),
        Contradiction(
            '"R is less than 3%, indicating JRR outperforms RR" for more than 97% of the shares (5.3.5).',
            f"n = 1,000, {same}",
            f"R is {wide[0]}, {wide[1]} and {wide[2]} at epsilon .01, .1 and 1.",
            f"R, too, {alone}, R is {number_of(small, 'R', '.2%')}. The share of ones can only be 0/n, 1/n, 2/n "
            f"and so on. Among these shares, R is {number_of(small, 'R in whole counts', '.2%')}.",
        ),
        Contradiction(
            'R "is not affected by" epsilon (5.3.5).',
            f"n = 10,000, epsilon .001 to 1, {same}",
            f"R falls from {traced(max(at_same), '.0%')} to {traced(min(at_same), '.0%')}.",
            f"R is 1/sqrt(n), as 4.4 derives. Compared with RR at JRR's own p, R is {number_of(own, 'R', '.2%')} for every epsilon.",
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
            '"JRR outperforms RR by a larger margin on Kosarak and Census datasets" (5.2).',
            "Figure 1, Algorithm 1, epsilon .01, M = 5. The numbers are exact.",
            f"JRR has {number_of(margin, 'Kosarak', '.3f')} of RR's MSE on Kosarak, {number_of(margin, 'Census', '.3f')} on Census, "
            f"{number_of(margin, 'Amazon', '.3f')} on Amazon and {number_of(margin, 'E-commerce', '.3f')} on E-commerce. So the margin is "
            f"smaller on Census than on E-commerce, by {traced(-float(margin['z in the figure']), '.1f')} standard errors of the figure.",
            "Figure 1 states no M. For M from 0 to 3 the claim is true.",
        ),
        Contradiction(
            '"For any specific percentile, JRR consistently outperforms RR with a lower ARE" (5.2).',
            f"Figure 2, all twelve panels, M = 5, 1,000 runs. We repeated the whole figure {setting(FIGURES)} times.",
            f"JRR is below RR at {below} of the percentiles. It is below RR at all percentiles in {traced(never, '.0f')} of "
            f"{setting(FIGURES)} figures. With {setting('95%')} confidence, this happens in at most {traced(most, '.1%')} of figures.",
            "The paper describes the runs that it drew. At the median and above, the order holds here, too.",
        ),
        Contradiction(
            '"The 80th percentile under JRR on the Kosarak dataset is 0.7" (5.2).',
            f"Figure 2(b), epsilon .1, M = 5, 1,000 runs. We repeated the figure {setting(FIGURES)} times.",
            f"Over the figures, the {setting('90%')} interval of this percentile is {number_of(jrr, '5%', '.2f')} to "
            f"{number_of(jrr, '95%', '.2f')}. The smallest value is {number_of(jrr, 'least', '.2f')}.",
            f"Figure 2 states no M. For M from 0 to 4 our percentile is {r.number('which-m-percentile', 'normal law', '.3f', M=4)}, "
            "which rounds to the printed number.",
        ),
        Contradiction(
            "The ARE (29) in a population where everybody holds a 1, as in figures 3(d) to 3(f).",
            "Share of ones 1. The result is exact.",
            f"The ARE divides by the number of people who hold a value. Nobody holds a {setting(0)}, so the ARE is undefined.",
            "The paper left out values that nobody holds. (We leave them out as well.)",
        ),
        Contradiction(
            "659 of 20,000 clicks fall on 100 random pages (Table 3, appendix J).",
            "Kosarak, the first 100,000 users of the file. 20,000 choices of pages.",
            f"The median is {number_of(kosarak, 'expected', '.0f')} clicks. {setting('659')} or more clicks occur in "
            f"{number_of(kosarak, 'at least the printed', '.1%')} ± {number_of(kosarak, 'error', '.1%')} of the choices.",
            f"The contributors were users. Then {number_of(users, 'at least the printed', '.0%')} ± "
            f"{number_of(users, 'error', '.1%')} of the choices have 659 or more.",
        ),
    ]


def corrections(r: Results) -> Sequence[str]:
    """Return the page's corrections after a third reading: wrong text, new text, command and number."""
    phases = r.rows("two-phase", epsilon=0.1, share=0.05, **{"of epsilon": 0.05})[0]
    own = r.rows("which-m-own-p", n=10_000, epsilon=0.001, M=0)[0]
    margin = r.rows("which-m-data", epsilon=0.01, M=0)[0]
    late = r.rows("newcomers", share=0.05, late=0.05)[0]
    return [
        f"| Two phases split the contributors. | They split epsilon, as section 7 says. Our variant is called two groups. | `two-phase`, "
        f"`two-groups` | Share of RR's MSE at epsilon .1, share of ones .05: {number_of(phases, 'better', '.3f')} with {setting('5%')} of "
        f"epsilon first, {number_of(phases, 'one phase, no guess', '.3f')} with one phase |",
        f"| The claims about figures 7 and 8 were refuted, but not explained. | They are explained: the paper's numbers fit a comparison "
        f"with RR at JRR's own p. | `which-m` | RI at epsilon .001, n = 10,000: {number_of(own, 'RI', '.3e')} |",
        f"| M = 5 was taken for granted. | The page lists the M that fit every printed number. It says that Amazon cannot be tested, and that "
        f"Kosarak has two readings. | `which-m`, `data-counts` | Share of RR's MSE on Kosarak at epsilon .01, M = 0 to 2: "
        f"{number_of(margin, 'Kosarak', '.3f')} |",
        f"| `combine_deals([JRR, GRR])` raised an error. | It makes one estimate from dealt contributors and newcomers. | `newcomers` | Share "
        f"of RR's MSE with {setting('5%')} newcomers at epsilon .1, share of ones .05: {number_of(late, 'newcomers', '.3f')} |",
    ]
