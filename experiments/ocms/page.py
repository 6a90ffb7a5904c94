"""Quotations of these experiments in docs/papers/ocms.md."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from experiments.ocms.contradictions import contradictions, corrections
from experiments.pages import Page, Results, number_of, setting, traced

EPSILONS = (1, 2, 3, 4, 5)


def each(values: Iterable[str]) -> str:
    """Return values as a list in a sentence."""
    return ", ".join(values)


def row(*cells: str) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def verdicts(r: Results, data: str, column: str, keep: Callable[[str], bool] = lambda _: True) -> list[float]:
    """Return a column of a data set's verdicts, for the methods to keep."""
    return [float(one[column]) for one in r.rows(f"{data}-verdicts") if keep(one["method"])]


def over_theory(r: Results, data: str, keep: Callable[[str], bool] = lambda _: True) -> str:
    """Return the range of the l2 loss over theory."""
    found = verdicts(r, data, "l2/theory", keep)
    return f"{traced(min(found), '.3f')} to {traced(max(found), '.3f')}"


def largest_z(r: Results, data: str) -> str:
    """Return the largest |z| of a data set's l2 losses."""
    return traced(max(abs(z) for z in verdicts(r, data, "z(l2)")), ".1f")


def _prime(method: str) -> bool:
    return "prime" in method


def _families(r: Results) -> list[str]:
    def excess(family: str, objective: str) -> str:
        mean = r.number("families-summary", "mean %", ".1f", family=family, objective=objective)
        return f"{mean} ({r.number('families-summary', 'largest %', '.1f', family=family, objective=objective)})"

    chosen = r.number("families-summary", "chosen", ".0%", family="spread", objective="f*=1")
    rows = [
        ("a small mean error over the dictionary (l1, l2)", "Spread", "spread", "l2"),
        ("a small worst error, every f <= 0.1", "Spread", "spread", "f*=0.1"),
        ("a small worst error, no bound on f (f* = 1)", "Partition", "partition", "f*=1"),
        (
            "no bound on f, and the collector may compare every report with every value",
            "prime (the paper's)",
            "prime",
            "f*=1",
        ),
        ("no bound on f, and m may be a prime power", "linear", "linear", "f*=1"),
        ("for comparison: Spread without a bound on f (not recommended)", "Spread", "spread", "f*=1"),
    ]
    found = [row(setting(words), name, excess(family, objective)) for words, name, family, objective in rows]
    practice = []
    for epsilon in (2, 4):
        for family in ("spread", "partition", "linear", "prime"):

            def cell(column: str, spec: str, family: str = family, epsilon: int = epsilon) -> str:
                return r.number("families-practice", column, spec, family=family, epsilon=epsilon)

            loss = f"{cell('l2/theory', '.3f')} ± {cell('error', '.3f')}"
            practice.append(
                row(
                    *(setting(epsilon), family, cell("m", ".0f"), cell("bits", ".1f"), cell("counters", ",.0f")),
                    *(loss, cell("sum ms", ".2g"), cell("decode ms", ".2g")),
                )
            )
    others = (excess("prime", "l2"), excess("linear", "l2"), excess("partition", "l2"))
    return [
        *found,
        f"whose variance is within {setting('10%')} of the best family's variance.",
        f"the last column of the first row would be {others[0]} for prime, {others[1]} for linear and {others[2]} for Partition.",
        f"Without a bound on frequencies ({setting('f* = 1')}), `OCMS` takes Spread for {chosen} of the epsilons",
        *practice,
    ]


