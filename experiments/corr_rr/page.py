"""How docs/papers/corr_rr.md quotes the results of these experiments (see `experiments.pages`)."""

from __future__ import annotations

import math
from statistics import median

from experiments.pages import Page, Results, number_of, setting, traced

CLIPPED = "RS+RFD clipped"
KINDS = {"equal_marginals": "equal marginals", "as_described": "as described"}


def _agreement(r: Results) -> list[str]:
    def of(kind: str, method: str, column: str, spec: str) -> str:
        return r.number("agreement-summary", column, spec, data=kind, method=method)

    quotes = []
    for kind, words in KINDS.items():
        for method, shown in (("RS+RFD", "RS+RFD, clipped"), ("Corr-RR", "Corr-RR")):
            beyond = of(kind, method, "|z| > 3", ".0f")
            beyond = f"**{beyond}**" if (kind, method) == ("as_described", "Corr-RR") else beyond
            mean, most = (
                of(kind, method, column, spec) for column, spec in (("ours/paper", ".2f"), ("largest", ".1f"))
            )
            quotes.append(f"| {words} | {shown} | {beyond} | {of(kind, method, 'chi2/cell', '.2f')} | {mean}, {most} |")
    wrong = sum(
        r.value("agreement-summary", "|z| > 3", data="equal_marginals", method=m) for m in ("RS+RFD", "Corr-RR")
    )
    described = of("as_described", "Corr-RR", "|z| > 3", ".0f")
    quotes.append(f"On data with uniform marginals {traced(360 - wrong, '.0f')} of the {setting('360')} cells")
    quotes.append(
        f"{described} of the {setting('180')} Corr-RR cells do not, by up to a factor of "
        f"{of('as_described', 'Corr-RR', 'largest', '.1f')}"
    )
    largest = sorted((abs(float(row["z"])) for row in r.rows("agreement-beyond")), reverse=True)
    quotes.append(f"The cells of equal marginals beyond {setting('3')} have {traced(largest[0], '.1f')} at most")
    least, most = (r.number("agreement-unclipped", column, ".0f") for column in ("least", "most"))
    quotes.append(f"the raw estimates have {least} to {most} times the printed error")
    third = r.number("agreement-summary", "|z| > 3", ".0f", data="shared_marginals", method="Corr-RR")
    quotes.append(f"has the correlations too, but {third} Corr-RR cells of Tables 4 to 9 disagree")
    return quotes


