"""Summary: the numbers and the sentences that every way of showing an estimate has in common."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.estimate import Floats, Target
from deniable.mechanism import Mechanism
from deniable.privacy import Guarantee, bound_text
from deniable.spec import to_spec

Selection = Literal["all", "top", "queries", "found"]

FORMAT = "deniable estimate"
FORMAT_VERSION = 1

_BLOCK = 1 << 16

_SHORT = 40
"""Longest parameter that is named beside a mechanism; learned tables are in the collection's file."""


@dataclass(frozen=True, eq=False)
class AttributeSummary:
    """What is known about one attribute: arrays over its k categories, NaN where a number does not exist.

    Parameters
    ----------
    attribute : str
        Name, as the schema declares it.
    categories : tuple of str
        Category names, length k.
    reports : int
        Number of reports about this attribute; fewer than the contributors if the mechanism samples attributes.
    estimate, standard_error, lower, upper : float64[k]
        Raw unbiased frequencies with their uncertainty; NaN without reports.
    processed : float64[k] or None
        Post-processed frequencies; they have no interval.
    truth : float64[k] or None
        True frequencies, where somebody knows them.
    total : int
        Number of categories that those here were selected from (`Summary.selection`); 0 if they are all.
    """

    attribute: str
    categories: tuple[str, ...]
    reports: int
    estimate: Floats
    standard_error: Floats
    lower: Floats
    upper: Floats
    processed: Floats | None = None
    truth: Floats | None = None
    total: int = 0

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the interval contains the truth, bool[k]; False where either does not exist."""
        if self.truth is None:
            return np.zeros(len(self.categories), dtype=np.bool_)
        # At the very end of an interval, rounding must not decide.
        slack = 1e-12
        return (self.lower - slack <= self.truth) & (self.truth <= self.upper + slack)

    def largest(self, limit: int) -> NDArray[np.intp]:
        """Return the positions of the `limit` largest estimates in the schema's order; all of them if k <= limit."""
        if len(self.categories) <= limit:
            return np.arange(len(self.categories))
        return np.sort(self.order()[:limit])

    def order(self) -> NDArray[np.intp]:
        """Return the positions of all categories, the largest estimate first."""
        return np.argsort(-self.estimate, kind="stable")

    def select(self, positions: NDArray[np.intp]) -> AttributeSummary:
        """Return only these categories, in this order."""
        columns: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[positions]
            for name in ("estimate", "standard_error", "lower", "upper", "processed", "truth")
        }
        categories = tuple(self.categories[i] for i in positions)
        return dataclasses.replace(self, categories=categories, total=len(self.categories), **columns)