def _losses(r: Results) -> list[str]:
    def worst(method: str, column: str) -> list[str]:
        return [r.number("zipf", column, ".1e", method=method, epsilon=e) for e in EPSILONS]

    ratio = [float(one["worst/theory"]) for one in r.rows("zipf-verdicts", method="OCMS-MSE (prime)")]
    cells = {data: len(r.rows(f"{data}-verdicts")) for data in ("zipf", "gaussian", "kosarak", "kosarak-separators")}
    rhr, he = (
        [r.number("kosarak", "worst mse", ".2g", method=method, epsilon=e) for e in EPSILONS]
        for method in ("RHR", "HE")
    )

    def apart(epsilon: int) -> float:
        """Return the difference between HE's and RHR's measured worst MSE on the clicks, in standard errors."""
        mine, its = (
            [r.value("kosarak", column, method=method, epsilon=epsilon) for column in ("worst mse", "worst error")]
            for method in ("RHR", "HE")
        )
        return (its[0] - mine[0]) / math.hypot(mine[1], its[1])

    def calculated(epsilon: int) -> str:
        mine, its = (r.value("kosarak", "worst theory", method=method, epsilon=epsilon) for method in ("RHR", "HE"))
        return traced(mine / its, ".2f")

    separated = [
        r.value("kosarak-separators", "worst theory", method="RHR", epsilon=e)
        / r.value("kosarak-separators", "worst theory", method="HE", epsilon=e)
        for e in EPSILONS
    ]

    def l2(data: str, method: str, spec: str) -> str:
        loss = r.number(data, "l2", spec, method=method, epsilon=1)
        return f"{loss} ± {r.number(data, 'l2_error', spec, method=method, epsilon=1)}"

    def at_4(method: str, column: str, spec: str = ".2g") -> str:
        return r.number("kosarak", column, spec, method=method, epsilon=4)

    return [
        f"We measured {traced(sum(cells.values()), 'd')} settings: up to twelve mechanisms at epsilon 1 to 5, on four data sets",
        f"For the paper's sketch, the measured l2 loss is {over_theory(r, 'zipf', _prime)} times the calculated loss. This holds for both",
        f"In all {traced(cells['zipf'], 'd')} combinations of mechanism and epsilon, the measured l2 loss is within "
        f"{largest_z(r, 'zipf')} standard errors of theory.",
        row("OCMS-MSE (prime), measured", *worst("OCMS-MSE (prime)", "worst mse")),
        row("OCMS-MSE (prime), calculated", *worst("OCMS-MSE (prime)", "worst theory")),
        row("HE, measured", *worst("HE", "worst mse")),
        row("RHR, measured", *worst("RHR", "worst mse")),
        f"For the paper's sketch, this maximum is {traced(min(ratio), '.2f')} to {traced(max(ratio), '.2f')} times the "
        "largest calculated variance. Theorem K.1 allows up to 1.70 times the largest variance.",
        f"For the paper's sketch, the measured l2 loss is {over_theory(r, 'gaussian', _prime)} times the calculated loss. In all "
        f"{traced(cells['gaussian'], 'd')} combinations of mechanism and epsilon, the measured l2 loss is within "
        f"{largest_z(r, 'gaussian')} standard errors of theory. By chance alone, the largest of "
        f"{traced(cells['gaussian'], 'd')} differences exceeds 3.8 standard errors with a probability of 1%.",
        f"{r.number('kosarak', 'n', ',.0f', method='HE', epsilon=1)} clicks on "
        f"{r.number('kosarak', 'k', ',.0f', method='HE', epsilon=1)} pages. Each click counts as one contributor, and each page as one value. The losses "
        f"count the {r.number('kosarak', 'values', ',.0f', method='HE', epsilon=1)} commonest pages. For all nine mechanisms, the "
        f"measured l2 loss is {over_theory(r, 'kosarak')} times the calculated loss, and within {largest_z(r, 'kosarak')} standard errors of it.",
        row("RHR, measured", *rhr),
        row("HE, measured", *he),
        row("RHR over HE, calculated", *map(calculated, EPSILONS)),
        f"At epsilon 1 the measured errors of RHR and HE are {traced(abs(apart(1)), '.1f')} standard errors apart. At epsilon 2 they are "
        f"{traced(apart(2), '.2f')} standard errors apart. So at these two epsilons the measurement does not decide. From epsilon 3 on the "
        f"errors are {traced(apart(3), '.1f')} or more standard errors apart.",
        f"RHR's largest variance is {traced(min(separated), '.2f')} to {traced(max(separated), '.2f')} times HE's "
        f"at every "
        "epsilon.",
        f"On Gaussian data (k = n = 10,000) the l2 loss is {l2('gaussian', 'RHR', '.3f')} for RHR and "
        f"{l2('gaussian', 'HE', '.3f')} for HE. On Kosarak's clicks (n = 801,947) it is {l2('kosarak', 'RHR', '.5f')} for RHR "
        f"and {l2('kosarak', 'HE', '.5f')} for HE (100",
        f"at epsilon 4 the largest variances are {at_4('OCMS-MSE', 'worst theory')} for the first sketch and "
        f"{at_4('OCMS', 'worst theory')} for the second. We measured {at_4('OCMS-MSE', 'worst mse')} ± {at_4('OCMS-MSE', 'worst error', '.1g')} "
        f"for the first sketch and {at_4('OCMS', 'worst mse')} ± {at_4('OCMS', 'worst error', '.1g')} for the second",
        f"RHR's calculated worst-case MSE is {calculated(5)} to {calculated(2)} times that of Hadamard encoding",
        f"At f = 0, epsilon 1, m = 3 the bias is {r.number('errata', 'number', '.2f', where='Algorithm 1, line 44')}.",
        "The added variance can be up to "
        + r.number(
            "errata-imperfect-hashing",
            "largest excess over promise",
            ".2f",
            statement="Theorem 3.9",
            fields="all P > m",
        )
        + " times this bound.",
    ]


