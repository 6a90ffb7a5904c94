"""Quotations about Adult's two encodings and figure 8 in docs/papers/cpl.md (see `experiments.pages`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from experiments.cpl.adult_encodings import AS_IS, MERGED
from experiments.cpl.attacks import TOLERANCE
from experiments.cpl.calibration import CAPS, FAILURE_CAPS
from experiments.cpl.choices import ALL_CAPS, PUBLIC_CAPS
from experiments.pages import Results, number_of, setting, traced

UNIT = 1e-4
_Row = Mapping[str, str]


def _line(label: str, cells: Iterable[str]) -> str:
    return f"| {label} | {' | '.join(cells)} |"


def _share(row: _Row) -> str:
    """Return a share and its standard error."""
    return f"{number_of(row, 'share broken', '.1%')} ± {number_of(row, 'standard error', '.1%')}"


def adult(results: Results) -> list[str]:
    """Return the table of both encodings, and sentences elsewhere that quote them."""
    both = [results.rows("adult", encoding=encoding)[0] for encoding in (AS_IS, MERGED)]
    merged = both[1]
    lines = {
        f"categories of {setting(15)} attributes": ("categories", ".0f"),
        f"CPL below {setting(0.1)}, GRR": ("below epsilon/10", ".0%"),
        "the same by Algorithm 2": ("the same by Algorithm 2", ".0%"),
        f"CPL below {setting(0.5)}, GRR": ("below epsilon/2", ".0%"),
        "correlation of CPL with the coefficient of Pearson": ("correlation with Pearson", ".2f"),
        "TCPL, Algorithm 2": ("TCPL, Algorithm 2", ".0f"),
        "TCPL, GRR": ("TCPL, GRR", ".0f"),
        "undershoot of GRR-ANL": ("GRR-ANL undershoot", ".4f"),
    }
    quotes = [_line(label, (number_of(row, column, spec) for row in both)) for label, (column, spec) in lines.items()]
    near = []
    for encoding in (AS_IS, MERGED):
        rows = results.rows("adult-table1", encoding=encoding)
        near.append(traced(sum(abs(float(row["ours"]) - float(row["paper"])) <= TOLERANCE for row in rows), "d"))
    quotes.append(_line(f"Table I, cells within {setting(TOLERANCE)} of the paper, of {setting(16)}", near))
    for epsilon in (1, 3):
        for mechanism in ("GRR", "EXP"):
            cells = [results.rows("adult-table2", encoding=encoding, epsilon=epsilon, mechanism=mechanism)[0]
                     for encoding in (AS_IS, MERGED)]  # fmt: skip
            label = (
                f"Table II, {mechanism}, epsilon {epsilon}; the paper {traced(float(cells[0]['paper']) / UNIT, '.3g')}"
            )
            quotes.append(_line(label, (traced(float(cell["nmse"]) / UNIT, ".3g") for cell in cells)))
    return [
        *quotes,
        f"With rare categories merged, the three numbers of Adult in the table are "
        f"{number_of(merged, 'below epsilon/10', '.0%')}, "
        f"{number_of(merged, 'the same by Algorithm 2', '.0%')} and {number_of(merged, 'below epsilon/2', '.0%')}",
        f"It is {number_of(both[0], 'correlation with Pearson', '.2f')} in Adult as it stands, "
        f"and {number_of(merged, 'correlation with Pearson', '.2f')} in Adult with rare categories merged",
        f"On Adult as it stands, {near[0]} of {setting(16)} cells match. If we merge rare categories of Adult, "
        f"{near[1]} cells match.",
        f"The undershoot of GRR-ANL on Adult is then {number_of(merged, 'GRR-ANL undershoot', '.4f')}.",
    ]


def figure_8(results: Results) -> list[str]:
    """Return the page's statements about budgets: the factor, broken caps, exact budgets, and LFW."""

    def budget(criterion: str, cap: float, column: str, spec: str, prior: str = "CelebA") -> str:
        return results.number("fig8", column, spec, criterion=criterion, prior=prior, cap=cap)

    at = {cap: results.rows("fig8-choices-summary", cap=cap)[0] for cap in ALL_CAPS}
    one, twenty = at[1.0], at[20.0]
    drawn = number_of(one, "choices", ".0f")
    whole = [float(row["times SPL"]) for row in results.rows("fig8", criterion="exact", prior="CelebA")]
    exact, additive = ([budget(name, cap, "epsilon", ".3f") for cap in CAPS] for name in ("exact", "additive"))
    halves = max(abs(float(row[half]) / float(row["all"]) - 1)
                 for row in results.rows("fig8-halves") for half in ("half", "other half"))  # fmt: skip
    broken = [at[cap] for cap in FAILURE_CAPS]
    over = [traced(float(row["largest exact/cap"]) - 1, ".1%") for row in broken]
    first = [budget("additive", cap, "exact total under CelebA", ".2f") for cap in FAILURE_CAPS]
    caps = setting("1, 5 and 20")
    return [
        _line(f"times SPL, {setting(21)} of {setting(38)}", (f"cap {setting(cap)}" for cap in ALL_CAPS)),
        *(
            _line(label, (number_of(at[cap], column, ".2f") for cap in ALL_CAPS))
            for label, column in (
                ("least", "least"), ("median", "median"), ("most", "most"), ("greedy choice", "greedy"),
            )
        ),
        _line(
            f"share of choices at {setting(4.5)} or more",
            (number_of(at[cap], "share at 4.5 or more", ".0%") for cap in ALL_CAPS),
        ),
        f"{drawn} random choices of {setting(21)} of the {setting(38)} attributes. The factor is "
        f"{number_of(one, 'least', '.1f')} to {number_of(one, 'most', '.1f')} at a cap of {setting(1)} and "
        f"{number_of(twenty, 'least', '.1f')} to {number_of(twenty, 'most', '.1f')} at a cap of {setting(20)}",
        f"For the first {setting(21)} attributes, the factor is then {traced(min(whole), '.1f')} to "
        f"{traced(max(whole), '.1f')}.",
        f"For the first {setting(21)} attributes, exact totals give {traced(min(whole), '.1f')} to "
        f"{traced(max(whole), '.1f')}",
        f"For the first {setting(21)} shared attributes, the exact totals are "
        f"{first[0]}, {first[1]} and {first[2]} at caps of {caps}",
        f"with {drawn} random choices",
        f"With a cap of {setting(1)}, the exact total exceeds the cap for {_share(broken[0])} of the choices. "
        f"With a cap of {setting(5)} it does so for {_share(broken[1])}, "
        f"and with a cap of {setting(20)} for {_share(broken[2])}. "
        f"The largest excess at these caps is {over[0]}, {over[1]} and {over[2]} of the cap",
        _line("share of choices that exceed the cap", map(_share, broken)),
        _line("exact total / cap, median", (number_of(row, "median exact/cap", ".3f") for row in broken)),
        _line("exact total / cap, largest", (number_of(row, "largest exact/cap", ".3f") for row in broken)),
        _line("exact total / cap, greedy choice", (number_of(row, "greedy exact/cap", ".3f") for row in broken)),
        _line("common budget", (f"cap {setting(cap)}" for cap in CAPS)),
        _line("by exact totals", exact),
        _line(f"by {setting('(6)')}", additive),
        f"each half of CelebA gives totals within {traced(halves, '.1%')} of the totals from all of CelebA",
        *_public(results),
    ]  # fmt: skip


