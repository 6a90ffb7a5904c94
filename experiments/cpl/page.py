"""Quotations of results in docs/papers/cpl.md (see `experiments.pages`)."""

from __future__ import annotations

import math

from experiments.cpl.adult_encodings import MERGED
from experiments.cpl.attacks import TOLERANCE
from experiments.cpl.contradictions import contradictions, corrections
from experiments.cpl.page_calibration import adult, beyond, figure_8
from experiments.pages import Page, Results, number_of, setting, traced

DATA = ("CelebA", "Adult", "Cardio")
FIVE = ("GRR", "RAPPOR", "EXP", "OUE", "OLH")
EIGHT = ("GRR", "RAPPOR", "EXP", "OUE", "BLH", "OLH", "SS", "SHE")
TIGHT = "delta'"
FIGURE = "additive figure (not a bound)"
SEEDS = "results/cpl/seeds.csv"


def _pairs(results: Results) -> list[str]:
    def gender(source: str, kind: str) -> list[str]:
        return [results.number("fig4a", kind, ".3f", released=source, mechanism=name) for name in FIVE]

    def by(kind: str) -> tuple[str, str]:
        grr, oue = (
            results.number("fig4a", kind, ".3f", released="occupation", mechanism=name) for name in ("GRR", "OUE")
        )
        return grr, oue

    quotes = [
        f"With GRR, the leakage is {by('attack')[0]} by the attack and {by('channel')[0]} by the reports. With OUE, the leakage is "
        f"{by('attack')[1]} by the attack and {by('channel')[1]} by the reports",
        f"| occupation, guess (attack) | {' | '.join(gender('occupation', 'attack'))} |",
        f"| occupation, report (channel) | {' | '.join(gender('occupation', 'channel'))} |",
    ]
    for source, label in (
        ("education", "education, guess / report"),
        ("income", "income (two values), guess / report"),
    ):
        both = zip(gender(source, "attack"), gender(source, "channel"), strict=True)
        quotes.append(f"| {label} | {' | '.join(' / '.join(pair) for pair in both)} |")

    def seen(figure: str, spec: str) -> str:
        return results.number("observations", "measured", spec, figure=figure)

    limits = [seen(f"limit of CPL: CelebA, Male <- {source}", spec)
              for source, spec in (("No_Beard", ".2f"), ("Wearing_Necklace", ".2f"), ("Smiling", ".3f"))]  # fmt: skip
    above = [
        traced(
            results.value("fig4b", FIGURE, epsilon=epsilon) / results.value("fig4b", "total, exact", epsilon=epsilon)
            - 1,
            ".0%",
        )
        for epsilon in (1, 10)
    ]
    cpl = {pair: seen(f"CPL, GRR, epsilon 1: {pair}", ".3f") for pair in (
        "Cardio, cholesterol <- cardio", "Cardio, cardio <- cholesterol", "CelebA, Bald <- Male", "CelebA, Male <- Bald")}  # fmt: skip
    ratio = {data: seen(f"median of larger/smaller direction: {data}", ".1f") for data in DATA}
    force = results.rows("brute-force-summary")[0]
    quotes += [
        f"limit is {limits[0]} if No_Beard is released, {limits[1]} for Wearing_Necklace and {limits[2]} for Smiling",
        f"the additive figure is {above[0]} above the exact total at epsilon 1, and {above[1]} above it at epsilon 10",
        f"cholesterol <- cardio is {cpl['Cardio, cholesterol <- cardio']} and cardio <- cholesterol is "
        f"{cpl['Cardio, cardio <- cholesterol']}. On CelebA, Bald <- Male is {cpl['CelebA, Bald <- Male']} and Male <- Bald "
        f"is {cpl['CelebA, Male <- Bald']}.",
        f"The median ratio is {ratio['CelebA']} over CelebA's "
        f"{traced(results.value('fig4d', 'pairs', data='CelebA') / 2, '.0f')} pairs, {ratio['Adult']} on Adult and {ratio['Cardio']} on Cardio.",
        f"We compared {number_of(force, 'figures', '.0f')} numbers: pairs, Algorithm 2, eight attacks, benchmark 1 and totals. Except "
        f"for SHE, the largest difference is {number_of(force, 'all others', '.0e')}. For SHE the largest "
        f"difference is {number_of(force, 'SHE', '.0e')}",
    ]
    for label, column in (("CPL below .1, GRR", "below epsilon/10"), ("the same by Algorithm 2", "the same by Algorithm 2"),
                          ("CPL below .5, GRR", "below epsilon/2")):  # fmt: skip
        shares = " | ".join(results.number("fig4d", column, ".0%", data=data) for data in DATA)
        quotes.append(f"| {label.replace('.1', setting(0.1)).replace('.5', setting(0.5))} | {shares} |")

    def total(data: str, column: str, spec: str = ",.0f") -> str:
        return results.number("fig7-tcpl", column, spec, data=data, epsilon=1)

    worst, grr = "TCPL, Algorithm 2", "TCPL, GRR"
    merged = results.rows("adult", encoding=MERGED)[0]
    for label, column in (("by Algorithm 2", worst), ("by the reports of GRR", grr)):
        cells = (
            total("CelebA", column),
            total("Adult", column),
            number_of(merged, column, ".0f"),
            total("Cardio", column),
        )
        quotes.append(f"| {label} | {' | '.join(cells)} |")
    most = {data: total(data, "pairs") for data in DATA}
    quotes.append(f"| largest possible | {most['CelebA']} | {most['Adult']} | {most['Adult']} | {most['Cardio']} |")
    metric = {data: results.number("fig5-extremes", "correlation with Pearson", ".2f", data=data) for data in DATA}
    tenth = results.rows("fig5-bins", metric="nmi", **{"from": 0.1})[0]
    near = sum(
        int(row["pairs"]) for low in (0.4, 0.5) for row in results.rows("fig5-bins", metric="nmi", **{"from": low})
    )
    quotes += [
        f"The correlation of this metric with CPL is {metric['CelebA']} in CelebA and {metric['Cardio']} in Cardio",
        f"Pairs with normalised mutual information between {setting(0.1)} and {setting(0.2)} have CPLs from "
        f"{number_of(tenth, 'least', '.2f')} to {number_of(tenth, 'most', '.2f')}",
        f"In Adult, {results.text('fig5-extremes', 'its pair', data='Adult')} has normalised mutual information "
        f"{results.number('fig5-extremes', 'its NMI', '.3f', data='Adult')}, but a CPL of "
        f"{results.number('fig5-extremes', 'largest at NMI below .005', '.2f', data='Adult')}",
        f"our data have only {traced(near, 'd')} pairs with normalised mutual information between {setting(0.4)} and {setting(0.6)}",
    ]
    return quotes