def _by_hand(r: Results) -> list[str]:
    rows = []
    for one in r.rows("brute-force", quantity="l2"):
        where = {"data": "gaussian", "method": one["method"], "epsilon": int(one["epsilon"])}
        spec = ".4f" if float(one["loss"]) < 1 else ".3f"
        library = r.number("gaussian", "l2", spec, method=one["method"], epsilon=int(one["epsilon"]))
        force = f"{r.number('brute-force', 'loss', spec, **where)} ± {r.number('brute-force', 'error', spec, **where)}"
        theory, z = r.number("brute-force", "theory", spec, **where), r.number("brute-force", "z", ".1f", **where)
        rows.append(row(setting(one["epsilon"]), one["method"], theory, library, force, z))
    chi = sum(float(one["z"]) ** 2 for one in r.rows("brute-force", quantity="l2"))

    methods = ("RHR", "HE", "OCMS (prime)")
    theirs = [r.number("brute-force", "loss", ".1e", data="zipf", method=method) for method in methods]
    ours = [r.number("zipf", "worst mse", ".1e", method=method, epsilon=4) for method in methods]
    return [
        *rows,
        f"is 15.4 on average. The sum of z^2 in the table is {traced(chi, '.1f')}.",
        row("brute force", *theirs),
        row("the library", *ours),
    ]


def _mechanics(r: Results) -> list[str]:
    ratios = [float(one["ratio"]) for one in r.rows("bias")]
    off = [abs(float(one["ratio"]) - 1) / float(one["error"]) for one in r.rows("bias")]
    fixed = [float(one["fixed assignment"]) for one in r.rows("assignment")]
    random = [abs(float(one["random assignment"])) / float(one["random error"]) for one in r.rows("assignment")]

    def worst(column: str, method: str, data: str) -> list[str]:
        spec = ".2f" if method == "HE" else ".3g"
        return [r.number("rhr", column, spec, method=method, data=data, epsilon=e) for e in EPSILONS]

    def tail(n: int, epsilon: int, column: str, spec: str, kind: str = "pairwise") -> str:
        return r.number("random-bits", column, spec, n=n, epsilon=epsilon, kind=kind)

    def spread(n: int, epsilon: int) -> str:
        return f"{tail(n, epsilon, 'variance over eq. (20)', '.2f')} ± {tail(n, epsilon, 'error', '.2f')}"

    def beyond(n: int, spec: str, error: str) -> str:
        share, runs = (
            r.value("random-bits", column, n=n, epsilon=4, kind="pairwise") for column in ("beyond 4", "runs")
        )
        return f"{traced(share, spec)} ± {traced(math.sqrt(share * (1 - share) / runs), error)}"

    def exact(column: str, spec: str, kind: str = "pairwise") -> str:
        return r.number("random-bits-listed", column, spec, n=121, epsilon=4, kind=kind)

    def bits(column: str, d: int, epsilon: int, spec: str = ".1f") -> str:
        return r.number("random-bits-traffic", column, spec, d=d, n=1_000_000, epsilon=epsilon)

    floor = r.number("bias-floor", "bias", ".4f", method="Apple CMS", n=10**9)
    return [
        f"The measured squared bias is {traced(min(ratios), '.3f')} to {traced(max(ratios), '.3f')} times the value of eq. "
        "(18). In each setting this ratio is within "
        f"{traced(max(off), '.1f')} standard errors of one.",
        f"the root mean squared error over 1,000 values is {floor} for every n from 10^6 to 10^9.",
        f"The unbiased sketch has a root mean squared error of {r.number('bias-floor', 'rmse', '.1e', method='OCMS (Spread)', n=10**7)} for n = 10^7.",
        f"the estimate of the target's frequency is {traced(min(fixed), '.3f')} to {traced(max(fixed), '.3f')}, although",
        f"Then the estimate is 0 within {traced(max(random), '.1f')} standard errors",
        row("RHR, same low bits, calculated", *worst("n theory", "RHR", "companions")),
        row("RHR, same low bits, measured", *worst("n MSE", "RHR", "companions")),
        row("RHR, low bits evenly spread, calculated", *worst("n theory", "RHR", "spread-out")),
        row("HE, calculated", *worst("n theory", "HE", "companions")),
        f"Then {tail(1000, 4, 'bits', '.1f')} random bits are enough to assign a function to each of n contributors, if n is at most "
        f"the number of functions. The theorem rounds this number up to {tail(1000, 4, 'bits of the theorem', '.0f')} bits.",
        row(setting(1), setting(100), spread(100, 1)),
        row(setting(4), setting(100), spread(100, 4)),
        row(setting(4), setting("10,000"), spread(10_000, 4)),
        f"There, at n = 121 and epsilon 4, the standardised fourth moment of the error is {exact('kurtosis', '.0f')}. With "
        f"independent assignments it is {exact('kurtosis', '.1f', 'independent')}.",
        row(
            f"simulated, {setting('n = 100')}",
            beyond(100, ".1%", ".2%"),
            tail(100, 4, "beyond 4", ".2%", "independent"),
        ),
        row(
            f"simulated, {setting('n = 1,000')}",
            beyond(1000, ".2%", ".2%"),
            tail(1000, 4, "beyond 4", ".2%", "independent"),
        ),
        row(
            f"listed (field of {setting('121')} elements), {setting('n = 121')}",
            exact("beyond 4", ".2%"),
            exact("beyond 4", ".3%", "independent"),
        ),
        f"The largest error at n = 1,000 is {tail(1000, 4, 'largest', '.0f')} standard errors.",
        f"a contributor needs {bits('each alone', 1 << 20, 1)} bits.",
        f"In a client group, each contributor needs {bits('client group', 1 << 20, 1)} bits.",
        f"a contributor without a group needs only {bits('Spread, each alone', 1 << 20, 1)} bits.",
    ]


