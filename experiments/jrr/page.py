"""How docs/papers/jrr.md quotes the results (see `experiments.pages`)."""

from __future__ import annotations

from math import sqrt

from experiments.jrr.paper import DATASETS, EPSILONS, expected
from experiments.pages import Page, Results, number_of, setting, traced

ALG, OPT, QUOTA = "JRR, Algorithm 1", "JRR, optimum", "quota RR"
COMPARED = (ALG, OPT, "report coupling", QUOTA)
OTHERS = "others' data known"
RATIO_ERROR = sqrt(4 / 1000)
"""Relative standard error of a ratio of two means of 1,000 squares of normal errors."""

BASE, KNOWN, DEALER = "all reports, base rate known", "all reports, others' data known", "the dealer colludes"


def _attackers(results: Results) -> list[str]:
    quotes = []
    for epsilon in EPSILONS:
        for adversary in (BASE, KNOWN):
            cells = " | ".join(
                results.number("attackers", adversary, ".3f", epsilon=epsilon, share=0.05, method=name)
                for name in COMPARED
            )
            quotes.append(f"| {setting(epsilon)} | {adversary} | {cells} |")
    cells = " | ".join(
        results.number("attackers", DEALER, ".3f", epsilon=0.1, share=0.05, method=name) for name in COMPARED
    )
    quotes.append(f"| {setting(0.1)} | {DEALER} | {cells} |")
    for epsilon in EPSILONS:
        at = {"epsilon": epsilon, "share": 0.05}
        error = results.number("attackers", "MSE", ".1e", method=OPT, **at)
        leaks = results.number("attackers", KNOWN, ".3f", method=OPT, **at)
        plain = results.number("attackers", "MSE of RR at the 4th", ".1e", method=OPT, **at)
        quota = results.number("attackers", "MSE", ".1e", method=QUOTA, **at)
        quotes.append(f"| {setting(epsilon)} | {error} | {leaks} | {plain} | {quota} |")
    one = {"epsilon": 0.1, "share": 0.05, "method": OPT}
    leaks = results.number("attackers", KNOWN, ".2f", **one)
    ratio = traced(results.value("attackers", "MSE of RR at the 4th", **one) / results.value("attackers", "MSE", **one),
                   ".2f")  # fmt: skip
    quotes.append(f"JRR at a nominal {setting(0.1)} leaks {leaks}, and plain randomised response at {leaks} has "
                  f"{ratio} of JRR's error")  # fmt: skip
    return quotes


def _table_3(results: Results) -> list[str]:
    quotes, shares = [], []
    for data, (n, count) in DATASETS.items():
        for epsilon in EPSILONS:
            ratios = {name: results.value("table-3", "of RR", data=data, epsilon=epsilon, method=name)
                      for name in COMPARED}  # fmt: skip
            shares.append(ratios[QUOTA] / ratios[OPT])
            specs = {ALG: ".3f", OPT: ".3f"}
            cells = " | ".join(traced(value, specs.get(name, ".4f")) for name, value in ratios.items())
            label = f"{data} ({setting(f'{count:,} of {n:,}')})" if epsilon == EPSILONS[0] else data
            quotes.append(f"| {label} | {setting(epsilon)} | {cells} |")
    census, shop = (results.number("table-3", "of RR", ".3f", data=data, epsilon=0.01, method=ALG)
                    for data in ("Census", "E-commerce"))  # fmt: skip
    quotes.append(f"At epsilon .01 Algorithm 1 has {census} of RR's MSE on Census and {shop} on E-commerce")
    least, most = traced(min(shares), ".0%"), traced(max(shares), ".0%")
    quotes.append(f"has {least} to {most} of JRR's least error")
    checks = results.rows("table-3-checks")[0]
    quotes.append(
        f"to {traced(float(checks['largest difference']), '.0e')} in {traced(int(checks['by brute force']), 'd')} cells. "
        f"What was drawn agrees with them: the largest of {traced(int(checks['cells']), 'd')} z is "
        f"{traced(float(checks['largest |z|']), '.2f')}"
    )
    return quotes


def _fig_2(results: Results) -> list[str]:
    below = results.number("fig-2-seeds", "percentiles below RR's", ".0%", data="all")
    never = results.value("fig-2-seeds", "figures with all below", data="all")
    jrr, plain = ({key: results.value("fig-2-80th", key, method=name) for key in ("paper", "5%", "95%", "least")}
                  for name in (ALG, "RR"))  # fmt: skip
    return [
        f"JRR is below RR at {below} of the percentiles, at all of them in "
        f"{traced(200 * never, '.0f')} of the {setting('200')}",
        f"The stated {setting('80')}th percentile of RR for Kosarak, {traced(plain['paper'], '.2f')} at epsilon .1, is one "
        f"of ours ({setting('90%')} of the repetitions: {traced(plain['5%'], '.2f')} to {traced(plain['95%'], '.2f')}). "
        f"JRR's, {traced(jrr['paper'], '.1f')}, is not: {traced(jrr['5%'], '.2f')} to {traced(jrr['95%'], '.2f')}, and "
        f"{traced(jrr['least'], '.2f')} at least",
    ]