def _benchmarks(results: Results) -> list[str]:
    def point(data: str, algorithm: str, reference: str) -> str:
        at = {"data": data, "algorithm": algorithm, "reference": reference}
        under, over = (results.number("fig6", column, ".3f", **at) for column in ("undershoot", "overshoot"))
        return f"({under}, {over}) {results.text('fig6', 'region', **at)}"

    rows = {
        "SPL-ANL": ("SPL-ANL", "Algorithm 2"),
        f"GRF({setting(0.2)}) by pairs": ("GRF(0.2)", "Algorithm 2"),
        f"GRF({setting(0.4)}) by pairs": ("GRF(0.4)", "Algorithm 2"),
        "GRR-ANL": ("GRR-ANL", "Algorithm 2"),
        "EXP-ANL": ("EXP-ANL", "Algorithm 2"),
        "ITS, inferred": ("ITS", "Algorithm 2"),
        "ITS, inferred, against GRR's channel": ("ITS", "GRR, channel"),
        "ITS, inferred, against OUE's attack, as in 6(e)": ("ITS", "OUE, attack"),
        "ITS, inferred, against OUE's channel": ("ITS", "OUE, channel"),
    }
    quotes = [
        f"| {label} | {' | '.join(point(data, *where) for data in DATA)} |"
        for label, where in rows.items()
        if where != ("ITS", "OUE, attack")
    ]
    quotes.append(f"as in {setting('6')}(e) | {' | '.join(point(data, 'ITS', 'OUE, attack') for data in DATA)} |")
    short = [
        results.number("fig6", "undershoot", ".3f", data=data, algorithm="ITS", reference="OUE, channel")
        for data in ("Adult", "Cardio")
    ]
    quotes.append(f"The mean undershoot is {short[0]} on Adult and {short[1]} on Cardio")
    parts = [results.number("fig6", column, ".3f", data="CelebA", algorithm="GRF(0.2), components", reference="Algorithm 2")
             for column in ("undershoot", "overshoot")]  # fmt: skip
    quotes.append(
        f"with a threshold of {setting(0.2)}, the mean overshoot on CelebA is {parts[1]}, and the mean undershoot {parts[0]}."
    )

    def adult(name: str, column: str, epsilon: float, spec: str = ".0%") -> str:
        return results.number("fig7", column, spec, data="Adult", name=name, epsilon=epsilon)

    guess, report, error = "attack_tcpl", "channel_tcpl", "frequency_nmse"
    errors = {(data, name): results.value("fig7", error, data=data, name=name, epsilon=1)
              for data in DATA for name in ("OLH", "SS")}  # fmt: skip
    dearer = {data: traced(errors[data, "OLH"] / errors[data, "SS"], ".1f") for data in DATA}
    quotes += [
        *(
            f"| leakage by guesses, epsilon {epsilon} | {adult('OLH', guess, epsilon)} | {adult('SS', guess, epsilon)} |"
            for epsilon in (1, 3)
        ),
        f"| frequency error, epsilon 1 | {adult('OLH', error, 1, '.1e')} | {adult('SS', error, 1, '.1e')} |",
        f"OLH's frequency error is {dearer['Adult']} times SS's on Adult, {dearer['Cardio']} times on Cardio and "
        f"{dearer['CelebA']} times on CelebA at epsilon 1",
        *(
            f"| epsilon {epsilon} | "
            f"{' | '.join(adult(name, report, epsilon) for name in ('RAPPOR', 'OLH', 'SS', 'GRR', 'EXP'))} |"
            for epsilon in (1, 3)
        ),
    ]
    return quotes


