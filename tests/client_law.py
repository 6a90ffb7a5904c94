"""Test whether reports of the browser client, with the browser's own generator, have the exact distributions.

``python -m tests.client_law -o results/client-law.json`` draws 100,000 reports of each mechanism and compares them with
``channel(exact=True)`` by chi-squared. Each expected count is at least five. Hash families too large to be listed are
compared by support counts: the number of reports that support the true value, and other values.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from deniable.core.construction import mechanism
from deniable.core.outputs import write_text
from deniable.core.spec import to_spec
from deniable.files.wire import to_wire
from deniable.survey.schema import Attribute, Schema

ROOT = Path(__file__).parents[1]
LEAST_EXPECTED = 5
PRIORS = ((0.9, 0.1), (0.2, 0.3, 0.5))
COPIES = ((1, 0.25, 0.7), (0.6, 1, 0), (1, 0.5, 1))


@dataclass(frozen=True)
class Law:
    """Test result for one mechanism.

    Parameters
    ----------
    name : str
        Name of the mechanism and of the tested quantity.
    reports : int
        Number of reports drawn.
    cells : int
        Number of outcomes compared.
    least_expected : float
        Smallest expected count.
    statistic, p : float
        Chi-squared, and the probability of a larger value if the distribution is right.
    """

    name: str
    reports: int
    cells: int
    least_expected: float
    statistic: float
    p: float


def drawn(made: Any, answers: list[Any], reports: int, **further: Any) -> Any:
    """Return the client's counts for this many reports of one contributor's answers."""
    asked = {"mechanism": to_spec(made), "answers": answers, "reports": reports, **further}
    done = subprocess.run(
        ["node", str(ROOT / "client" / "law.mjs")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def compared(name: str, expected: Any, found: Any, reports: int) -> Law:
    """Return chi-squared of counts[cells] against probabilities[cells]; rare cells are pooled."""
    wanted, seen = np.asarray(expected, dtype=np.float64) * reports, np.asarray(found, dtype=np.float64)
    assert abs(wanted.sum() - reports) < 1e-6 * reports
    assert seen.sum() == reports
    rare = wanted < LEAST_EXPECTED
    if rare.any():
        # Rare reports are joined with enough others, so that the rest is not rare either.
        order = np.argsort(wanted)
        rare[order[: 1 + int((np.cumsum(wanted[order]) < LEAST_EXPECTED).sum())]] = True
        wanted = np.append(wanted[~rare], wanted[rare].sum())
        seen = np.append(seen[~rare], seen[rare].sum())
    statistic = float(((seen - wanted) ** 2 / wanted).sum())
    p = float(stats.chi2.sf(statistic, len(wanted) - 1))
    return Law(name, reports, len(wanted), float(wanted.min()), statistic, p)


def listed(name: str, made: Any, codes: list[int], reports: int, against: Any = None) -> Law:
    """Compare the reports of one contributor with the exact channel, or with that of another mechanism if given."""
    law = against or made
    channel = law.channel(exact=True)
    row = int(np.ravel_multi_index(codes, law.domain))
    names = [bytes(one).hex() for one in to_wire(law, law.outputs())]
    found = drawn(made, codes, reports)
    assert found.keys() <= set(names), "the client made a report that the mechanism does not have"
    return compared(name, channel[row], [found.get(one, 0) for one in names], reports)


def supported(name: str, made: Any, code: int, others: list[int], reports: int) -> list[Law]:
    """Compare the numbers of reports that support the true value, and other values, with the exact probabilities."""
    found = drawn(made, [code], reports, values=[code, *others])
    p, q = map(float, made.support_probabilities)
    return [
        compared(f"{name}, {what}", [one, 1 - one], [count, reports - count], reports)
        for what, one, count in [("held", p, found[0]), *(("another", q, count) for count in found[1:])]
    ]


def rounded(reports: int) -> Law:
    """Compare the codes of a rounded number with the exact probability, at an epsilon that hardly ever lies."""
    schema = Schema((Attribute("hours", kind="numeric", range=(0, 10), grid=5),))
    made = mechanism("GRR", k=5, epsilon=2)
    found = drawn(made, ["3.1"], reports, schema=schema.to_dict())
    # 3.1 lies .24 of the way from the second point to the third.
    channel = made.channel()
    expected = 0.76 * channel[1] + 0.24 * channel[2]
    return compared("random rounding", expected, [found.get(f"{code:02x}", 0) for code in range(5)], reports)


def laws(reports: int) -> Iterator[Law]:
    """Yield the results for all mechanisms that the client knows."""
    chosen: list[tuple[str, dict[str, Any], list[int]]] = [
        ("GRR", {"k": 5, "epsilon": "1"}, [3]),
        ("SUE", {"k": 4, "epsilon": "1"}, [2]),
        ("OUE", {"k": 4, "epsilon": "1"}, [2]),
        ("SubsetSelection", {"k": 8, "epsilon": "1", "omega": 3}, [5]),
        ("SubsetSelection", {"k": 70, "epsilon": "4", "omega": 1}, [69]),
        ("SquareWave", {"k": 9, "epsilon": "1"}, [2]),
        ("CMS", {"k": 5, "epsilon": "1", "m": 2}, [4]),
        ("CMS", {"k": 20, "epsilon": "1", "m": 4, "family": "spread"}, [17]),
        ("SPL", {"sizes": (2, 3), "epsilon": "2"}, [1, 2]),
        ("SPL", {"sizes": (2, 3), "epsilon": "2", "oracle": "OUE"}, [1, 2]),
        ("SMP", {"sizes": (2, 3, 4), "epsilon": "1"}, [1, 2, 0]),
        ("SMP", {"sizes": (2, 3, 4), "epsilon": "1", "oracle": "OUE"}, [1, 2, 0]),
        ("SMP[ADP]", {"sizes": (2, 30), "epsilon": "1"}, [1, 20]),
        ("PivotCoded", {"sizes": (3, 3, 3), "epsilon": "1"}, [0, 1, 2]),
        ("PivotCoded", {"sizes": (2, 3, 5), "epsilon": "1"}, [1, 2, 4]),
        ("PairSample", {"sizes": (2, 3, 2), "epsilon": "1", "singles": "0.25"}, [1, 2, 0]),
        ("RS+RFD", {"sizes": (2, 3), "epsilon": "1", "priors": PRIORS}, [1, 2]),
        ("Corr-RR", {"sizes": (3, 3, 3), "epsilon": "1", "copy_probabilities": COPIES}, [0, 1, 2]),
        ("Corr-RR", {"sizes": (2, 3, 5), "epsilon": "1", "copy_probabilities": COPIES}, [1, 2, 4]),
    ]
    for name, parameters, codes in chosen:
        made = small_adaptive() if name == "SMP[ADP]" else mechanism(name, **parameters)
        yield listed(f"{name} {parameters}", made, codes, reports)
    for family in ("prime", "spread"):
        made = mechanism("CMS", k=1000, epsilon="1", family=family)
        yield from supported(f"CMS {family} of 1,000", made, 17, [0, 16, 18, 999], reports)
    yield rounded(reports)


def small_adaptive() -> Any:
    """Return adaptive sampling with few enough reports to list."""
    oracles = (mechanism("GRR", k=2, epsilon="1"), mechanism("SubsetSelection", k=30, epsilon="1", omega=2))
    return mechanism("SMP[ADP]", sizes=(2, 30), epsilon="1", oracles=oracles)


def main() -> None:
    """Write the results, and fail if a distribution is wrong."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--reports", type=int, default=100_000)
    options.add_argument("-o", "--output", type=Path, default=ROOT / "results" / "client-law.json")
    chosen = options.parse_args()
    found = []
    for law in laws(chosen.reports):
        print(f"p = {law.p:8.4f}, {law.cells:5d} cells of {law.least_expected:.1f} or more: {law.name}", flush=True)
        found.append(law)
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    write_text(chosen.output, json.dumps([asdict(law) for law in found], indent=2) + "\n")
    worst = min(found, key=lambda law: law.p)
    if worst.p <= 1e-4 or min(law.least_expected for law in found) < LEAST_EXPECTED:
        raise SystemExit(f"{worst.name} has a wrong distribution: p = {worst.p}")


if __name__ == "__main__":
    main()