def _wrong_bound(r: Results) -> list[str]:
    rows = []
    for one in r.rows("wrong-bound"):
        where = {"epsilon": int(one["epsilon"]), "believed": float(one["believed"]), "true": float(one["true"])}

        def cell(column: str, spec: str, where: dict[str, float] = where) -> str:
            return r.number("wrong-bound", column, spec, **where)

        measured = f"{cell('n MSE', '.3g')} ± {cell('error', '.2g')}"
        rows.append(
            row(
                *(setting(one["epsilon"]), setting(where["believed"]), setting(where["true"]), cell("m", ".0f")),
                *(cell("as believed", ".3f"), cell("theorem 3.7", ".3f"), cell("variance", ".3f"), measured),
                cell("times best", ".2f"),
            )
        )
    return rows


def _tables(r: Results) -> list[str]:
    found = []
    for name in ("HE", "RHR", "OLH", "OCMS+RR", "CMS+HE", "SS", "a-RP", "RP", "PGR", "Spread"):
        cells = []
        for epsilon in (1, 4):
            where = {"row": name, "d": 100_000, "epsilon": epsilon}
            cells.append(traced(r.value("table-1", "l2", **where) / 100_000, ".4g"))
            printed = r.text("table-1", "l2/paper", **where)
            cells.append(traced(float(printed), ".3f") if printed else "-")
            cells.append(r.number("table-1", "MSE", ".3f", **where))
            printed = r.text("table-1", "MSE/paper", **where)
            cells.append(traced(float(printed), ".3f") if printed else "-")
        found.append(row(name, *cells))
    for one in r.rows("table-2", d=100_000, epsilon=1):
        name = one["row"]
        cells = []
        for epsilon in (1, 4):
            where = {"row": name, "d": 100_000, "epsilon": epsilon}
            printed = r.text("table-2", "paper bits", **where)
            cells += [
                r.number("table-2", "bits", ",.1f", **where),
                traced(float(printed), ",.1f") if printed else "-",
            ]
        found.append(row(name, *cells))
    at_5 = {"d": 1000, "epsilon": 5}
    costs = each(
        traced(100 * (r.value("table-1", "MSE/paper", row="OCMS+RR", d=100_000, epsilon=e) - 1), ".1f")
        for e in EPSILONS
    )
    over = [r.value("table-1", "l2/paper", row="OCMS+RR", **at_5), r.value("table-1", "l2/paper", row="SS", **at_5)]
    mse = r.value("table-1", "MSE/paper", row="SS", **at_5)
    return [
        *found,
        f"The increase is {costs} per cent at epsilon 1 to 5.",
        f"take k = 1,000, epsilon 5. The l2 loss of OCMS is then {traced(over[0] - 1, '.1%')} above its entry. The l2 loss of "
        f"subset selection is {traced(1 - over[1], '.1%')} below its entry, and the MSE of subset selection is "
        f"{traced(mse - 1, '.0%')} above its entry.",
    ]


def _intervals(r: Results) -> list[str]:
    def cells(mode: str, column: str, spec: str) -> list[str]:
        return [
            r.number("intervals", column, spec, mode=mode, n=1_000_000, failure=1e-6, epsilon=e) for e in (1, 2, 4, 6)
        ]

    def small(column: str, epsilon: int, spec: str) -> str:
        return r.number("intervals", column, spec, mode="l2", n=10_000, failure=1e-6, epsilon=epsilon)

    both = [f"{a} / {b}" for a, b in zip(cells("l2", "Chernoff", ".1f"), cells("mse", "Chernoff", ".1f"), strict=True)]
    return [
        row("Chernoff (Theorem 3.5), l2 / MSE mode", *both),
        row("Bernstein, l2 mode", *cells("l2", "Bernstein", ".1f")),
        row("normal", *cells("l2", "normal", ".1f")),
        row("exact (binomial distribution), l2 mode", *cells("l2", "exact", ".2f")),
        f"Its probability of missing the frequency is {small('normal misses', 5, '.1e')} at "
        f"epsilon 5, {small('normal misses', 6, '.1e')} at epsilon 6 (l2 mode). Bernstein's interval is valid. Its "
        f"half-widths are {small('Bernstein', 5, '.1f')} standard errors at epsilon 5, and {small('Bernstein', 6, '.1f')} at epsilon 6",
    ]


