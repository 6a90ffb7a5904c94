"""How docs/papers/ocms.md quotes the results of these experiments."""

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
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def verdicts(r: Results, data: str, column: str, keep: Callable[[str], bool] = lambda _: True) -> list[float]:
    """Return a column of a data set's verdicts, of the methods to keep."""
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
        ("the same, reports may be compared one by one", "prime (the paper's)", "prime", "f*=1"),
        ("the same, prime-power cells are enough", "linear", "linear", "f*=1"),
        ("f* = 1 on Spread: avoid", "Spread", "spread", "f*=1"),
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
        "The other families are nearer to the ideal for a small mean error: "
        f"the variance above the ideal is {others[0]} for prime, {others[1]} for "
        f"linear and {others[2]} for Partition. The library's `OCMS` looks at the families whose error is within "
        f"{setting('10%')} of the best error, and takes the family that is cheapest to decode. At {setting('f* = 1')} this family is Spread for {chosen} of these epsilons and Partition "
        f"for the rest.",
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
        """Return by how many standard errors HE's measured worst MSE exceeds RHR's, on the clicks."""
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
        f"We measured {traced(sum(cells.values()), 'd')} settings (four data sets, up to twelve mechanisms, epsilon 1 to 5).",
        f"The measured l2 loss divided by the theoretical loss is {over_theory(r, 'zipf', _prime)} for the paper's sketch (both modes). The "
        f"largest |z| over the {traced(cells['zipf'], 'd')} combinations of mechanism and epsilon is {largest_z(r, 'zipf')}.",
        row("OCMS-MSE (prime), measured", *worst("OCMS-MSE (prime)", "worst mse")),
        row("its theory", *worst("OCMS-MSE (prime)", "worst theory")),
        row("HE, measured", *worst("HE", "worst mse")),
        row("RHR, measured", *worst("RHR", "worst mse")),
        f"a measured maximum over 100 values and 100 runs is {traced(min(ratio), '.2f')} to "
        f"{traced(max(ratio), '.2f')} "
        "times the largest theoretical variance. Theorem K.1 allows 1.70 times this variance.",
        f"The measured l2 loss divided by the theoretical loss is {over_theory(r, 'gaussian', _prime)} for the paper's sketch. The largest |z| of "
        f"{traced(cells['gaussian'], 'd')} combinations is {largest_z(r, 'gaussian')}. By chance alone, "
        "the largest |z| exceeds 3.8 with a probability of 1%.",
        f"{r.number('kosarak', 'n', ',.0f', method='HE', epsilon=1)} clicks on "
        f"{r.number('kosarak', 'k', ',.0f', method='HE', epsilon=1)} pages. Each click is one contributor. The losses are "
        f"judged on the {r.number('kosarak', 'values', ',.0f', method='HE', epsilon=1)} commonest pages. The measured l2 loss divided by the theoretical loss is "
        f"{over_theory(r, 'kosarak')} for all nine mechanisms, and the largest |z| is {largest_z(r, 'kosarak')}.",
        f"with n = 801,947 is {each(rhr)}. HE has {each(he)}.",
        f"The ratio is {calculated(1)} at epsilon 1, and {each(map(calculated, EPSILONS[1:-1]))} and "
        f"{calculated(5)} at epsilon 2 to 5. At epsilon 1 and 2 the measured errors of RHR and HE are "
        f"{traced(abs(apart(1)), '.1f')} and {traced(apart(2), '.2f')} standard errors apart, so the measurement does not decide. From epsilon 3 on they "
        f"are {traced(apart(3), '.1f')} or more standard errors apart.",
        f"RHR's largest variance is {traced(min(separated), '.2f')} to {traced(max(separated), '.2f')} times HE's "
        f"at every "
        "epsilon.",
        f"On Gaussian data (k = n = 10,000) the l2 loss is {l2('gaussian', 'RHR', '.3f')} for RHR and "
        f"{l2('gaussian', 'HE', '.3f')} for HE. On Kosarak's clicks (n = 801,947) it is {l2('kosarak', 'RHR', '.5f')} for RHR "
        f"and {l2('kosarak', 'HE', '.5f')} for HE (100",
        f"at epsilon 4 the largest variances are {at_4('OCMS-MSE', 'worst theory')} and "
        f"{at_4('OCMS', 'worst theory')} in theory. We measured {at_4('OCMS-MSE', 'worst mse')} ± {at_4('OCMS-MSE', 'worst error', '.1g')} "
        f"and {at_4('OCMS', 'worst mse')} ± {at_4('OCMS', 'worst error', '.1g')}",
        f"RHR's calculated worst-case MSE is {calculated(5)} to {calculated(2)} of Hadamard encoding's",
        f"the bias is {r.number('errata', 'number', '.2f', where='Algorithm 1, line 44')} at f = 0, epsilon 1, m = 3",
        "by a factor of up to "
        + r.number(
            "errata-imperfect-hashing",
            "largest excess over promise",
            ".2f",
            statement="Theorem 3.9",
            fields="all P > m",
        )
        + ". Most",
    ]