def _fig_3(results: Results) -> list[str]:
    labels = {"3a": "figure 3(a), epsilon .01 (ours: n = 40,000)", "3c": "figure 3(c), n = 80,000, epsilon .01",
              "3c-e0.1": "figure 3(c), n = 80,000, epsilon .1"}  # fmt: skip
    quotes = []
    for panel, label in labels.items():
        for share in (0.01, 0.1, 1.0):
            quotes.append(
                f"| {label if share == 0.01 else ''} | {setting(share)} | {_claim(results, f'{panel}-{share:g}')} |"
            )
    quotes.append(f"| figure 4(a), n = 200,000, epsilon .01 | {setting(1)} | {_claim(results, '4a')} |")
    first, second, third = (
        {key: results.value("fig-3-stated", key, id=name) for key in ("paper", "exact", "z of the paper", "of RR")}
        for name in ("3c-mse-0.1", "3c-mse-0.01", "4c-difference")
    )
    slip = next(claim["paper"] for claim in expected()["claims"] if claim["id"] == "3c-74.1")
    quotes.append(
        f"Two errors are stated as such, {traced(first['paper'], '.1e')} and {traced(second['paper'], '.1e')} (n = 80,000, "
        f"share {setting(1)}, epsilon .1 and .01): exact {traced(first['exact'], '.1e')} and "
        f"{traced(second['exact'], '.1e')}, which is {traced(first['z of the paper'], '.1f')} and "
        f"{traced(second['z of the paper'], '.1f')} standard errors away. The sentence that the first is "
        f'"{traced(slip, ".1%")}" of RR\'s is a slip: it is {traced(first["of RR"], ".1%")}'
    )
    quotes.append(f"is true: {results.number('fig-3-claims', 'Algorithm 1', '.4f', id='4a')}.")
    quotes.append(
        f"the paper has JRR's MSE {traced(third['paper'], '.1e')} below RR's; exact {traced(third['exact'], '.1e')}, "
        f"{traced(abs(third['z of the paper']), '.1f')} standard errors away"
    )
    claims = {row["id"]: (float(row["paper"]), float(row["Algorithm 1"])) for row in results.rows("fig-3-claims")}
    z = {name: (paper / exact - 1) / RATIO_ERROR for name, (paper, exact) in claims.items()}
    stated = [f"{traced(claims[name][0], '.3f')} ({traced(z[name], '.1f')})" for name in ("3a-0.01", "3c-0.01")]
    quotes += [
        f"All {traced(len(z), 'd')} are within {traced(max(map(abs, z.values())), '.1f')} of them",
        f"The stated {stated[0]} and {stated[1]} are one exact {traced(claims['3c-0.01'][1], '.4f')}",
        f"the root of the ratios above, {traced(sqrt(claims['4a'][1]), '.2f')} at best",
    ]
    return quotes


def _claim(results: Results, name: str) -> str:
    columns = {"paper": ".3f", "Algorithm 1": ".4f", "optimum": ".4f", QUOTA: ".4f"}
    return " | ".join(results.number("fig-3-claims", column, spec, id=name) for column, spec in columns.items())