def errata_rows() -> list[dict[str, str]]:
    """Return the page's table of errata; {} is the number of `errata.csv`, and {beside} the number beside it."""
    path = Path(__file__).with_name("errata.json")
    rows: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def _errata(r: Results) -> list[str]:
    def fact(name: str, spec: str) -> str:
        return r.number("example-a-facts", "number", spec, fact=name)

    def holds(one: dict[str, str]) -> str:
        text = one["holds"]
        for place, column in (("{}", "number"), ("{beside}", "beside")):
            if place in text:
                spec = ".1f" if place == "{beside}" and one["format"] == ".0f" else one["format"]
                text = text.replace(place, r.number("errata", column, spec, where=one["row"]))
        return text

    def scan(statement: str, fields: str, column: str, spec: str = ",.0f") -> str:
        return r.number("errata-imperfect-hashing", column, spec, statement=statement, fields=fields)

    def fails(statement: str, fields: str, column: str = "fails as printed") -> str:
        return f"{scan(statement, fields, column)} of {scan(statement, fields, 'settings')}"

    def reading(words: str) -> str:
        return r.number("errata-kosarak", "1%", ",.0f", counted=words)

    table = errata_rows()
    if {one["row"] for one in table} != {one["where"] for one in r.rows("errata")}:
        raise LookupError("errata.json and errata.csv must list the same statements")
    return [
        *(row(one["where"], one["printed"], holds(one), one["reply"]) for one in table),
        f"{traced(len(table), 'd')} statements of the paper need a correction",
        row(
            "Theorem 3.9, as printed",
            f"all {setting('P > m')}",
            f"{fails('Theorem 3.9', 'all P > m')} settings",
            scan("Theorem 3.9", "all P > m", "largest excess over promise", ".2f"),
        ),
        row(
            "Theorem 3.9, as printed",
            setting("P >= 5m"),
            f"{fails('Theorem 3.9', 'P >= 5m')} settings",
            scan("Theorem 3.9", "P >= 5m", "largest excess over promise", ".3f"),
        ),
        f"| Theorem 3.9, corrected | all P > m | {fails('Theorem 3.9', 'all P > m', 'fails as corrected')} settings |",
        row(
            "Corollary 3.5, as printed",
            setting("P >= 5m"),
            f"{fails('Corollary 3.5', 'P >= 5m')} settings",
            scan("Corollary 3.5", "P >= 5m", "largest excess over promise", ".2f"),
        ),
        f"| Corollary 3.5 with {setting('sqrt(2/tau)')}, as an earlier version of this page had it | {setting('P >= 5m')} | "
        f"{fails('Corollary 3.5', 'P >= 5m', 'fails with sqrt(2/tau)')} settings |",
        f"| Corollary 3.5, corrected | all P > m | {fails('Corollary 3.5', 'all P > m', 'fails as corrected')} settings |",
        f"The library takes P >= 7m. With such P the largest excess is {scan('Corollary 3.5', 'P >= 7m', 'largest excess', '.2%')}.",
        *(
            row(words, reading(counted), r.number("errata-kosarak", "commonest", ".3f", counted=counted))
            for words, counted in (
                ("clicks", "clicks"),
                ("clicks, and the end of each line", "clicks and line ends"),
                ("clicks, and the end of each click", "clicks and click ends"),
                ("clicks, and both ends", "clicks and both"),
            )
        ),
        f"Our entries of Q differ from the printed entries by at most {fact('largest difference', '.3f')}. "
        f"The product of the printed Q and the printed P differs from the identity by at most "
        f"{fact('farthest entry of Q P from the identity, printed', '.3f')}.",
        f"The epsilon of the example is {fact('epsilon', '.2f')}. The first column of the printed P sums to "
        f"{fact('sum of column 1', '.3f')}.",
    ]