def _short(value: float) -> str:
    """Return a figure of Table I with three decimals, or with one significant digit if all decimals would be 0."""
    return traced(value, ".3f" if value >= 0.0095 else ".4f" if value >= 5e-4 or value == 0 else ".0e")


def _table_1(results: Results) -> list[str]:
    quotes, matching = [], dict.fromkeys(DATA, 0.0)
    for data in DATA:
        for epsilon in (1, 3):
            cells = []
            for name in EIGHT:
                row = results.rows("table1", data=data, epsilon=epsilon, mechanism=name)[0]
                ours, paper = float(row["attack, exact"]), float(row["paper"])
                matching[data] += abs(ours - paper) <= TOLERANCE
                printed = traced(paper, ".2f") if paper >= 0.1 else _short(paper)
                cells.append(f"{_short(ours)} ({printed})")
            quotes.append(f"| {data}, epsilon {epsilon} | {' | '.join(cells)} |")
    counts = {data: f"{traced(matching[data], '.0f')} of {setting('16')}" for data in DATA}
    quotes.append(
        f"our number is within {traced(TOLERANCE, '.2f')} of the paper's. On CelebA {counts['CelebA']} cells match, and on "
        f"Cardio {counts['Cardio']}."
    )
    noise = [
        results.number("table1", "paper", ".0e", data="CelebA", epsilon=epsilon, mechanism="GRR") for epsilon in (1, 3)
    ]
    cardio = {
        key: results.value("table1", key, data="Cardio", epsilon=1, mechanism="SS")
        for key in ("attack, exact", "paper")
    }
    wide = results.number("encodings", "SS", ".3f", data="Cardio", epsilon=1, encoding="10 equal widths")
    rows = [row for data in DATA for row in results.rows("table1", data=data)]
    far = {name: [float(row["channel, exact"]) for row in rows if row["mechanism"] in name.split()]
           for name in ("BLH OLH", "EXP", "RAPPOR OUE SHE")}  # fmt: skip
    quotes += [
        f"So the paper's distances of {noise[0]} and {noise[1]} are noise",
        f"at epsilon 1, our distance is {traced(cardio['attack, exact'], '.4f')}, and the paper's is "
        f"{traced(cardio['paper'], '.3f')}",
        f"If we cut them into {setting('10')} equal widths, our distance is {wide}",
        f"is {traced(max(far['RAPPOR OUE SHE']), '.0f')} for RAPPOR, OUE and SHE everywhere, at most "
        f"{traced(max(far['BLH OLH']), '.3f')} for BLH and OLH",
        f"and {traced(min(far['EXP']), '.2f')} to {traced(max(far['EXP']), '.2f')} for EXP",
    ]

    def worst(encoding: str, epsilon: int) -> str:
        return results.number(
            "encodings", "largest difference", ".3f", data="Adult", epsilon=epsilon, encoding=encoding
        )

    merged = "quartiles, categories below 5% merged"
    quotes += [
        f"| Adult as it stands | {worst('quartiles', 1)} | {worst('quartiles', 3)} |",
        f"| categories below {setting('5%')} merged | {worst(merged, 1)} | {worst(merged, 3)} |",
    ]
    return quotes