def _listed(values: list[float], spec: str) -> str:
    words = [traced(value, spec) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _table_2(r: Results) -> list[str]:
    def worst(source: str) -> list[float]:
        return [abs(float(row["z"])) for row in r.rows("table-2", source=source)]

    equal, described = worst("equal_marginals"), worst("as_described")
    first = [
        r.number("table-2", "exact", ".2f", source="as_described", data="SynA", rho=rho, pair="X1 X2")
        for rho in (0.1, 0.5, 0.9)
    ]
    path = sorted(
        {row["paper"] for row in r.rows("table-2", source="equal_marginals", data="SynB", rho=0.9)}, reverse=True
    )
    return [
        f"all {traced(sum(z <= 3 for z in equal), 'd')} agree (largest z {traced(max(equal), '.1f')})",
        f"they would be {first[0]}, {first[1]} and {first[2]} for rho = .1, .5 and .9; "
        f"{traced(sum(z > 3 for z in described), 'd')} of {setting('36')} disagree",
        f"products of it along paths ({', '.join(traced(round(float(one), 2), '.2g') for one in path[:1])}",
    ]


def _real_data(r: Results) -> list[str]:
    def correlations(data: str) -> list[str]:
        return [
            traced(float(value), spec)
            for value, spec in zip(
                r.text("real-data", "correlations", data=data).split(" to "), _SPECS[data], strict=True
            )
        ]

    clave, mushroom, adult, nursery = (correlations(name) for name in ("Clave", "Mushroom", "Adult", "Nursery"))
    printed = {name: r.text("real-data", "printed", data=name).split(" to ") for name in _SPECS}
    shown = {
        name: [traced(float(value), ".3g" if name != "Adult" else ".2f") for value in values]
        for name, values in printed.items()
    }
    rows = {float(row["epsilon"]): row for row in r.rows("statements-real", data="Mushroom")}
    ratios = [
        f"{number_of(row, 'Corr-RR over RS+RFD', '.2f')} +- {number_of(row, 'two standard errors', '.2f')}"
        for row in rows.values()
    ]
    places = {
        name: [int(float(row["place"])) for row in r.rows("statements-real", data=name)]
        for name in ("Clave", "Mushroom", "Adult")
    }
    assert all(found[4] == 4 for found in places.values()), "the page says: last of four at epsilon .5 on all three"
    assert all(found[:3] == [1, 1, 1] for found in (places["Clave"], places["Adult"])), "the page says: first up to .3"
    return [
        f"({clave[0]} for {shown['Clave'][0]}, {mushroom[0]} for {shown['Mushroom'][0]}, {adult[0]} to {adult[1]} for "
        f"{shown['Adult'][0]} to {shown['Adult'][1]})",
        f"is {', '.join(ratios[:4])} and {ratios[4]} at epsilon .1 to .5",
        f"| preprint, Table I | Nursery: {traced(-0.07, '.2f')} to {traced(0.05, '.2f')} | Clave's range; here {nursery[0]} to {nursery[1]} |",
    ]


_SPECS = {"Clave": (".3f", ".3f"), "Mushroom": (".3f", ".3f"), "Adult": (".2f", ".2f"), "Nursery": (".3f", ".3f")}


def _errors(r: Results) -> list[str]:
    def of(method: str, spec: str = ".1e") -> str:
        return r.number("statements-methods", "mse", spec, method=method)

    def bias(d: int, rho: float) -> str:
        return r.number("statements-bias", "squared bias", ".0e" if rho == 0.9 else ".1e", d=d, rho=rho)

    def at(source: str, rho: float, column: str, spec: str = ".1e") -> str:
        return r.number("statements-rho", column, spec, source=source, rho=rho)

    least, most = (
        r.number("statements-ranges", column, ".1f", what="SMP over the best baseline, as described, epsilon .5")
        for column in ("least", "most")
    )
    truth, learned = of("RS+RFD, true priors"), of(CLIPPED)
    uniform = r.value("statements-ranges", "least", what="Corr-RR over 1/k, equal marginals")
    assert uniform > 40, "the page says: more than forty times as accurate"
    described = "as_described"
    return [
        f"At epsilon .5, on the described data, it has {least} to {most} times the error of the best of them",
        f"with the *true* frequencies as priors its error is {truth} where learned priors have {learned}",
        f"with it as prior RS+RFD's error is {truth} where priors learned from a tenth of the contributors give {learned}",
        f"Corr-RR has {of('Corr-RR')}, RS+RFD {learned}, RS+FD {of('RS+FD')}, SPL {of('SPL')}, `SMP` {of('SMP')}; printed is "
        f"{of('Corr-RR, printed')}. With *exactly* known marginals the squared bias alone is {bias(2, 0.1)}",
        f"As described it *rises* from {at(described, 0.1, 'Corr-RR')} at rho {setting('.1')} to "
        f"{at(described, 0.9, 'Corr-RR')} at {setting('.9')} (d = 4, epsilon .5)",
        f"(squared bias {bias(4, 0.1)} at rho {setting('.1')}, {bias(4, 0.9)} at {setting('.9')})",
        f"The decoded default falls from {at(described, 0.1, 'default, decoded')} to "
        f"{at(described, 0.9, 'default, decoded', '.0e')}",
        f"there 1/k has an error of {at('equal_marginals', 0.1, 'uniform', '.0e')}",
    ]


# ------------------------------------------------------------------------------------------------------------ variants

_SETTINGS = ("rho .1", "rho .9", "rho .9, epsilon 3", "equal marginals", "Adult", "Mushroom 9, epsilon 3")
_VARIANTS = {
    "Corr-RR": "Corr-RR",
    "its indices as Algorithm 1 prints them": "Corr-RR as printed",
    "joint optimum of P": "Corr-RR joint",
    "four rounds of refinement": "Corr-RR, four rounds",
    "groups, as many as expected to be best": "Corr-RR groups",
    "two pivots, unbiased": "two pivots unmixed",
    "default": "default",
}


def _variants(r: Results) -> list[str]:
    def cell(place: str, method: str, column: str = "mean", post: str = "simplex") -> str:
        if not r.rows("variants-quantiles", setting=place, method=method, post=post):
            return "too large"
        return r.number("variants-quantiles", column, ".1e", setting=place, method=method, post=post)

    quotes = [
        f"| {words} | {' | '.join(cell(place, method) for place in _SETTINGS)} |" for words, method in _VARIANTS.items()
    ]
    for words, method in (("unbiased", "Cond-RR"), ("levelled", "Cond-RR levelled")):
        cells = [
            f"{cell(place, method, '50%')} ({cell(place, method, '10%')} to {cell(place, method, '90%')})"
            for place in _SETTINGS
        ]
        quotes.append(f"| Cond-RR, {words}: median ({setting('10%')} to {setting('90%')}) | {' | '.join(cells)} |")
    decoded = [cell(place, "default", post="hierarchical") for place in _SETTINGS]
    quotes.append(f"| default, decoded | {' | '.join(f'**{one}**' for one in decoded)} |")
    quotes.append(f"is decided by a few runs (Adult: {cell('Adult', 'Cond-RR')}, and")
    return quotes


# ------------------------------------------------------------------------------------------------------------- decoder


def _beside(r: Results) -> list[str]:
    quotes = []
    kinds = {"as described": "as_described", "equal marginals": "equal_marginals", "Clave, Mushroom, Adult": "real"}
    for words, kind in kinds.items():
        (one,) = r.rows("statements-beside", cells=kind)
        quotes.append(
            f"| {words}, {number_of(one, 'number', '.0f')} | {number_of(one, 'Corr-RR best', '.0f')} | "
            f"{number_of(one, 'SMP better', '.0f')}, {number_of(one, 'SMP ratio', '.2f')} | "
            f"{number_of(one, 'default better', '.0f')}, {number_of(one, 'default ratio', '.2f')}, "
            f"{number_of(one, 'default largest', '.2f')} |"
        )
    (one,) = r.rows("statements-beside", cells="preprint")
    quotes.append(
        f"In {number_of(one, 'number', '.0f')} cells of the preprint's figures, epsilon 1 to 5, the default is better in "
        f"{number_of(one, 'default better', '.0f')}; it loses by up to {number_of(one, 'default largest', '.1f')}"
    )
    return quotes


def _held_out(r: Results) -> list[str]:
    def summary(family: str, kind: str, bold: bool = False) -> str:
        (one,) = r.rows("held-out-summary", settings_of=family, report=kind)
        middle = [number_of(one, column, ".2f") for column in ("median", "geometric mean")]
        middle = [f"**{value}**" for value in middle] if bold else middle
        best = number_of(one, "best", ".2g")
        return f"{best} | {' | '.join(middle)} | {number_of(one, 'worst', '.2f')} | {number_of(one, 'above 1.05', '.0f')} |"

    cells = r.rows("held-out")
    ratio, error, other, spread = (
        [float(one[c]) for one in cells] for c in ("ratio", "error", "any ratio", "any error")
    )
    sure = [value for value, e in zip(ratio, error, strict=True) if value - 2 * e > 1]
    lost = sorted(value for value in ratio if value > 1.05)
    any_lost = [(value, e) for value, e in zip(other, spread, strict=True) if value > 1.05]
    any_sure = sorted((value for value, e in any_lost if value - 2 * e > 1), reverse=True)
    any_not = sorted(value for value, e in any_lost if value - 2 * e <= 1)
    relative, any_relative = (
        sorted(e / v for e, v in zip(es, vs, strict=True)) for es, vs in ((error, ratio), (spread, other))
    )
    place = len(cells) * 19 // 20
    bands = ((0, 0.3), (0.3, 1), (1, 2), (2, math.inf))
    middle = [
        [median(float(one[c]) for one in cells if low < float(one["epsilon"]) <= high) for c in ("ratio", "any ratio")]
        for low, high in ((bands[0][0], 0.299), (0.299, 1), (1, 2), (2, math.inf))
    ]
    shown = [f"{traced(a, '.2f')} and {traced(b, '.2f')}" for a, b in middle]
    quotes = [
        f"| drawn, {setting('100')} | full record | {summary('synthetic', 'full record')}",
        f"| real data, {setting('49')} | full record | {summary('real data', 'full record')}",
        f"| all {setting('149')} | full record | {summary('all', 'full record', bold=True)}",
        f"| all {setting('149')} | any, best oracle per attribute | {summary('all', 'any', bold=True)}",
        f"is {traced(median(relative), '.1%')} in the median setting, below {traced(relative[place], '.1%')} in "
        f"{setting('95%')} of them ({traced(median(any_relative), '.1%')} and {traced(any_relative[place], '.1%')} for",
        f"{shown[0]} below .3; {shown[1].replace(' and ', ' and ')} up to {setting('1')}; {shown[2]} up to {setting('2')}; "
        f"{shown[3]} beyond",
        f"{traced(len(sure), 'd')} of {setting('149')} are above {setting('1')} by more than two standard errors",
        f"the others by {traced(max(value for value in sure if value not in lost) - 1, '.0%')} at most",
        f"({traced(any_sure[0], '.2f')} at most), and",
        f"are not ({traced(any_not[0], '.2f')} to {traced(any_not[-1], '.2f')})",
    ]
    for one in sorted((one for one in cells if float(one["ratio"]) > 1.05), key=lambda one: -float(one["ratio"])):
        people = setting(f"{int(float(one['people'])):,}")
        quotes.append(
            f"| {people} | {setting(float(one['epsilon']))} | {number_of(one, 'ratio', '.2f')} ({number_of(one, 'error', '.2f')}) |"
        )
    return quotes


def _chosen_on(r: Results) -> list[str]:
    def middle(family: str, kind: str) -> str:
        return r.number("decoder-summary", "median", ".2f", settings_of=family, report=kind)

    total = r.number("decoder-summary", "settings", ".0f", settings_of="all", report="full record")
    worst = r.number("decoder-summary", "worst", ".1f", settings_of="all", report="full record")
    return [
        f"{total} settings of the papers' tables and figures",
        f"median {middle('all', 'full record')} with a full record, {middle('all', 'any')} with any report",
        f"The worst, up to {worst}, are",
        f"{middle('second version', 'full record')} on the paper's own settings, {middle('first version', 'full record')} "
        f"on the preprint's, {middle('real data', 'full record')} on the data sets",
    ]


def _large(r: Results) -> list[str]:
    quotes = []
    for k in (16, 64, 256):
        plain, first, now = (
            r.rows("large-k-summary", settings_with=kind, k=k, version=version)[0]
            for kind, version in (
                ("no dominant category", "present"),
                ("a dominant category", "first"),
                ("a dominant category", "present"),
            )
        )
        cells = [
            f"{number_of(one, 'geometric mean', '.2f')}, {number_of(one, 'worst', '.2f')}"
            for one in (plain, first, now)
        ]
        cells[2] = f"**{cells[2]}**" if k == 256 else cells[2]
        quotes.append(f"| {setting(k)} | {' | '.join(cells)} |")
    for people in (2_000, 200_000):
        means = [r.value("large-k-noise", "geometric mean", people=people, k=k) for k in (16, 64, 256)]
        quotes.append(f"at n = {people:,}{' over four attributes' if people == 2_000 else ''} {_listed(means, '.2f')}")
    hard = [float(row["ratio"]) for row in r.rows("large-k-lost", k=256, epsilon=0.5) if row["source"] == "spike"]
    quotes.append(f"({traced(min(hard), '.1f')} to {traced(max(hard), '.1f')})")
    (worse,) = r.rows("large-k-lost", k=16, people=2_000, share=0.997, epsilon=4)
    quotes.append(f"epsilon 4: {number_of(worse, 'ratio', '.2f')}, before {number_of(worse, 'first ratio', '.2f')}")
    return quotes


def _coverage(r: Results) -> list[str]:
    rows = r.rows("coverage")
    quotes = []
    for target, words in (("contributors", "for these contributors"), ("population", "for the population")):
        found = [float(one[target]) for one in rows]
        assert all(abs(v - 0.95) <= 3 * float(one[f"{target} error"]) for v, one in zip(found, rows, strict=True))
        quotes.append(f"{words} ({traced(min(found), '.3f')} to {traced(max(found), '.3f')})")
    return [f"in {traced(len(rows), 'd')} settings (n =", *quotes]


# -------------------------------------------------------------------------------------------------------------- claims

_DATA = ("with equal marginals", "as described")


def _ratio(r: Results, figures: str, claim: str, data: str) -> str:
    """Return the ratios of a claim in one or two figures; their range where a claim is about several cells."""
    found = []
    for figure in figures.split():
        low, high = (
            r.value("claims", column, figure=figure, claim=claim, data=data) for column in ("smallest", "largest")
        )
        spec = ".2f" if high < 1.1 else ".1f"
        found.append(traced(low, spec) if low == high else f"{traced(low, spec)} to {traced(high, spec)}")
    return ", ".join(found)


def _cells(r: Results, figures: str, claim: str, data: str) -> tuple[int, int]:
    held = [r.text("claims", "holds", figure=figure, claim=claim, data=data).split("/") for figure in figures.split()]
    return sum(int(one) for one, _ in held), sum(int(all_) for _, all_ in held)


def _claims(r: Results) -> list[str]:
    def both(figures: str, claim: str) -> tuple[str, str]:
        equal, described = (_ratio(r, figures, claim, data) for data in _DATA)
        return equal, described

    best = "Corr-RR best everywhere"
    every = "figure-3 figure-4 figure-5 figure-6 figure-9 figure-10 figure-13 figure-14"
    (equal_held, equal_all), (held, cells) = (_cells(r, every, best, data) for data in _DATA)
    a, b = both("figure-3 figure-4", "70% below SPL")
    half, described_half = both("figure-5 figure-6", "half of RS+RFD")
    quarter, described_quarter = both("figure-5 figure-6", "a quarter of SPL")
    below, described_below = both("figure-7 figure-8", "60% below the best baseline")
    about, described_about = both("figure-7 figure-8", "about half of it")
    worse, described_worse = both("figure-7 figure-8", "worse than RS+RFD")
    falls, rises = both("figure-7 figure-8", "falls with rho")
    rfd, described_rfd = both("figure-9 figure-10", "40% below RS+RFD")
    third, described_third = both("figure-9 figure-10", "a third of SPL")
    quotes = [
        f"{traced(equal_held, 'd')} of {traced(equal_all, 'd')} cells | {traced(held, 'd')} of {traced(cells, 'd')} |",
        f"epsilon .1 | {a}: yes | {b}: yes |",
        f"at d = 6, epsilon .1 | {half} and {quarter}: yes | {described_half}: no; {described_quarter}: yes |",
        f"below the best of the others at d = 4, rho .9 | {below}: yes | {described_below}: no |",
        f"about half of it at rho .1 | {about}: better | {described_about}: yes |",
        f"worse than RS+RFD at d = 2, rho .1 | {worse}: no | {described_worse}: yes |",
        f"falls as rho rises | {falls} of it: no | rises to {rises} times: no |",
        f"a third of SPL | {rfd} and {third}: yes | {described_rfd} and {described_third}: partly |",
    ]
    for start, figure, claim in (
        ("rho .9, epsilon 1", "v1-figure-4", "60% below SPL"),
        ("binary, a third of SPL or less at epsilon 1", "v1-figure-8", "a third of SPL or less"),
        ("80% below SPL at d = 6, epsilon 1", "v1-figure-10", "80% below SPL"),
        ("half of SPL at epsilon 5", "v1-figure-11", "half of SPL at epsilon 5"),
    ):
        equal, described = both(figure, claim)
        yes = ": yes" if figure == "v1-figure-10" else ""
        quotes.append(f"{start} | {equal}: yes | {described}{yes} |")
    seven = [_ratio(r, "v1-figure-7", "90% below SPL", data) for data in _DATA]
    wins = [_cells(r, "v1-figure-7", best, data) for data in _DATA]
    shown = [
        f"{ratio}; {traced(won, 'd')} of {traced(all_, 'd')}" for ratio, (won, all_) in zip(seven, wins, strict=True)
    ]
    quotes.append(f"best everywhere | {shown[0]} | {shown[1]} |")
    nine = [
        [_ratio(r, "v1-figure-9", claim, data) for claim in ("a fifth of RS+FD at best", "60% below SPL")]
        for data in _DATA
    ]
    quotes.append(f"at d = 6, epsilon 1 | {nine[0][0]}, {nine[0][1]}: yes | {nine[1][0]}, {nine[1][1]} |")
    eleven = [
        [_ratio(r, "v1-figure-11", claim, data) for claim in ("60% below RS+RFD", "a third of SPL")] for data in _DATA
    ]
    quotes.append(
        f"a third of SPL at epsilon 1 | {eleven[0][0]}, {eleven[0][1]}: yes | {eleven[1][0]}, {eleven[1][1]}: partly |"
    )
    trends = (
        "falls by 40% from rho .5 to .9",
        "falls by half from rho .1 to .9, epsilon 3",
        "falls by half from rho .1 to .9, epsilon 5",
    )
    thirteen = [[_ratio(r, "v1-figure-13", claim, data) for claim in trends] for data in _DATA]
    quotes.append(f"epsilon 1, 3, 5 | {', '.join(thirteen[0])} of it: no | {', '.join(thirteen[1])} times: no |")
    clave, adult = (_cells(r, "figure-11", f"best on {name}", "real") for name in ("Clave", "Adult"))
    assert clave == adult, "the page says: at so many of five, both"
    quotes.append(f"best of four at every epsilon | at {traced(clave[0], 'd')} of {traced(clave[1], 'd')}, both |")
    won, of = _cells(r, "v1-figure-14", "best on Clave", "real")
    fifth = _ratio(r, "v1-figure-14", "Clave: a fifth of SPL", "real")
    quotes.append(
        f"best everywhere | {fifth}; {traced(won, 'd')} of {traced(of, 'd')}: its marginals are nearly uniform |"
    )
    nursery = [
        _ratio(r, "v1-figure-14", f"Nursery: {claim}", "real")
        for claim in ("70% below RS+FD", "70% below RS+RFD", "as SPL at epsilon 5")
    ]
    quotes.append(f"| {nursery[0]} and {nursery[1]}; ")
    quotes.append(f"only, {nursery[2]} times SPL at 5 |")
    mushroom = [
        _ratio(r, "v1-figure-14", f"Mushroom: {claim}", "real") for claim in ("80% below SPL", "60% below RS+FD")
    ]
    quotes.append(f"at epsilon 1 | {mushroom[0]}; {mushroom[1]} |")
    return quotes


PAGE = Page(
    name="corr_rr",
    parts=(
        *(_agreement, _table_2, _real_data, _errors, _claims, _beside, _variants, _held_out, _chosen_on, _large),
        _coverage,
    ),
    stated={
        "250 runs per cell": "a setting",
        "rho = .1, k = 4": "a setting",
        "rho = .1, n = 20,000": "a setting",
        "100 runs": "a setting",
        "at d = 2, rho = .1": "a setting",
        "n1 up to 20": "a setting",
        "30 runs per cell": "a setting",
        "here (100 runs; preprint 200)": "a setting",
        "(30 runs; real data 100)": "a setting",
        "40 runs": "a setting",
        "at rho .1": "a setting",
        "at rho .9": "a setting",
        "rho .9, epsilon 1": "a setting",
        "rho .9, epsilon .1": "a setting",
        "at d = 4, rho .9": "a setting",
        "d = 2, rho .1": "a setting",
        "described, rho .1": "a setting",
        "described, rho .9": "a setting",
        "rho .9, epsilon 3": "a setting",
        "for rho = .1, .5 and .9": "a setting",
        "2,000 free frequencies and 40 collections": "a setting",
        "dotted: 1.05": "a line of the picture",
        "20 runs": "a setting",
        "400 runs": "a setting",
        "(here 10%)": "a setting",
        "of 180": "a setting",
        "chain at rho = .1 and .5 and another tree at .9": "a setting",
        "products of it along paths (.9, .81, .73)": "the paper, section 4.2.3",
        "X_1 from (.4, .3, .2, .1)": "the paper, section 4.2.3",
        "means of 100 runs": "the paper prints means of 100 repetitions",
        "n1 = 10: printed .0555": "the paper, Tables 4 and 7",
        "prints .0669": "the paper, Tables 4 and 7",
        "abs(z) > 3": "the limit that `agreement` counts from",
        "saying 1/k": "the words of a bound",
        "there 1/k has": "the words of a bound",
        "clipped to [0, 1]": "the words of a bound",
        "A ratio below 1 is": "the words of a bound",
        "above 1.05": "the words of a bound",
        "the 95% intervals": "the words of a bound",
        "Share of 95% intervals": "the words of a bound",
        "within three standard errors of .95": "the words of a bound",
        "X_1 uniform": "the words of a bound",
        "behind from .3 on": "the settings in which figure 11's ratios lie; the places are asserted",
        "ahead at .2 (undecided at the other seed), undecided at .1": "the settings in which figure 11's ratios lie; the places are asserted",
        "Beyond .3,": "the settings in which figure 11's ratios lie; the places are asserted",
        "from epsilon .3 on, not at .2": "the settings in which figure 11's ratios lie; the places are asserted",
        "up to epsilon .3": "the settings in which figure 11's ratios lie; the places are asserted",
        "(10,800) and Mushroom (8,124), 10,000 of Adult": "the data sets' sizes",
        "all rows (10,800, 12,960 and 8,124)": "the data sets' sizes",
        "which 10,000 of its rows": "the data sets' sizes",
        "5-10% as printed": "the paper, section 4.3",
        "70% below SPL": "the paper, section 4.3",
        "60% below the best": "the paper, section 4.3",
        "40% below RS+RFD": "the paper, section 4.3",
        "at rho = .1 read like": "the paper, section 4.3",
        "figures but 9 and 10": "figures of the paper",
        "(.1) and preprint 11 and 12 (.5)": "figures of the paper",
        "the axis of rho (.1, .3, .5, .7, .9)": "figures of the paper",
        "preprint 4 | binary, 60% below SPL": "the preprint's figures and sentences",
        "preprint 7 | k = 10, 90% below SPL": "the preprint's figures and sentences",
        "preprint 9 | a fifth of RS+FD, 60% below SPL": "the preprint's figures and sentences",
        "preprint 8 | binary": "the preprint's figures and sentences",
        "preprint 11 | half of SPL": "the preprint's figures and sentences",
        "of their distance from 1": "the words of a bound",
        "phases one, and at .5 with all": "a setting",
        "preprint 10 | 80% below SPL": "the preprint's figures and sentences",
        "preprint 11 | 60% below RS+RFD": "the preprint's figures and sentences",
        "preprint 13 | falls by 40%": "the preprint's figures and sentences",
        "Nursery | 70% below": "the preprint's figures and sentences",
        "times SPL at 5 |": "the preprint's figures and sentences",
        "80% below SPL, 60% below RS+FD": "the preprint's figures and sentences",
        "Mushroom 9, epsilon 3": "nine columns of Mushroom",
        "149 settings: 100 drawn": "`decoder_settings`",
        "k in 2..20": "`decoder_settings`",
        "d in 2..8, n from 500 to 10^6": "`decoder_settings`",
        "and 49 of views of BRFSS 2015": "`decoder_settings`",
        "198 settings of other": "`decoder_settings`",
        "297 held-out ones": "`decoder_settings`",
        "297 settings": "`decoder_settings`",
        "a share of .6 to .997 among 256 categories with 500 reports": "`decoder_settings`",
        "(k = 16, n = 2,000, a share of .997, epsilon 4": "`decoder_settings`",
        "epsilon <= .5, where pooling": "`decoder_settings`",
        "below .3;": "the bands of epsilon",
        "(95% and 8% yes)": "shares of the answers in the data",
        "the rare values .05 and .08": "shares of the answers in the data",
        "for all 256 categories": "`hierarchical`: its models",
        "k >= 16": "`hierarchical`: its models",
        "Their prior is .001": "`hierarchical`: its models",
        "Theorem 5's 1/2": "docs/theory/corr_rr.md",
        "indices, 7.1,": "docs/theory/corr_rr.md",
        "epsilon' = ln(d (e^epsilon - 1) + 1)": "docs/theory/corr_rr.md",
        "correlation .298 | two of its sixteen onsets have .07 at most; .299 is that": "the paper, 4.2.4, and `real`",
    },
    pictures={
        "corr-rr-table-6.png": "table-6.png",
        "corr-rr-real.png": "figure-11.png",
        "corr-rr-real-decoded.png": "figure-11-simplex.png",
        "corr-rr-matrices.png": "real-data-matrices.png",
        "corr-rr-correlation.png": "figure-7.png",
        "corr-rr-correlation-decoded.png": "figure-7-simplex.png",
        "corr-rr-held-out.png": "held-out.png",
        "corr-rr-large-k.png": "large-k.png",
        "corr-rr-coverage.png": "coverage.png",
    },
)