def _does_not(results: Results) -> list[str]:
    kosarak, amazon, shop = (results.rows("data-counts", data=name)[0] for name in ("Kosarak", "Amazon", "E-commerce"))
    worse, better = (
        [results.number("fig-5-thresholds", column, ".0f", epsilon=epsilon) for epsilon in EPSILONS]
        for column in ("Algorithm 1 worse from M", "optimum better to M")
    )
    excess = [
        results.value("fig-7", "RI", method=ALG, n=10_000, epsilon=epsilon) for epsilon in (0.001, 0.01, 0.1, 1.0)
    ]
    wide = [results.number("fig-8", "R", ".0%", method=ALG, n=1_000, epsilon=epsilon) for epsilon in EPSILONS]
    stated = {claim["id"]: claim["paper"] for claim in expected()["claims"]}
    return [
        f"Then {number_of(kosarak, 'expected', '.0f')} clicks fall on the pages in the median of {setting('20,000')} "
        f"choices, between {number_of(kosarak, '5%', '.0f')} and {number_of(kosarak, '95%', '.0f')} in {setting('90%')} of "
        f"them; the {number_of(kosarak, 'printed', '.0f')} of Table 3 or more have "
        f"{number_of(kosarak, 'at least the printed', '.1%')}",
        f'{number_of(amazon, "share", ".2%")} of all {setting("2,023,070")} ratings of "Beauty" are one star (by their published counts), so that '
        f"{setting('10,000')} customers have {number_of(amazon, 'expected', '.0f')} such ratings. "
        f"{number_of(amazon, 'printed', '.0f')} is {traced(-float(amazon['z']), '.1f')} standard errors below",
        f"E-commerce has the {number_of(shop, 'expected', ',.0f')} ones of Table 3",
        f"Algorithm 1 is worse than RR from M = {worse[0]} (epsilon .01), {worse[1]} ({setting(0.1)}) and {worse[2]} "
        f"({setting(1)}) on",
        f"The optimum helps up to M = {better[0]}, {better[1]} and {better[2]}, and beyond",
        f'"RI is below {traced(stated["7-RI"], ".0e")} even at epsilon .001" (figure 7). It is {traced(excess[0], ".1f")}, '
        f"{traced(excess[1], '.3f')}, {traced(excess[2], '.4f')} and {traced(excess[3], '.4f')} at epsilon",
        f"at n = 5,000 it is {results.number('fig-8', 'RI', '.4f', method=ALG, n=5_000, epsilon=0.1)} at epsilon .1, not "
        f"{traced(stated['8-RI'], '.1e')}",
        f'"R is below {traced(stated["8-R"], ".0%")} at n = 1,000, and does not depend on epsilon". {wide[0]}, {wide[1]} '
        f"and {wide[2]} at epsilon",
    ]


def _open(results: Results) -> list[str]:
    sizes = (2, 4, 20, 100)
    errors = [results.number("groups", "of RR", ".2f", epsilon=1, group=size) for size in sizes]
    known = [results.number("groups", "others' data known", ".2f", epsilon=1, group=size) for size in sizes]
    small = {column: results.value("groups", column, epsilon=0.1, group=4)
             for column in ("of RR", OTHERS, "RR at that epsilon")}  # fmt: skip
    quota = [results.number("groups", "of RR", ".3f", epsilon=epsilon, group=QUOTA) for epsilon in (1, 0.1)]
    assert known[3] == traced(float("inf"), ".2f")

    def shuffled(column: str, method: str, epsilon: float) -> str:
        return results.number("shuffle", column, ".4f", method=method, epsilon=epsilon)

    def three(epsilon: float) -> list[str]:
        return [shuffled("shuffled", "RR", epsilon), shuffled("shuffled", OPT, epsilon),
                shuffled("that RR, shuffled", OPT, epsilon)]  # fmt: skip

    tenth, one, hundredth = three(0.1), three(1), three(0.01)
    same = results.number("shuffle", "RR of the same error", ".3f", method=OPT, epsilon=0.1)

    def mean(method: str, values: str, spec: str, epsilon: float = 0.1, column: str = "of RR") -> str:
        return results.number("means", column, spec, method=method, values=values, epsilon=epsilon)

    phases = "two phases, 5% first"
    return [
        f"At epsilon 1 and a share of {setting(0.05)}, groups of {setting('2, 4, 20 and 100')} have {errors[0]}, {errors[1]}, "
        f"{errors[2]} and {errors[3]} of RR's MSE; the adversary who knows the others' data then has {known[0]}, {known[1]}, "
        f"{known[2]} and, where the number of truths happens to be fixed, infinity. RR at {known[1]} has "
        f"{results.number('groups', 'RR at that epsilon', '.2f', epsilon=1, group=4)}. So",
        f"At {setting(0.1)} they are not: {traced(small['of RR'], '.2f')} for {traced(small[OTHERS], '.3f')}, where RR has "
        f"{traced(small['RR at that epsilon'], '.2f')}",
        f"and has {quota[0]} and {quota[1]} at the stated epsilon",
        f"RR at {setting(0.1)} behind a shuffler leaks {tenth[0]}; JRR's optimum {tenth[1]}; and RR with the same error as "
        f"JRR (epsilon {same}) {tenth[2]}. At epsilon 1 they are {one[0]}, {one[1]} and {one[2]}, at {setting(0.01)} "
        f"{hundredth[0]}, {hundredth[1]} and {hundredth[2]}",
        f"the optimum has {mean(OPT, 'all at .05', '.2f')} of RR's MSE if all numbers are {setting(0.05)}, and "
        f"{mean(OPT, 'uniform on [0, 1]', '.2f')} if they are uniform on {setting('[0, 1]')}, where the mean is one half. "
        f"Quota RR has {mean(QUOTA, 'all at .05', '.3f')} and {mean(QUOTA, 'uniform on [0, 1]', '.3f')}",
        f"which makes up {mean(QUOTA, 'all at .05', '.0%', 1, 'share of rounding')} of quota RR's MSE at epsilon 1 and "
        f"{mean('RR', 'all at .05', '.0%', 1, 'share of rounding')} of RR's",
        f"({results.number('two-phase', phases, '.2f', share=0.05)} of RR's MSE at a share of {setting(0.05)}, where the "
        f"optimum in one phase has {results.number('two-phase', OPT, '.2f', share=0.05)} and Algorithm 1 "
        f"{results.number('two-phase', ALG, '.2f', share=0.05)}) and loses nothing at one half "
        f"({results.number('two-phase', phases, '.2f', share=0.5)}, standard error "
        f"{results.number('two-phase', 'error of 5%', '.2f', share=0.5)})",
        f"quota RR in one phase has {results.number('two-phase', QUOTA, '.3f', share=0.05)} there",
    ]