def _by_hand(r: Results) -> list[str]:
    rows = []
    for one in r.rows("brute-force", quantity="l2"):
        where = {"data": "gaussian", "method": one["method"], "epsilon": int(one["epsilon"])}
        spec = ".4f" if float(one["loss"]) < 1 else ".3f"
        ours = r.number("gaussian", "l2", spec, method=one["method"], epsilon=int(one["epsilon"]))
        theirs = f"{r.number('brute-force', 'loss', spec, **where)} ± {r.number('brute-force', 'error', spec, **where)}"
        theory, z = r.number("brute-force", "theory", spec, **where), r.number("brute-force", "z", ".1f", **where)
        rows.append(row(setting(one["epsilon"]), one["method"], theory, ours, theirs, z))
    chi = sum(float(one["z"]) ** 2 for one in r.rows("brute-force", quantity="l2"))

    def zipf(method: str) -> str:
        by_hand = r.number("brute-force", "loss", ".1e", data="zipf", method=method)
        return f"{by_hand} ({r.number('zipf', 'worst mse', '.1e', method=method, epsilon=4)} with the library)"

    return [
        *rows,
        "exceeds 4.9 with a probability of 1%. By chance alone, the sum of z^2 is 15.4 on average; the measured sum of "
        f"z^2 is {traced(chi, '.1f')}.",
        "in 100 runs of each. The brute-force error is "
        f"{zipf('RHR')} for RHR, {zipf('HE')} for HE, and {zipf('OCMS (prime)')} for OCMS.",
    ]