def _pilot(r: Results) -> list[str]:
    rows = []
    for one in r.rows("pilot"):
        failed = f"{number_of({'x': str(100 * float(one['failed']))}, 'x', '.1f')}"
        error = traced(100 * float(one["failed error"]), ".1f")
        rows.append(
            row(
                *(setting(one["epsilon"]), setting(float(one["top"])), number_of(one, "bound", ".3f")),
                *(f"{failed} ± {error}", traced(100 * float(one["own limit fails"]), ".1f")),
                *(number_of(one, "median m", ".0f"), number_of(one, "m at f*=1", ".0f")),
                f"{number_of(one, 'largest n MSE', '.3g')} ± {number_of(one, 'error', '.2g')}",
                f"{number_of(one, 'over f*=1', '.2f')} ± {number_of(one, 'over error', '.2f')}",
                one["verdict"],
            )
        )
    for epsilon in (1, 3, 5):
        ratios = [
            traced(float(one["theory"]) / float(one["at f*=1"]), ".2f") for one in r.rows("pilot", epsilon=epsilon)
        ]
        rows.append(row(f"epsilon {setting(epsilon)}", *ratios))
    for one in r.rows("pilot-price"):
        rows.append(
            row(
                *(setting(one["epsilon"]), setting(float(one["f*"]))),
                f"{number_of(one, 'm', '.0f')}, {number_of(one, 'm at f*=1', '.0f')}",
                *(number_of(one, column, ".2f") for column in ("held", "at frequency 1", "break even")),
            )
        )
    return rows


def _rappor(r: Results) -> list[str]:
    rows = []
    for kind in ("sRP", "aRP"):
        for epsilon in (1, 3):
            where = {"kind": kind, "epsilon": epsilon}
            spec, error = (".2f", ".2f") if epsilon == 1 else (".3f", ".3f")
            cells = [
                f"{r.number('rappor', 'n MSE', spec, m=m, **where)} ± {r.number('rappor', 'error', error, m=m, **where)}"
                for m in (2, 8, 64, 1024, 0)
            ]
            rows.append(row(setting(f"{kind}, {epsilon}"), *cells, r.number("rappor", "limit", spec, m=0, **where)))
    above = [float(one["standard errors above"]) for one in r.rows("rappor", m=64)]
    undecided = [float(one["standard errors above"]) for one in r.rows("rappor", m=1024)]
    largest = max(abs(float(one[column])) for one in r.rows("rappor") for column in ("z", "z at .3"))

    def needed(kind: str, column: str = "cells within 1%", spec: str = ",.0f") -> list[str]:
        return [r.number("rappor-cells", column, spec, kind=kind, epsilon=e) for e in EPSILONS]

    ratios = [
        r.value("rappor-cells", "limit", kind="sRP", epsilon=e)
        / r.value("rappor-cells", "OCMS+RR", kind="sRP", epsilon=e)
        for e in EPSILONS
    ]
    return [
        *rows,
        f"At 64 cells the error is {traced(min(above), '.1f')} to {traced(max(above), '.1f')} standard errors above the "
        f"limit. At 1,024 cells the difference from the limit is {traced(min(undecided), '.1f')} to "
        f"{traced(max(undecided), '.1f')} standard errors.",
        f"The largest difference is {traced(largest, '.1f')} standard errors, and by chance alone it could be up to 3.7.",
        row(f"cells needed, aRP, eq. {setting('(6)')}", *needed("aRP")),
        row(f"cells needed, aRP, eq. {setting('(45)')} as printed", *needed("aRP", "printed (45)", ".3g")),
        row(f"cells needed, sRP, eq. {setting('(6)')}", *needed("sRP")),
        row("l2 loss of sRP over that of OCMS+RR, limit", *(traced(one, ".2f") for one in ratios)),
    ]


def _code(r: Results) -> list[str]:
    inverse = max(abs(float(one[column])) for one in r.rows("fairness-code") for column in list(one)[1:3])
    hashes = [float(one["1,024 over 2,048"]) - 1 for one in r.rows("fairness-hashes")]
    off = max(abs(float(one["z"])) for one in r.rows("fairness-hashes"))

    def coded(column: str, spec: str) -> list[str]:
        return [r.number("fairness-code", column, spec, epsilon=e) for e in EPSILONS]

    return [
        f"These entries agree with the two numbers in our corrected line 44 to {traced(inverse, '.0e')}",
        f"Its l2 loss is within {traced(off, '.1f')} standard errors of theory in all ten settings (100 runs each). In theory, "
        f"the loss with 1,024 functions is at most {traced(max(hashes), '.2%')} larger.",
        row("bits b, both codes", *coded("b coded", ".0f")),
        row("n times the l2 loss / d, both codes", *coded("l2/d coded", ".3g")),
        row("n times the l2 loss / d, b = epsilon", *coded("l2/d printed", ".3g")),
        row("n times the largest MSE, both codes", *coded("worst MSE coded", ".3g")),
        row("n times the largest MSE, b = epsilon", *coded("worst MSE printed", ".3g")),
    ]


_SETTING, _PAPER, _DERIVED = "a setting of the experiments", "the paper", "docs/theory/sketches.md"