@dataclass(frozen=True, eq=False)
class Summary:
    """Everything that one page says about one estimate; made by `summarize`.

    Parameters
    ----------
    title : str
        Heading; may be empty.
    mechanism : Mechanism
        Where the reports came from.
    guarantee : Guarantee
        What was promised to the contributors.
    n : int
        Number of contributors.
    attributes : tuple of AttributeSummary
        In the schema's order.
    confidence : float
        Coverage of the intervals.
    target : {"contributors", "population"}
        What the intervals cover.
    simultaneous : bool
        Whether all intervals hold together.
    processing : tuple of str
        Post-processing of the additional column, oldest step first.
    truth_n : int or None
        Number of records behind the truth.
    collection : str
        Id of the collection, or "".
    selection : {"all", "top", "queries", "found"}
        Which categories are listed: all, those of the largest estimates, those asked for, or those that a search found.
    together : int
        Number of intervals that hold together, if `simultaneous`; 0 for those that are listed.
    earlier : tuple of str
        Names of the mechanisms of earlier phases whose reports the estimate combines.
    biased : tuple of str
        Why estimates of the mechanism itself are biased, where they are: those have no intervals.
    """

    title: str
    mechanism: Mechanism[Any, Any]
    guarantee: Guarantee
    n: int
    attributes: tuple[AttributeSummary, ...]
    confidence: float = 0.95
    target: Target = "contributors"
    simultaneous: bool = False
    processing: tuple[str, ...] = ()
    truth_n: int | None = None
    collection: str = ""
    selection: Selection = "all"
    together: int = 0
    earlier: tuple[str, ...] = ()
    biased: tuple[str, ...] = ()

    @property
    def mechanism_text(self) -> str:
        """The mechanism in a few words: its name, its oracle, and its short parameters other than sizes and budget.

        Mechanisms of earlier phases come first, by their names.
        """
        mechanism: Any = self.mechanism
        shown = {"k", "sizes", "epsilon", "oracle", "oracles", "priors", "copy_probabilities", "alignment"}
        values = {
            field.name: str(getattr(mechanism, field.name))
            for field in dataclasses.fields(mechanism)
            if field.init and field.name not in shown and getattr(mechanism, field.name) not in (None, "", ())
        }
        extra = [f"{name}={value}" for name, value in values.items() if len(value) <= _SHORT]
        over = f" over {mechanism.oracle}" if isinstance(getattr(mechanism, "oracle", None), str) else ""
        if any(field.name == "oracles" for field in dataclasses.fields(mechanism)):
            over = f" over {', '.join(dict.fromkeys(oracle.name for oracle in mechanism.oracles))}"
        here = f"{mechanism.name}{over}" + (f" ({', '.join(extra)})" if extra else "")
        return ", then ".join([*self.earlier, here])

    @property
    def budget_text(self) -> str:
        """The whole contributor's epsilon in a few words, with its condition if a dealer's collusion undoes it."""
        epsilon = self.guarantee.epsilon
        trusted = any("dealer" in row.adversary and row.epsilon > epsilon for row in self.guarantee.trust_models)
        return f"epsilon = {bound_text(epsilon)} " + (
            "unless the dealer colludes" if trusted else "for the whole contributor"
        )

    @property
    def level_text(self) -> str:
        """The confidence as "95%", without digits that are not there."""
        return f"{100 * self.confidence:.10g}%"

    @property
    def has_intervals(self) -> bool:
        """Whether any interval exists."""
        return any(bool(np.isfinite(row.lower).any()) for row in self.attributes)

    @property
    def interval_text(self) -> str:
        """What the intervals cover, or why there are none."""
        without = f"The estimate is biased: {'; '.join(self.biased)}." if self.biased else ""
        if without and not self.has_intervals:
            return f"There are no intervals. {without}"
        count = self.together or sum(len(row.categories) for row in self.attributes if row.reports)
        together = f"; all {count:,} hold together with at least that confidence" if self.simultaneous else ""
        covers = (
            f"the frequency among these {self.n:,} contributors: the noise of the randomisation only"
            if self.target == "contributors"
            else f"the frequency in the population that these {self.n:,} contributors were drawn from: "
            "the noise of the randomisation and of the sampling"
        )
        text = f"The {self.level_text} interval covers {covers}{together}."
        return f"{text} Where there is none: {without[0].lower()}{without[1:]}" if without else text

    @property
    def selection_text(self) -> str:
        """One sentence: what a selected list must not be taken for; empty if all categories are listed."""
        if self.selection == "top":
            return (
                "The list was selected by its estimates, which noise raised in part: read the intervals, which are "
                "wide enough to hold for all categories, listed or not."
            )
        if self.selection == "found":
            return (
                "The list was found in the same reports: close to the threshold estimates are a little too high, and a "
                "string that is not listed may be as frequent. The longest strings may be beginnings of longer ones. "
                "The intervals hold for every string that was looked at, unless it shares a fold with a frequent one."
            )
        return ""

    def cut_text(self, limit: int) -> str:
        """One sentence for a page that lists at most `limit` categories of an attribute; empty if it leaves out none.

        Those left out have the smallest estimates, so the list is selected although nobody asked for a selection.
        """
        cut = any(row.reports and len(row.categories) > limit for row in self.attributes)
        if not cut or self.selection != "all" or self.simultaneous or not self.has_intervals:
            return ""
        return (
            "Of a long list only the largest estimates are shown, which noise raised in part: every interval holds for "
            "its own category, and does not allow for that choice."
        )

    @property
    def processing_text(self) -> str:
        """One sentence about the post-processed column; empty if there is none."""
        if not self.processing:
            return ""
        return f"The {self.processing_name} column is post-processed: it is biased and has no interval."

    @property
    def processing_name(self) -> str:
        """Name of the post-processed column."""
        return ", ".join(self.processing)

    @cached_property
    def coverage(self) -> tuple[int, int] | None:
        """(intervals that contain the truth, intervals), or None if the truth is not known."""
        if self.truth_n is None:
            return None
        known = [row for row in self.attributes if row.reports and row.truth is not None]
        return sum(int(row.covered.sum()) for row in known), sum(len(row.categories) for row in known)

    @property
    def coverage_text(self) -> str:
        """One sentence: how many intervals contain the truth; empty if it is not known."""
        if self.coverage is None:
            return ""
        hits, total = self.coverage
        expected = "all of them together" if self.simultaneous else f"about {self.confidence * total:.1f} expected"
        return f"{hits} of {total} intervals contain the truth ({expected})."

    @cached_property
    def decimals(self) -> int:
        """Decimals of a percentage: two digits of the smallest standard error, between 1 and 4."""
        errors = [
            row.standard_error[np.isfinite(row.standard_error) & (row.standard_error > 0)] for row in self.attributes
        ]
        smallest = min((float(values.min()) for values in errors if values.size), default=0.01)
        return min(max(1 - math.floor(math.log10(100 * smallest)), 1), 4)

    def percent(self, value: float) -> str:
        """Return a frequency as a percentage with `decimals`, "-" if it does not exist."""
        if not math.isfinite(value):
            return "-"
        text = f"{100 * value:.{self.decimals}f}%"
        return text[1:] if text.startswith("-") and not text.strip("-0.%") else text

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON data in full precision, None for numbers that do not exist."""
        data = self._head()
        for row, attribute in zip(self.attributes, data["attributes"], strict=True):
            attribute["categories"] = list(_category_dicts(row))
        return data

    def _head(self) -> dict[str, Any]:
        """Return the same without the categories."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "title": self.title,
            "collection": self.collection,
            "mechanism": to_spec(self.mechanism),
            "guarantee": _without_infinities(self.guarantee.to_dict()),
            "n": self.n,
            "interval": {
                "confidence": self.confidence,
                "target": self.target,
                "simultaneous": self.simultaneous,
                "covers": self.interval_text,
            },
            "selection": self.selection,
            "processing": list(self.processing),
            "truth_n": self.truth_n,
            "attributes": [
                {"attribute": row.attribute, "reports": row.reports}
                | ({"selected_from": row.total} if row.total else {})
                for row in self.attributes
            ],
        }

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text of `to_dict` piece by piece, one category per line: for domains of millions."""
        head = self._head()
        attributes = head.pop("attributes")
        yield (
            json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}") + ',\n  "attributes": ['
        )
        for j, row in enumerate(self.attributes):
            text = json.dumps(attributes[j], ensure_ascii=False, allow_nan=False).removesuffix("}")
            yield f'{"," if j else ""}\n    {text}, "categories": ['
            comma = ""
            for category in _category_dicts(row):
                yield f"{comma}\n      {json.dumps(category, ensure_ascii=False, allow_nan=False)}"
                comma = ","
            yield "\n    ]}"
        yield "\n  ]\n}"


def _category_dicts(row: AttributeSummary) -> Iterator[dict[str, Any]]:
    """Yield what is known about every category."""
    names = ["estimate", "standard_error", "lower", "upper", "processed", "truth"]
    columns = {name: getattr(row, name) for name in names if getattr(row, name) is not None}
    for start in range(0, len(row.categories), _BLOCK):
        labels = row.categories[start : start + _BLOCK]
        for label, *values in zip(
            labels, *(column[start : start + _BLOCK].tolist() for column in columns.values()), strict=True
        ):
            known = (value if math.isfinite(value) else None for value in values)
            yield {"category": label, **dict(zip(columns, known, strict=True))}


def _without_infinities(value: Any) -> Any:
    """Return JSON data with None for numbers that JSON cannot write."""
    if isinstance(value, dict):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