def _mechanics(r: Results) -> list[str]:
    ratios = [float(one["ratio"]) for one in r.rows("bias")]
    off = [abs(float(one["ratio"]) - 1) / float(one["error"]) for one in r.rows("bias")]
    fixed = [float(one["fixed assignment"]) for one in r.rows("assignment")]
    random = [abs(float(one["random assignment"])) / float(one["random error"]) for one in r.rows("assignment")]

    def worst(column: str, method: str, data: str) -> str:
        spec = ".2f" if method == "HE" else ".3g"
        return each(r.number("rhr", column, spec, method=method, data=data, epsilon=e) for e in EPSILONS)

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
        f"we used 400 lists of hash functions. The measured squared bias is "
        f"{traced(min(ratios), '.3f')} to {traced(max(ratios), '.3f')} times that of eq. (18), and each ratio is within "
        f"{traced(max(off), '.1f')} standard errors of one. "
        f"We also looked at one list of 16 functions of 64 cells. The root mean squared error over 1,000 values stays at "
        f"{floor} from n = 10^6 to 10^9, and this is exactly the calculated bias. The error of the unbiased sketch is "
        f"{r.number('bias-floor', 'rmse', '.1e', method='OCMS (Spread)', n=10**7)} for n = 10^7.",
        f"the estimate of the target is {traced(min(fixed), '.3f')} to {traced(max(fixed), '.3f')} although "
        f"nobody holds "
        "the target. With the same answers and freshly drawn functions, the estimate is 0 within "
        f"{traced(max(random), '.1f')} standard errors",
        f"this formula gives {worst('n theory', 'RHR', 'companions')}. We measured "
        f"{worst('n MSE', 'RHR', 'companions')}. For HE, "
        f"n times the MSE is {worst('n theory', 'HE', 'companions')}. If the low bits of the contributors' values are spread evenly, "
        f"n times the MSE of RHR is "
        f"{worst('n theory', 'RHR', 'spread-out')}.",
        f"{tail(1000, 4, 'bits', '.1f')} bits assign the functions for any n up to the number of functions. The theorem "
        f"rounds up, and says {tail(1000, 4, 'bits of the theorem', '.0f')} bits.",
        f"The ratio is {spread(100, 1)} at epsilon 1 and n = 100. At epsilon 4 the ratio is {spread(100, 4)} (n = 100) and "
        f"{spread(10_000, 4)} (n = 10,000). The simulations at epsilon 4 have not converged, because rare large errors "
        f"make up much of the variance. In the field of {setting('121')} elements the standardised fourth moment is "
        f"{exact('kurtosis', '.0f')} at n = 121, and for independent assignments it is "
        f"{exact('kurtosis', '.1f', 'independent')}. So the standard errors at epsilon 4 cannot be relied on.",
        f"At n = 100 and epsilon 4 the estimate is off by more than four standard errors in {beyond(100, '.1%', '.2%')} "
        f"of the draws. At n = 1,000 such errors occur in {beyond(1000, '.2%', '.2%')} of the draws, and the largest error is "
        f"{tail(1000, 4, 'largest', '.0f')} standard errors. With independent assignments they occur in "
        f"{tail(100, 4, 'beyond 4', '.2%', 'independent')} and "
        f"{tail(1000, 4, 'beyond 4', '.2%', 'independent')} of the draws. In the field of {setting('121')} elements at n = 121, the exact "
        f"probability of such errors is {exact('beyond 4', '.2%')}, and it is {exact('beyond 4', '.3%', 'independent')} "
        "for independent assignments. So Theorem 3.5, and every other interval on this page, needs hash functions that "
        "are drawn independently.",
        f"For a million contributors, d = 2^20 and epsilon 1, section 5.3 counts {bits('each alone', 1 << 20, 1)} "
        f"bits for a contributor alone and {bits('client group', 1 << 20, 1)} bits for a contributor in a client group. "
        f"A contributor alone who uses Spread needs {bits('Spread, each alone', 1 << 20, 1)} bits.",
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
        f"at k = 1,000, epsilon 5, the l2 loss of OCMS is {traced(over[0] - 1, '.1%')} above its entry. The l2 loss of "
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
        row("what the binomial law needs, l2 mode", *cells("l2", "exact", ".2f")),
        f"Its probability of missing the frequency is {small('normal misses', 5, '.1e')} at "
        f"epsilon 5, {small('normal misses', 6, '.1e')} at epsilon 6 (l2 mode). Bernstein's interval holds; its "
        f"half-widths are {small('Bernstein', 5, '.1f')} and {small('Bernstein', 6, '.1f')} standard errors",
    ]