PAGE = Page(
    "jrr",
    (_attackers, _table_3, _fig_2, _fig_3, _does_not, _open),
    stated={
        "1,000 deals per point": "the default of --runs, as in the paper's section 5.1",
        '"RI below 1e-4", "R below 3%"': "the paper, section 5.3.5",
        "even for all n-1 of them": "docs/theory/quota_rr.md",
        "unless the base rate is 1/2": "docs/theory/jrr.md, proof of the row with a known base rate",
        "infinite (delta = 0) at the extreme": "docs/theory/jrr.md",
        "(MSE of the count, same n, 5% ones; exact)": "a setting",
        "from a nominal epsilon of about .21 on": "docs/theory/jrr.md, section on honest numbers",
        "share of ones .05": "a setting",
        "share of ones .1;": "a setting",
        "share of ones 1/2": "a setting",
        "share .05": "a setting",
        "At a share of .1 and": "a setting",
        "a share of 1 and epsilon": "a setting",
        "Kosarak has 659 clicks a little more often, and one of its 200 figures": "results/jrr/seeds.csv",
        "two samples of 1,000": "a setting",
        "over 200 repetitions": "a setting, `SEEDS` of fig-2",
        "over 1,000 deals": "a setting",
        "hold 90% of 200 repetitions": "a setting",
        "1,000 deals per mark": "a setting",
        "marks 1,000 deals each": "a setting",
        "marks 1,000 collections each": "a setting",
        "mean of 1,000 squared errors has a standard error of 4.5%, and a ratio of two such means 6.3%": "sqrt(2/1000), and sqrt(2) times that",
        "as the paper's own 90.9% says": "the paper, section 5.3.1",
        "40,000 stands for it": "`FIRST_PANEL` of sweeps.py",
        "from 200,000 on": "Theorem 3: from there on (p, rho) do not change",
        "100 random pages and 20,000 random clicks": "the paper, appendix J",
        "first 100,000 of the file's users": "the data set",
        "From 25,000 contributors on": "M (pi/p - 1)^-1 (1/p - 1): where Algorithm 1 reaches its end at epsilon .01",
        '"ARE by over 70%"': "the paper, section 5.3.2",
        '"always less than 1e-4"': "the paper, section 5.3.5",
        '"97% of the possible frequencies"': "the paper, section 1: 1 less R",
        "epsilon .01, .1 and 1.": "a setting",
        "the step of 1e-4 in p": "the paper, Table 4",
        "2 <= m < n - 1": "docs/theory/jrr.md",
        "near a frequency of 1/k": "docs/theory/coupling.md",
        "false near 1/k": "docs/theory/coupling.md",
        "Groups of 2 to 100": "a setting",
        "A number in [0, 1]": "a setting",
        "RR on 5% of the contributors": "a setting",
        "(n = 10,000, share .05, delta 1e-6)": "a setting",
        ".72 and .89, as printed": "the paper, (6) and (11); `second.variance`",
        "all groupings, n to 6, rational": "the tests",
    },
    pictures={
        "jrr-attackers.png": "attackers.png",
        "jrr-datasets.png": "table-3.png",
        "jrr-percentiles.png": "fig-2.png",
        "jrr-epsilon.png": "fig-3.png",
        "jrr-contributors.png": "fig-4.png",
        "jrr-shares.png": "fig-6.png",
        "jrr-colluders.png": "fig-5.png",
        "jrr-underperformance-epsilon.png": "fig-7.png",
        "jrr-underperformance.png": "fig-8.png",
        "jrr-groups.png": "groups.png",
        "jrr-two-phase.png": "two-phase.png",
    },
)
