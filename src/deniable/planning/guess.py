"""Guess of the contributors' answers for a rehearsal, from a rough file of answers or of shares.

A guess is private if it is made from real people's answers. A rehearsal shows none of its rows, but it shows exact
shares. The simulated reports of a rehearsal protect nobody, because their randomness has a known seed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.files import open_answers
from deniable.survey.attribute import Attribute
from deniable.survey.decimals import NumberColumns
from deniable.survey.schema import Schema

SHARES = ("attribute", "category", "share")
"""Columns of a file of shares."""

SLACK = 0.02
"""Largest distance of the sum of a question's shares from 1, because shares are rounded by hand."""

MOST = 1 << 40
"""Largest number of contributors in a rehearsal."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Guess:
    """A guess of the answers: distinct records, and the weight of each.

    Parameters
    ----------
    schema : Schema
        Schema of the survey.
    records : int64[r, d]
        Codes of the distinct records.
    weights : float64[r]
        Weight of each record, as a share or as a number of people. Not all are 0.
    from_answers : bool
        Whether the guess came from rows of answers, which may be real people's.
    """

    schema: Schema
    records: Codes
    weights: NDArray[np.float64]
    from_answers: bool = False

    @classmethod
    def from_codes(cls, schema: Schema, codes: Codes) -> Guess:
        """Return the guess that people answer like these records, int[n, d]."""
        if not len(codes):
            raise InvalidInputError("the guess must have at least one row of answers, got none")
        records, counts = np.unique(codes.astype(np.int64), axis=0, return_counts=True)
        return cls(schema, records, counts.astype(np.float64), from_answers=True)

    @classmethod
    def from_shares(cls, schema: Schema, shares: Mapping[str, Mapping[str, float]]) -> Guess:
        """Return the guess that answers have given shares.

        The shares do not say which answers to different questions one person combines. The guess combines them in the
        order of the lists: people whose answer is early in one list have answers early in the other lists, too. No
        result of a rehearsal depends on these combinations.

        Parameters
        ----------
        schema : Schema
            Schema of the survey.
        shares : mapping of question to mapping of category to float
            Shares of the categories of every question. Categories that are not named have share 0. The shares of a
            question sum to 1. For a question with several answers, each option has its own share of people who choose
            it.

        Raises
        ------
        InvalidInputError
            If a question is missing, a category is unknown, or the shares of a question are not valid.

        Examples
        --------
        >>> schema = Schema((Attribute("smoker", ("yes", "no")), Attribute("mood", ("bad", "fair", "good"))))
        >>> guess = Guess.from_shares(schema, {"smoker": {"yes": 0.3, "no": 0.7}, "mood": {"fair": 0.5, "good": 0.5}})
        >>> guess.people(10)[0].tolist(), guess.people(10)[1].tolist()
        ([[0, 1], [1, 1], [1, 2]], [3, 2, 5])
        """
        unknown = [name for name in shares if name not in schema.asked]
        if unknown:
            raise InvalidInputError(
                f"the guess must name only questions of the schema; {quoted(unknown[0])} is not in the schema"
            )
        columns: list[NDArray[np.float64]] = []
        for attribute in schema.attributes:
            if attribute.name not in shares:
                raise InvalidInputError(
                    f"the guess must have shares for every question, but {quoted(attribute.name)} has no shares"
                )
            columns += _columns(attribute, shares[attribute.name])
        ends = [np.cumsum(column) for column in columns]
        cuts = np.unique(np.concatenate([[0.0, 1.0], *(end[:-1] for end in ends)]).clip(0, 1))
        middles = (cuts[1:] + cuts[:-1]) / 2
        records = np.stack([np.minimum(np.searchsorted(end, middles), len(end) - 1) for end in ends], axis=1)
        return cls(schema, records.astype(np.int64), np.diff(cuts))

    @classmethod
    def read(cls, path: str | os.PathLike[str], schema: Schema) -> Guess:
        """Return the guess that a CSV or Parquet file contains: rows of answers, or columns attribute, category, share.

        Numbers are rounded to their grid at random, in the same way each time.

        Raises
        ------
        InvalidInputError
            If an answer cannot be encoded, or shares are not valid. The message names the row or the question.
        FileFormatError
            If the file cannot be read.
        """
        with open_answers(path) as reader:
            listed = set(reader.columns) == set(SHARES) and set(schema.asked) != set(SHARES)
        return cls._read_shares(path, schema) if listed else cls._read_answers(path, schema)

    @classmethod
    def _read_answers(cls, path: str | os.PathLike[str], schema: Schema) -> Guess:
        rounding, parts = SimulationRandomness(0), []
        with open_answers(path, schema.asked, numbers=NumberColumns(schema.number_columns)) as reader:
            for batch in reader:
                parts.append(schema.read(batch, reader.rows - batch.num_rows + 1).codes(rounding))
        return cls.from_codes(schema, np.concatenate(parts) if parts else np.empty((0, len(schema.sizes)), np.int64))

    @classmethod
    def _read_shares(cls, path: str | os.PathLike[str], schema: Schema) -> Guess:
        shares: dict[str, dict[str, float]] = {}
        row = 0
        with open_answers(path, SHARES, numbers=NumberColumns({"share": ()})) as reader:
            for batch in reader:
                for name, category, text in zip(*(batch.column(key).to_pylist() for key in SHARES), strict=True):
                    row += 1
                    own = shares.setdefault(str(name), {})
                    if str(category) in own:
                        raise InvalidInputError(
                            f"the guess must name each category once, but row {row} repeats a category"
                        )
                    own[str(category)] = _share(text, row)
        return cls.from_shares(schema, shares)

    def people(self, contributors: int, seed: int = 0) -> tuple[Codes, NDArray[np.int64]]:
        """Return distinct records int64[r, d] of contributors, and the number of people with each, int64[r].

        The weights of the guess are scaled to the number of contributors and rounded to whole people. If records have
        equal claims to a last person, `seed` decides.
        """
        n = checked_integer("contributors", contributors, 1, MOST)
        exact = self.weights / self.weights.sum() * n
        held = np.floor(exact).astype(np.int64)
        # The largest remainders get one more each, with ties in random order.
        order = SimulationRandomness(seed).generator.permutation(len(held))
        rest = (exact - held)[order].round(9)
        held[order[np.argsort(-rest, kind="stable")[: n - int(held.sum())]]] += 1
        present = held > 0
        return self.records[present], held[present]


def _columns(attribute: Attribute, shares: Mapping[str, float]) -> list[NDArray[np.float64]]:
    """Return the shares of each column that a question fills."""
    where = f"the guess of {quoted(attribute.name)}"
    if not attribute.question_kind.coded:
        raise InvalidParameterError(
            "the guess must be for questions with categories, got a question with open text; to rehearse this "
            "question, give the question a list of words"
        )
    codes = {label: code for code, label in enumerate(attribute.labels)}
    strange = [label for label in shares if label not in codes]
    if strange:
        raise InvalidInputError(
            f"{where} must use only categories of the question; {quoted(strange[0])} is not a category of the question"
        )
    values = np.array([shares.get(label, 0.0) for label in attribute.labels])
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1 + SLACK:
        raise InvalidInputError(f"{where} must contain shares between 0 and 1; for example, write 0.25 for a quarter")
    if attribute.question_kind.several:
        return [np.array([1 - ticked, ticked]) for ticked in values.clip(0, 1)]
    if abs(values.sum() - 1) > SLACK:
        raise InvalidInputError(f"{where} must sum to 1, got {values.sum():g}")
    return [values / values.sum()]


def _share(text: object, row: int) -> float:
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(
            f"the guess must have a number in the share column of every row, but row {row} has no number there"
        )
    return value