def errata_rows() -> list[dict[str, str]]:
    """Return the page's table of errata: a number of `errata.csv` stands for {}, the one beside it for {beside}."""
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
        f"The theorem fails in {fails('Theorem 3.9', 'all P > m')} settings, where the true excess is up to "
        f"{scan('Theorem 3.9', 'all P > m', 'largest excess over promise', '.2f')} times the promised excess. With P >= 5m "
        f"it fails in {fails('Theorem 3.9', 'P >= 5m')} settings, where the true excess is up to "
        f"{scan('Theorem 3.9', 'P >= 5m', 'largest excess over promise', '.3f')} times the promised one. With P >= 5m "
        f"the corollary fails in {fails('Corollary 3.5', 'P >= 5m')} settings, where the true excess is up to "
        f"{scan('Corollary 3.5', 'P >= 5m', 'largest excess over promise', '.2f')} times the promised one. The corrected "
        f"theorem fails in {scan('Theorem 3.9', 'all P > m', 'fails as corrected')} settings, and the corrected corollary in "
        f"{scan('Corollary 3.5', 'all P > m', 'fails as corrected')} settings. An earlier edition of this page had "
        f"sqrt(2/tau) in the corollary, which fails in {fails('Corollary 3.5', 'P >= 5m', 'fails with sqrt(2/tau)')} "
        f"settings. The library takes P >= 7m. With such P the largest excess is "
        f"{scan('Corollary 3.5', 'P >= 7m', 'largest excess', '.2%')}.",
        f"1% of the data has {reading('clicks')} clicks. If the file has an extra code after each line, it has "
        f"{reading('clicks and line ends')} symbols. With a code after each click it has {reading('clicks and click ends')}, "
        f"and with both codes {reading('clicks and both')}. In the count with both, the codes after clicks are "
        f"{r.number('errata-kosarak', 'commonest', '.3f', counted='clicks and both')} of all symbols.",
        f"The largest difference between our entries of Q and the printed entries is {fact('largest difference', '.3f')}. "
        f"The product of the printed Q and the printed P differs from the identity by at most "
        f"{fact('farthest entry of Q P from the identity, printed', '.3f')}. These",
        f"The example's epsilon is {fact('epsilon', '.2f')}, and the first column of P sums to "
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
    calculated = {
        epsilon: each(
            traced(float(one["theory"]) / float(one["at f*=1"]), ".2f") for one in r.rows("pilot", epsilon=epsilon)
        )
        for epsilon in (1, 3, 5)
    }
    for one in r.rows("pilot-price"):
        rows.append(
            row(
                *(setting(one["epsilon"]), setting(float(one["f*"]))),
                f"{number_of(one, 'm', '.0f')}, {number_of(one, 'm at f*=1', '.0f')}",
                *(number_of(one, column, ".2f") for column in ("held", "at frequency 1", "break even")),
            )
        )
    rows.append(
        f"In the order of the rows, this ratio is {calculated[1]} at epsilon 1, {calculated[3]} at epsilon 3 and "
        f"{calculated[5]} at epsilon 5. The ratio exceeds one if the library chooses a cheaper family"
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

    def needed(kind: str, column: str = "cells within 1%", spec: str = ",.0f") -> str:
        return each(r.number("rappor-cells", column, spec, kind=kind, epsilon=e) for e in EPSILONS)

    ratios = [
        r.value("rappor-cells", "limit", kind="sRP", epsilon=e)
        / r.value("rappor-cells", "OCMS+RR", kind="sRP", epsilon=e)
        for e in EPSILONS
    ]
    return [
        *rows,
        f"At 64 cells the error is {traced(min(above), '.1f')} to {traced(max(above), '.1f')} standard errors above the "
        f"limit. At 1,024 cells the difference is {traced(min(undecided), '.1f')} to {traced(max(undecided), '.1f')} standard "
        "errors, so it does not show whether the error is above the limit. We made 40 "
        f"comparisons with eq. (10), at f = 0 and .3. The largest |z| is {traced(largest, '.1f')}, and by chance alone it "
        "could be up to 3.7. So the runs agree with eq. (10), from which the paper's limits follow.",
        f"By eq. (6), and for epsilon 1 to 5, aRP needs {needed('aRP')} cells, and sRP needs {needed('sRP')}. A report "
        f"has one bit for each cell. For aRP and epsilon 1 to 5, eq. (45) as printed gives only "
        f"{needed('aRP', 'printed (45)', '.3g')} cells. As the number of cells grows, the l2 loss of aRP tends to the l2 "
        "loss of OCMS+RR. For epsilon 1 to 5, the l2 loss of sRP tends to "
        f"{each(traced(one, '.2f') for one in ratios)} times this loss.",
    ]


def _code(r: Results) -> list[str]:
    inverse = max(abs(float(one[column])) for one in r.rows("fairness-code") for column in list(one)[1:3])
    hashes = [float(one["1,024 over 2,048"]) - 1 for one in r.rows("fairness-hashes")]
    off = max(abs(float(one["z"])) for one in r.rows("fairness-hashes"))

    def coded(column: str, spec: str) -> str:
        return each(r.number("fairness-code", column, spec, epsilon=e) for e in EPSILONS)

    return [
        f"These entries agree with the two numbers in our corrected line 44 to {traced(inverse, '.0e')}",
        f"With 2,048 functions the l2 loss is within {traced(off, '.1f')} standard errors of theory in all ten settings (100 runs "
        f"each). In theory, the loss with 1,024 functions is larger by {traced(max(hashes), '.2%')} at most.",
        f"b = ceil(epsilon log2 e). For epsilon 1 to 5, b is {coded('b coded', '.0f')}.",
        f"the l2 loss divided by d would be {coded('l2/d printed', '.3g')}. It is {coded('l2/d coded', '.3g')} in both codes.",
        f"The largest MSE would be {coded('worst MSE printed', '.3g')}. It is {coded('worst MSE coded', '.3g')} in both codes.",
    ]


_SETTING, _PAPER, _DERIVED = "a setting of the experiments", "the paper", "docs/theory/sketches.md"

STATED = {
    "The first hundredth of the lines has 10,044 pages, and the first tenth has 23,496 pages": "the data set; `experiments/ocms/populations.py`",
    "a dictionary of 26,000": _PAPER,
    "100 runs per setting": _SETTING,
    'no value has a "frequency above 0.4"': _PAPER,
    "from 0.5 to 6 in steps of 0.01": _SETTING,
    "two values collide with probability 1/m": _DERIVED,
    "epsilon 0.5 to 6. The": _SETTING,
    "With more than 2^32 values": "the limit of CountMeanSketch's prime family",
    "over GF(2^l)": _DERIVED,
    "(10 runs; processor time of the fastest run, one core of a shared 2.6 GHz machine)": _SETTING,
    "sum 100,000 reports": _SETTING,
    "f proportional to 1/r^2, judged on the 100 commonest values": _SETTING,
    "100 runs, seed 1": _SETTING,
    "worst-case MSE, Zipf | epsilon 1 | 2 | 3 | 4 | 5": _SETTING,
    "a measured maximum over 100 values and 100 runs": _SETTING,
    "Theorem K.1 allows 1.70": "statistics.upper_factor(100, 100)",
    "standard deviation 50, f = 0, judged": _SETTING,
    "exceeds 3.8 with a probability of 1%": "statistics.critical_z(60)",
    "on Gaussian data, f = 0": _SETTING,
    "100 runs (subset selection 20)": _SETTING,
    "only the first 100,000 of 990,002 lines": "experiments/ocms/README.md",
    "the 1,000 commonest pages": _SETTING,
    "against every report. There are 10 runs": _SETTING,
    "the library, 100 runs": _SETTING,
    "exceeds 4.9 with a probability of 1%. By chance alone, the sum of z^2 is 15.4 on average": "Student's t at .01/24; 12 times 9/7",
    "in 100 runs of each": _SETTING,
    "400 lists of hash functions": _SETTING,
    "one list of 16 functions of 64 cells. The root mean squared error over 1,000 values": _SETTING,
    "n = 10^6 to 10^9": _SETTING,
    "for n = 10^7": _SETTING,
    "freshly drawn functions, the estimate is 0 within": "nobody holds the target",
    "We took the 101^2 functions": _SETTING,
    "d = 2^20": _SETTING,
    "Here k = 1,000 and n = 10,000, and there were 400 runs": _SETTING,
    "(E+1)(E+2^b-1)/(E-1)^2, E = e^epsilon": _DERIVED,
    "in units of 1/n": _SETTING,
    "may fail with probability 1e-6. Half-widths are in standard errors at f = 0, n = 10^6": _SETTING,
    "| | epsilon 1 | 2 | 4 | 6 |": _SETTING,
    "ends every click with -1 and every line with -2": "the format of sequence files",
    "so that the smallest number becomes 0. So the smallest number is -2": "the paper's published code",
    "a sketch without a bound on frequencies (f = 1)": _SETTING,
    "worst case at f = 1": _SETTING,
    "that the commonest value is below 10%": "advice",
    "is .29 at f = 0, epsilon 1, m = 3": "errata.csv, quoted above",
    "the commonest page has .076 of 801,947 clicks": "the prefix of Kosarak",
    "(100 runs each). The paper's text": _SETTING,
    "2e-8 (100 runs). The paper": _SETTING,
    "could reply that f = 1 bounds": _PAPER,
    "that f = 1 can always be taken": _PAPER,
    "of the bits that section 5.3 counts": _PAPER,
    "RHR's worst-case MSE measured in 100 runs with n = 801,947": "kosarak.csv, quoted above",
    "at epsilon 2 to 5. At epsilon 1 and 2 the measured": _SETTING,
    "From epsilon 3 on they are": _SETTING,
    "z of brute force is 2.4 and not 3.3. The sum of z^2 is 17.1 and not 24.2": "results/ocms/seeds.csv",
    "up to 10% above the best": "sketch.ocms.TOLERANCE",
    "In 40 comparisons, chance allows 3.7": "statistics.critical_z(40)",
    "The calculated ratio is 1.06": "pilot.csv, quoted above",
    "sRP at epsilon 1 with 1,024 cells is 2.8 standard errors below its limit and 3.0 below eq. (10)": "the other seed",
    "In this setting the second phase has 1.09 ± .03 times the error of f = 1": "the other seed",
    "the simulated variance is .15 ± .002 times the variance of eq. (20), instead of .44 ± .20 times": "the other seed",
    "`kosarak` with 10 runs instead of 100": "runs at the other seed",
    "means of 100 runs, so their maximum tends to be larger. On Kosarak's clicks the worst-case errors are 1.4 to 2.8 times those above. The l2 losses are .958 to 1.046": "results/ocms/seeds.csv",
    "The largest z is 3.8; with ten runs, chance allows 4.9": "seeds.csv; Student's t with nine degrees of freedom",
    "pages 97-112, doi 10.1109/CSF64896.2025.00024; also arXiv 2406.03785": "the title page of the proceedings",
    "2025 IEEE 38th Computer Security Foundations Symposium": "the title page of the proceedings",
    "Supplements S1 to S8": _PAPER,
    "false as printed (3.9)": "Theorem 3.9",
    "a field of 121 elements (m = 5), we listed all 14,641 assignments": "11^4; random-bits-listed.csv",
    "In a larger case we simulated 20,000 draws": _SETTING,
    "at n = 121, and for": _SETTING,
    "k = 1,000, a pilot of 1,000 of 10,000 contributors, 95% confidence, 2,000 runs": _SETTING,
    "the error of the sketch for f = 1, which allows any frequency": _SETTING,
    "over f = 1 | less?": _SETTING,
    "at f = 1, m | n MSE": _SETTING,
    "5.5% ± .5%, where the exact probability is 4.9%": "pilot.csv, quoted above",
    "At epsilon 1, our 2,000 runs show no gain": _SETTING,
    "a sketch that was planned without a bound (f = 1)": _SETTING,
    "calculated error of the sketch for f = 1": _SETTING,
    'column "at frequency 1"': _SETTING,
    'The column "over f = 1"': _SETTING,
    "calculated the ratio to f = 1 from": _SETTING,
    "The codes of these 100 values": _SETTING,
    "the measured sum of z^2": _SETTING,
    "m, and at f = 1 | while f holds | at frequency 1": _SETTING,
    "Here f = 0 and n = 1,000, and there were 20,000 runs": _SETTING,
    "m = 2 | 8 | 64 | 1,024": _SETTING,
    "At 64 cells": _SETTING,
    "At 1,024 cells the difference is": _SETTING,
    "We made 40 comparisons with eq. (10), at f = 0 and .3": _SETTING,
    "by chance alone it could be up to 3.7": "statistics.critical_z(40)",
    "within 1% of the limit at f = 0": _SETTING,
    'the paper\'s "over 170,000 entries" and "above 0.4" fit only the last count': _PAPER,
    "The commonest page has 7.6% of the clicks": "the prefix of Kosarak",
    "no value with frequency above 0.4": _PAPER,
    "2,048 hash functions of 1,024 cells, and our experiments have 1,024": "the author's code",
    "With 2,048 functions, no figure": _SETTING,
    "With 2,048 functions the l2 loss": _SETTING,
    "(100 runs each). In theory, the loss with 1,024 functions": _SETTING,
    "code has a dictionary of 1,000,000 values, and the paper's dictionary has 100,000": "the author's code",
    "P >= 5m it fails in": _SETTING,
    "With P >= 5m the corollary": _SETTING,
    "The library takes P >= 7m": _SETTING,
    "m = 2 to 12, all primes P below 12m, nine epsilons from .05 to 5": _SETTING,
    "An earlier edition of this page had sqrt(2/tau)": _DERIVED,
    "1% of the data has": _PAPER,
    "RHR's MSE is exactly (E+2^b-1)/(E+1) times HE's": _DERIVED,
}
"""Text of the page with numbers that no experiment measured."""

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