def _tables_2_and_3(results: Results) -> list[str]:
    unit = 1e-4
    quotes = []
    for data in DATA:
        cells = []
        for epsilon in (1, 3):
            for name in ("GRR", "EXP"):
                row = results.rows("table2", data=data, epsilon=epsilon, mechanism=name)[0]
                ours, paper = float(row["nmse"]) / unit, float(row["paper"]) / unit
                cells.append(f"{traced(ours, '.3g')} ({traced(paper, '.3g')})")
        quotes.append(f"| {data} | {' | '.join(cells)} |")
    implied = [float(row["T that would give the paper's"]) for row in results.rows("table2", data="CelebA")]
    found = {data: results.rows("table2", data=data, epsilon=1, mechanism="GRR")[0] for data in DATA}
    infinite = sum(int(row["infinite"]) for row in results.rows("table2", data="Adult", epsilon=1, mechanism="GRR"))
    adult = found["Adult"]
    quotes += [
        f"CelebA's errors imply that the paper's T was {traced(min(implied), '.0f')} to {traced(max(implied), '.0f')}",
        f"At level {setting(0.05)}, {number_of(found['CelebA'], 'p < .05', '.0%')} of CelebA's pairs, "
        f"{number_of(adult, 'p < .05', '.0%')} of Adult's and {number_of(found['Cardio'], 'p < .05', '.0%')} of Cardio's are "
        f"significant. Adult shows the limit of the method. There, "
        f"{number_of(adult, 'sparse', '.0f')} of {number_of(adult, 'pairs', '.0f')} pairs have a table with cells where fewer than "
        f"{setting('100')} guesses are expected, and {traced(infinite, 'd')} of the estimates are infinite",
    ]
    metric = {name: [results.number("table3-correlation", column, ".3f", metric=name) for column in ("ours", "paper")]
              for name in ("NMI", "PCC")}  # fmt: skip
    quotes.append(
        f"Our distribution has normalised mutual information {metric['NMI'][0]} and correlation {metric['PCC'][0]}. The paper has "
        f"{metric['NMI'][1]} and {metric['PCC'][1]}. But releasing X_j with GRR at epsilon 1 reveals "
        f"{results.number('table3', 'exact', '.3f', epsilon=1, direction='i <- j')} nats about X_i"
    )
    for budget in (0.5, 1, 2):
        for direction in ("i <- j", "j <- i"):
            cells = [results.number("table3", column, ".4f", epsilon=budget, direction=direction)
                     for column in ("paper, experimental", "simulated", "paper, theoretical", "exact")]  # fmt: skip
            quotes.append(f"| {setting(budget)}, {direction} | {' | '.join(cells)} |")
    return quotes