def _public(results: Results) -> list[str]:
    runs = results.rows("fig8-public")
    held = sum(float(row["exact/cap"]) <= 1 + 1e-9 for row in runs)
    worst = max(runs, key=lambda row: float(row["exact/cap"]))

    def over(criterion: str) -> list[float]:
        return [
            float(results.text("fig8", "epsilon", criterion=criterion, prior="LFW", cap=cap))
            / float(results.text("fig8", "epsilon", criterion=criterion, prior="CelebA", cap=cap))
            for cap in CAPS
        ]

    added = [traced(ratio, ".2f" if ratio < 0.99 else ".3f") for ratio in over("additive")]
    smaller = [1 - ratio for ratio in over("exact")]
    known = {(row["attributes"], row["epsilon"]): float(row["correlation"]) for row in results.rows("observations-lfw")}
    first, every = ([value for (count, _), value in known.items() if int(count) == size] for size in (21, 38))
    below = results.number("observations-lfw", "share LFW underestimates", ".0%", attributes=21, epsilon=1)
    many = {(row["criterion"], float(row["cap"])): row for row in results.rows("fig8-public-choices")}
    broken = max(float(many["exact", cap]["share broken"]) for cap in PUBLIC_CAPS)
    quotes = [
        f"The cap was exceeded for up to {traced(broken, '.1%')} of these choices",
        f"the cap held in {traced(held, 'd')} of {traced(len(runs), 'd')} runs",
        _line("LFW's budget / CelebA's budget", added),
        f"are {traced(min(smaller), '.0%')} to {traced(max(smaller), '.0%')} smaller than CelebA's own",
        f"a cap of {setting(20)} on LFW. Under CelebA's joint distribution, their total is "
        f"{number_of(worst, 'exact total', '.1f')}",
        f"Over the pairs of the first {setting(21)} attributes, the correlation between LFW's and CelebA's CPLs is "
        f"{traced(min(first), '.2f')} to {traced(max(first), '.2f')}. Over the pairs of all {setting(38)} attributes "
        f"it is {traced(min(every), '.2f')} to {traced(max(every), '.2f')}.",
        f"At epsilon 1, {below} of the CPLs of the first {setting(21)} attributes are lower in LFW than in CelebA",
        _line(
            f"LFW's budgets, {setting(12)} of {setting(38)}, {number_of(many['exact', 1.0], 'choices', '.0f')} choices",
            (f"cap {setting(cap)}" for cap in PUBLIC_CAPS),
        ),
    ]
    for criterion in ("exact", "additive"):
        rows = [many[criterion, cap] for cap in PUBLIC_CAPS]
        quotes += [
            _line(f"{criterion}: share of choices that exceed the cap under CelebA's joint", map(_share, rows)),
            _line(f"{criterion}: largest exact total / cap", (number_of(r, "largest exact/cap", ".2f") for r in rows)),
            _line(f"{criterion}: median budget / CelebA's budget",
                  (number_of(r, "median LFW/CelebA", ".2f") for r in rows)),
        ]  # fmt: skip
    return quotes


def beyond(results: Results) -> list[str]:
    """Return the page's statements about wrong priors and about the choice of attributes to release."""
    near = results.rows("wrong-prior")
    radii = ("radius 0", "radius 0.01", "radius 0.05", "radius 0.1")
    chosen = results.rows("selection")
    spread = [
        f"{number_of(row, 'greedy falls short', '.1%')} ± {number_of(row, 'standard error', '.1%')}" for row in chosen
    ]
    gaps = [number_of(row, "largest gap", ".0%") for row in chosen]
    return [
        *(
            _line(
                row["figure"],
                [
                    *(number_of(row, radius, ".3f") for radius in radii),
                    number_of(row, "LFW's distance", ".2f"),
                    number_of(row, "under LFW", ".3f"),
                ],
            )
            for row in near
        ),
        f"for {number_of(chosen[0], 'tried', '.0f')} random sets of {setting(8)} attributes",
        _line("share of sets in which it releases fewer attributes than the best choice", spread),
        _line("largest number of missing attributes, relative to the best choice", gaps),
    ]