STATED = {
    "The first hundredth of the lines has 10,044 pages, and the first tenth has 23,496 pages": "the data set; `experiments/ocms/populations.py`",
    "a dictionary of 26,000": _PAPER,
    "100 runs per setting": _SETTING,
    'says that "Kosarak has one value whose frequency is above 0.4"': _PAPER,
    "from 0.5 to 6 in steps of 0.01": _SETTING,
    "two values collide with probability 1/m": _DERIVED,
    "epsilon 0.5 to 6. The": _SETTING,
    "With more than 2^32 values": "the limit of CountMeanSketch's prime family",
    "the field GF(2^l)": _DERIVED,
    "We made 10 runs. The times are processor times of the fastest run, on one core of a shared 2.6 GHz machine": _SETTING,
    "sum 100,000 reports": _SETTING,
    "proportional to 1/r^2, where r is the rank of the value. The losses count only the 100 commonest values": _SETTING,
    "100 runs, seed 1": _SETTING,
    "worst-case MSE, Zipf | epsilon 1 | 2 | 3 | 4 | 5": _SETTING,
    "the largest of 100 mean squared errors, one for each value. Each of them is a mean over 100 runs": _SETTING,
    "Theorem K.1 allows up to 1.70": "statistics.upper_factor(100, 100)",
    "The parameters of the sketch are computed for f = 0": _SETTING,
    "standard deviation 50. There": _SETTING,
    "exceeds 3.8 standard errors with a probability of 1%": "statistics.critical_z(60)",
    "on Gaussian data with f = 0": _SETTING,
    "We made 100 runs (20 for subset selection)": _SETTING,
    "only the first 100,000 of 990,002 lines": "experiments/ocms/README.md",
    "the 1,000 commonest pages": _SETTING,
    "the library in 100 runs, and the brute-force program in 10 runs": _SETTING,
    "the library, 100 runs | brute force, 10 runs": _SETTING,
    "exceeds 4.9 with a probability of 1%. By chance alone, the sum of z^2 over the table is 15.4 on average": "Student's t at .01/24; 12 times 9/7",
    "in 100 runs of each": _SETTING,
    "400 random lists of hash functions": _SETTING,
    "one list of 16 functions of 64 cells. With this list, the root mean squared error over 1,000 values": _SETTING,
    "n from 10^6 to 10^9": _SETTING,
    "for n = 10^7": _SETTING,
    "Then the estimate is 0 within": "nobody holds the target",
    "with m = 4 cells and 101^2 functions": _SETTING,
    "d = 2^20": _SETTING,
    "is a mean over 400 runs": _SETTING,
    "(E+1)(E+2^b-1)/(E-1)^2, where E = e^epsilon": _DERIVED,
    "in units of 1/n": _SETTING,
    "may fail with probability 1e-6. The table has the half-widths of the intervals in standard errors, at f = 0 and n = 10^6": _SETTING,
    "a small worst-case MSE. | | epsilon 1 | 2 | 4 | 6 |": _SETTING,
    "ends every click with the code -1 and every line with the code -2": "the format of sequence files",
    "the smallest number becomes 0. So the smallest number in the file is -2": "the paper's published code",
    "a sketch without a bound on frequencies (f = 1)": _SETTING,
    "worst case at f = 1": _SETTING,
    "that the commonest value is below 10%": "advice",
    "At f = 0, epsilon 1, m = 3 the bias": "errata.csv, quoted above",
    "the commonest page has only .076 of 801,947 clicks": "the prefix of Kosarak",
    "(100 runs each). The paper claims": _SETTING,
    "for the second (100 runs). The paper": _SETTING,
    "could reply that f = 1 bounds": _PAPER,
    "that f = 1 can always be taken": _PAPER,
    "of the bits that section 5.3 counts": _PAPER,
    "for n = 801,947 and in 100 runs": "kosarak.csv, quoted above",
    "From epsilon 3 on the errors are": _SETTING,
    "the largest z is 2.4 at seed 2, and 3.3 at seed 1. The sum of z^2 is 17.1 at seed 2, and 24.2": "results/ocms/seeds.csv",
    "up to 10% above the best": "sketch.ocms.TOLERANCE",
    "In 40 comparisons, chance allows 3.7": "statistics.critical_z(40)",
    "The calculated ratio is 1.06": "pilot.csv, quoted above",
    "with 1,024 cells, the error of sRP at seed 2 is 2.8 standard errors below its limit. It is 3.0": "the other seed",
    "a commonest value of .5. At seed 2, the measured error with the pilot's f is 1.09 ± .03 times the error of the sketch for f = 1": "the other seed",
    "The simulated variance is .15 ± .002 times that of eq. (20) at seed 2, and .44 ± .20 times": "the other seed",
    "had fewer runs than at seed 1: 10 instead of 100": "runs at the other seed",
    "the worst-case errors at seed 2 are 1.4 to 2.8 times": "results/ocms/seeds.csv",
    "difference from theory is 3.8 standard errors, and chance allows 4.9": "seeds.csv; Student's t with nine degrees of freedom",
    "pages 97-112, doi 10.1109/CSF64896.2025.00024": "the title page of the proceedings",
    "2025 IEEE 38th Computer Security Foundations Symposium": "the title page of the proceedings",
    "Supplements S1 to S8": _PAPER,
    "We listed all 14,641 assignments in a small case: a field of 121 elements": "11^4; random-bits-listed.csv",
    "In a larger case we simulated 20,000 draws": _SETTING,
    "k = 1,000, a pilot of 1,000 of 10,000 contributors, 95% confidence, 2,000 runs": _SETTING,
    "with the sketch for f = 1, which allows any frequency": _SETTING,
    "over f = 1 | less?": _SETTING,
    "m at f = 1 | n MSE": _SETTING,
    "5.5% ± .5% of the runs. The exact probability is 4.9%": "pilot.csv, quoted above",
    "At epsilon 1, our 2,000 runs show no gain": _SETTING,
    "a sketch that was planned without a bound (f = 1)": _SETTING,
    "calculated error of the sketch for f = 1": _SETTING,
    'column "at frequency 1"': _SETTING,
    '"over f = 1"': _SETTING,
    "calculated, over f = 1 | commonest value .001 | .1 | .5": _SETTING,
    "the numbers of the 100 commonest values": _SETTING,
    "The sum of z^2 in the table": _SETTING,
    "m, and m at f = 1 | while f holds | at frequency 1": _SETTING,
    "at f = 0 and n = 1,000, in 20,000 runs": _SETTING,
    "m = 2 | 8 | 64 | 1,024": _SETTING,
    "At 64 cells": _SETTING,
    "So at 1,024 cells": _SETTING,
    "We compared 40 measured errors with eq. (10), at f = 0 and .3": _SETTING,
    "by chance alone it could be up to 3.7": "statistics.critical_z(40)",
    "within 1% of its limit, at f = 0": _SETTING,
    '"over 170,000 entries" in this part, and a value with a frequency "above 0.4"': _PAPER,
    "The commonest page has 7.6% of the clicks": "the prefix of Kosarak",
    "no value with frequency above 0.4": _PAPER,
    "2,048 hash functions of 1,024 cells, and our experiments have 1,024": "the author's code",
    "With 2,048 functions, all figures": _SETTING,
    "We also measured CMS+HE with 2,048 functions": _SETTING,
    "(100 runs each). In theory, the loss with 1,024 functions": _SETTING,
    "code has a dictionary of 1,000,000 values, and the paper's dictionary has 100,000": "the author's code",
    "The library takes P >= 7m": _SETTING,
    "all primes P below 12m, and nine epsilons": _SETTING,
    "The paper evaluates 1% of Kosarak. We counted the entries in 1% of the file": _PAPER,
    "RHR's MSE is exactly (E+2^b-1)/(E+1) times HE's": _DERIVED,
    "what counts as an entry | entries in 1% of the file": _PAPER,
    "At 1,024 cells the difference from the limit is": _SETTING,
    "although the true frequency is 0": "nobody holds the target",
    "this ratio tends to 1": "rappor-cells.csv: limit and OCMS+RR",
    "epsilon 1 | 2 | 3 | 4 | 5 |": _SETTING,
    "the sketch for f = 1:": _SETTING,
    '"m" and "m at f = 1": the median number of cells with the pilot\'s f, and the number of cells with f = 1': _SETTING,
    "the calculated error of the sketch for f = 1": _SETTING,
    "means of 100 runs, so the largest mean": _SETTING,
    "At seed 2 the l2 losses are .958 to 1.046 times": "results/ocms/seeds.csv",
}
"""Text of the page with numbers that no experiment measures."""

STATED |= {
    text.strip(): where
    for one in errata_rows()
    for where, texts in (
        (_PAPER, (one["where"], one["printed"], one["reply"])),
        (_DERIVED, re.split(r"\{\}|\{beside\}", one["holds"])),
    )
    for text in texts
    if re.search(r"\d", text)
}
"""The errata's texts beside their numbers."""

PICTURES = {
    "ocms-families.png": "families.png",
    "ocms-zipf.png": "zipf.png",
    "ocms-gaussian.png": "gaussian.png",
    "ocms-kosarak.png": "kosarak.png",
}

PAGE = Page(
    "ocms",
    (
        _families,
        _losses,
        _by_hand,
        _mechanics,
        _wrong_bound,
        _tables,
        _intervals,
        _errata,
        _pilot,
        _rappor,
        _code,
    ),
    STATED,
    PICTURES,
    contradictions=contradictions,
    corrections=corrections,
)