def _errata(results: Results) -> list[str]:
    xor = results.rows("additive", joint="exclusive or of two fair bits")[0]
    young = results.rows("additive", joint="CelebA: Young <- Chubby, Double_Chin")[0]
    hidden = results.rows("additive", joint="hidden among 20 neighbours, by the neighbours alone")[0]
    sets = [row for row in results.rows("additive-subsets") if row["joint"].startswith("CelebA")]
    free = results.rows("additive-subsets", joint="independent given target")[0]
    shares = [number_of(row, "share", ".0%") for row in sets]
    factors = [number_of(row, "largest exact/additive", ".2f") for row in sets]
    most = max(float(row["largest exact/additive"]) for row in sets) - 1
    low, high = (pick(float(row["share"]) for row in sets) for pick in (min, max))
    error = max(math.sqrt(float(row["share"]) * (1 - float(row["share"])) / float(row["tried"])) for row in sets)
    delta = results.rows("delta-summary")[0]
    sums = results.rows("delta-sums-examples")
    many = [row for row in results.rows("delta-sums") if row["joint"].startswith("CelebA")]
    hold = results.rows("delta-sums", joint="independent given target")[0]
    rare = [f"{number_of(row, 'share', '.1%')} ± {number_of(row, 'standard error', '.1%')}" for row in many]
    beyond = [number_of(row, "largest exact/(6)", ".2f") for row in many]
    return [
        f"random sets of an attribute and its {setting('2 to 12')} neighbours, {setting('300')} sets of each size",
        f"the exact total exceeds (6) in {traced(low, '.0%')} to {traced(high, '.0%')} of the sets. The excess is up to "
        f"{traced(most, '.0%')}. (The standard error of such a share is {traced(error, '.0%')} at most",
        f"By (6) the total is at most {number_of(xor, FIGURE, '.0f')}. The exact total is {setting('1')} + ln cosh {setting('1')} = "
        f"{number_of(xor, 'exact', '.3f')}",
        f"(6) adds {number_of(hidden, FIGURE, '.0f')} for them. Together they reveal {number_of(hidden, 'exact', '.1f')}. (Their "
        f"epsilons add up to {number_of(hidden, 'prior-free', '.0f')}",
        f"CelebA, Young <- Chubby, Double_Chin. By (6) the total is at most {number_of(young, FIGURE, '.3f')}. The exact total is {number_of(young, 'exact', '.3f')}",
        f"| share of sets in which the exact total exceeds (6) | {' | '.join(shares)} |",
        f"| largest exact total / (6) | {' | '.join(factors)} |",
        f"exact total exceeded (6) in {number_of(free, 'exact above additive', '.0f')} of {number_of(free, 'tried', '.0f')} random joint",
        f"this mechanism is ({setting('0')}, {number_of(delta, 'nonce, by outputs', '.3f')})-private. But its true delta is "
        f"{number_of(delta, 'nonce, over events', '.0f')}",
        f"(6) gives epsilon {number_of(sums[0], '(6), epsilon', '.0f')} and delta {number_of(sums[0], '(6), delta', '.2f')}. But "
        f"the smallest valid delta at epsilon 1 is {number_of(sums[0], 'delta there', '.3f')}. The exact total is "
        f"{number_of(sums[0], 'total', '.3f')}. Even at epsilon 1.434, the smallest valid delta is "
        f"{number_of(sums[0], 'delta at the total', '.4f')}",
        f"by (6) the total has epsilon 1 and delta {number_of(sums[0], '(6), delta', '.2f')}. But the exact delta at epsilon 1 is "
        f"{number_of(sums[0], 'delta there', '.3f')}",
        f"released with epsilon 0 and delta {setting(0.1)}, (6) gives delta {number_of(sums[1], '(6), delta', '.1f')}. But the smallest valid delta is "
        f"{number_of(sums[1], 'delta there', '.3f')}",
        f"({number_of(many[0], 'tried', '.0f')} for each number of neighbours; releases with epsilon 1, delta .01)",
        f"| share of sets in which the delta of (6) is too small | {' | '.join(rare)} |",
        f"| largest exact delta / delta of (6) | {' | '.join(beyond)} |",
        f"The exact delta exceeded the "
        f"sum in {number_of(hold, 'exact above (6)', '.0f')} of {number_of(hold, 'tried', '.0f')} random joint",
        f"Bald <- Male, with epsilon {setting('1')} and delta {setting('.01')}. The CPL is {number_of(delta, 'CPL', '.3f')}, and delta' is "
        f"{traced(float(delta[TIGHT]), '.4f')}",
    ]


PAGE = Page(
    "cpl",
    (_pairs, _benchmarks, _table_1, adult, _tables_2_and_3, figure_8, beyond, _errata),
    stated={
        "leakage | r = 0 | r = .01 | r = .05 | r = .1": "settings",
        "first six shared attributes": "a setting",
        "categories below 5% merged": "a setting",
        "considers 21 of the attributes": "the paper, section V-C",
        "SPL's budget is cap/21": "a formula",
        "At caps up to 2 some random choices have such a factor. At caps of 5 and more": "the rows above",
        "more than five up to a cap of 5": "the rows above",
        "(caps 1 to 20)": "settings",
        "100 random choices and one greedy choice of 21 of the 38 shared attributes": "settings",
        "100 random choices | cap 1 | cap 5 | cap 20": "settings",
        "the first 21, the last 21, and two sets": "settings",
        "four sets of 21 or 19 attributes": "settings",
        "38 attributes are in both": "the data sets",
        "100 random choices of 21 of 38 attributes": "settings",
        "We also chose 12 attributes at random, 200 times": "a setting",
        "random choices of 12 attributes": "a setting",
        "a factor of 4.5 or more": "a setting",
        "that at a cap of 1 the excess is small": "the rows above",
        "with 1 - prod(1 - delta)": "a formula",
        "arXiv 2508.12539": "the paper's number",
        "Adult (48,842 records, 15 attributes), CelebA (202,599 records, 40 binary attributes), Cardio (70,000 records, 12 attributes) and LFW (13,143 records)": "the data sets",
        "(n = 202,599)": "the data set",
        "n = 48,842": "the data set",
        "every record 25 times": "the default of --runs",
        "We use T = 25": "the default of --runs",
        "in units of 1e-4": "a unit",
        "If the unit is 1e-4": "expected.json, remarks",
        "NMSE, 1e-4": "a unit",
        "three rows are (.04, 0, 0), (.04, .28, .40), (0, .07, .17)": "`JOINT` of sampled.py",
        "numbers differ by more than .01": "`TOLERANCE` of attacks.py",
        "With an attribute of 42 values": "the data set",
        "simulation are about 3e-4": "Table II",
        "near .5 have CPLs with a spread of .6": "the paper, section III-D",
        "From a cap of 5 on": "the row of budgets before it",
        "For the first 21 attributes, these": "a setting",
        "common budgets of 21 attributes": "a setting",
        "the exact total exceeds (6) | 25% to 34% | 24% to 33%": SEEDS,
        "largest excess of the exact total over (6) | 44% | 32%": SEEDS,
        "figure 8's factor at a cap of 1 | 3.3 to 5.2 | 3.2 to 5.0": SEEDS,
        "share of choices that exceed a cap of 1 | 74% | 83% | | share of choices that exceed a cap of 5 | 76% | 80% | | share of choices that exceed a cap of 20 | 36% | 45%": SEEDS,
        "LFW's 200 choices": "the default of --runs",
        "the paper's T | 21 to 25 | 21 to 24": SEEDS,
        "The squared error of such a simulation falls as 1/T": "a variance",
        "With all hash functions their distance is 0": "docs/theory/leakage.md",
        "right are 300 random sets of attributes for each number of neighbours, and 300 random joint": "the default of --runs",
        "The factor |X_i|^2": "a formula",
        "delta (e^CPL - 1)/(e^epsilon - 1)": "docs/theory/leakage.md",
        "We compared each pair with 10,000 surrogates": "a setting",
        "We drew 100 random choices of 21 of the 38 shared attributes": "settings",
        "for the 100 random choices. For the first": "settings",
        "both budgets for the first 21 shared attributes": "a setting",
        "At caps of 1 and 2, the budgets by exact totals are hardly smaller": "the rows above",
        "budget | cap 1 | cap 2 | cap 5 | cap 10 | cap 20": "settings",
        "In one of the 12 runs": "the runs above",
        "greedy choice | cap 1.5 | cap 2.5 | cap 4": "settings",
        "There are 300 sets for each number of neighbours": "the default of --runs",
        "number of neighbours | 2 | 3 | 5 | 8": "settings",
        "number of neighbours | 2 | 3 | 5 | 8 | 12": "settings",
        "We chose 1, 2 and 3": "settings",
    },
    pictures={
        "cpl-saturation.png": "fig4b.png",
        "cpl-correlation.png": "fig5.png",
        "cpl-benchmark-1.png": "fig6.png",
        "cpl-attacks.png": "table1.png",
        "cpl-mechanisms.png": "fig7.png",
        "cpl-calibration.png": "fig8.png",
        "cpl-choices.png": "fig8-choices.png",
        "cpl-additive.png": "additive.png",
    },
    contradictions=contradictions,
    corrections=corrections,
)
