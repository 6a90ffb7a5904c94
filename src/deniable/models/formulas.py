"""Formulas, the randomised attributes and plain columns that they name, and the columns of a model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deniable.errors import InvalidInputError, InvalidParameterError, MissingExtraError, quoted
from deniable.models.row_laws import Floats

if TYPE_CHECKING:
    import pandas

INTERCEPT = "Intercept"


class RandomisedTerm(NamedTuple):
    """Term of the right side that contains randomised attributes.

    Attributes
    ----------
    names : tuple of str
        Names of the attributes.
    spelled : tuple of str
        Spelling of the attributes in the formula, `drink` or `C(drink)`.
    plain : frozenset of str
        Plain factors that the term multiplies; empty for effects of attributes alone.
    """

    names: tuple[str, ...]
    spelled: tuple[str, ...]
    plain: frozenset[str]


@dataclass(frozen=True, eq=False)
class ModelFormula:
    """Formula, divided into its randomised and its plain parts.

    Parameters
    ----------
    text : str
        Text of the formula.
    outcome : str
        Left side of the formula: the name of an attribute, or an expression of plain columns.
    randomised_outcome : bool
        True if the outcome is an attribute.
    plain : formulaic.SimpleFormula
        Terms of the right side without attributes.
    plain_outcome : formulaic.SimpleFormula or None
        Left side, if it is plain.
    terms : tuple of RandomisedTerm
        The others.
    columns : tuple of str
        Plain columns that the formula needs.
    """

    text: str
    outcome: str
    randomised_outcome: bool
    plain: Any
    plain_outcome: Any
    terms: tuple[RandomisedTerm, ...]
    columns: tuple[str, ...]

    @property
    def predictors(self) -> tuple[str, ...]:
        """Randomised attributes on the right side, in the order in which they appear."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.names))

    @property
    def randomised(self) -> tuple[str, ...]:
        """All randomised attributes, the outcome first."""
        return ((self.outcome,) if self.randomised_outcome else ()) + self.predictors

    @property
    def mixed(self) -> bool:
        """True if an attribute interacts with plain columns."""
        return any(term.plain for term in self.terms)


def formulaic() -> Any:
    """Return the package `formulaic`, which reads formulas.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import formulaic as package
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            'formulaic and pandas must be installed for models: pip install "deniable[models]"'
        ) from error
    return package


def parse_formula(text: str, attributes: Sequence[str], columns: Sequence[str]) -> ModelFormula:
    """Return a formula divided into its randomised and its plain parts.

    Parameters
    ----------
    text : str
        Formula as in R: ``"outcome ~ age + C(region)"``.
    attributes : sequence of str
        Names of the survey's attributes.
    columns : sequence of str
        Names of the table's columns.

    Raises
    ------
    InvalidParameterError
        If the formula cannot be read, a name is in both lists or in neither, or an attribute is transformed.
    MissingExtraError
        If formulaic is not installed.
    """
    package = formulaic()
    if not isinstance(text, str) or "~" not in text:
        raise InvalidParameterError(
            f'formula must have a left side and a right side, such as "a ~ b", got formula={quoted(text)}'
        )
    try:
        whole = package.Formula(text)
        left, right = list(whole.lhs), list(whole.rhs)
        needed = {*map(str, whole.lhs.required_variables), *map(str, whole.rhs.required_variables)}
    except Exception as error:
        raise InvalidParameterError(f"formula cannot be read, got formula={quoted(text)}: {error}") from None
    known, randomised = set(columns), set(attributes)
    both = sorted(needed & known & randomised)
    if both:
        raise InvalidParameterError(
            f"formula names {quoted(both[0])}, which is both an attribute of the survey and a column of the table; "
            "rename the column"
        )
    neither = sorted(needed - known - randomised)
    if neither:
        raise InvalidParameterError(
            f"formula must name attributes ({', '.join(attributes)}) and columns of the table "
            f"({', '.join(columns) or 'none'}), got {quoted(neither[0])}"
        )
    if len(left) != 1:
        raise InvalidParameterError(f"formula must have one outcome on its left side, got {len(left)} terms")
    spelling = {name: name for name in attributes} | {f"C({name})": name for name in attributes}
    factors = {_spelled(factor): factor for term in (*left, *right) for factor in term.factors}
    hidden = {expression: spelling.get(expression) for expression in factors}
    for expression, name in hidden.items():
        used = _variables(package, factors[expression]) if name is None else set()
        if used & randomised:
            raise InvalidParameterError(
                f"{sorted(used & randomised)[0]} must stand alone or inside C(...) in the formula, got "
                f"{quoted(expression)}: the answers to this question are randomised"
            )
    outcome_name = hidden.get(_spelled(left[0].factors[0])) if len(left[0].factors) == 1 else None
    plain_terms, terms = [], []
    for term in right:
        own = [factor for factor in term.factors if hidden.get(_spelled(factor)) is not None]
        if not own:
            plain_terms.append(term)
            continue
        rest = frozenset(_spelled(factor) for factor in term.factors if factor not in own)
        names = tuple(str(hidden[_spelled(factor)]) for factor in own)
        terms.append(RandomisedTerm(names, tuple(map(_spelled, own)), rest))
    _check_terms(terms, plain_terms, outcome_name)
    if outcome_name is None and not terms:
        raise InvalidParameterError(
            f"formula must name at least one attribute of the survey ({', '.join(attributes)}), got "
            f"formula={quoted(text)}"
        )
    if outcome_name is None and needed & randomised & set(map(str, whole.lhs.required_variables)):
        raise InvalidParameterError(
            "the left side of the formula must be a single randomised attribute, or contain only plain columns, got "
            f"formula={quoted(text)}"
        )
    return ModelFormula(
        text,
        outcome_name or str(left[0]),
        outcome_name is not None,
        package.SimpleFormula(plain_terms),
        None if outcome_name else whole.lhs,
        tuple(terms),
        tuple(sorted(needed - randomised)),
    )


def _spelled(factor: Any) -> str:
    return str(factor.expr)


def _variables(package: Any, factor: Any) -> set[str]:
    """Return the columns that a factor is made of."""
    from formulaic.parser.types import Term

    return set(map(str, package.SimpleFormula([Term([factor])]).required_variables))


def _check_terms(terms: Sequence[RandomisedTerm], plain: Sequence[Any], outcome: str | None) -> None:
    alone = {term.names for term in terms if not term.plain}
    own = [frozenset(_spelled(factor) for factor in term.factors) for term in plain]
    for term in terms:
        if outcome in term.names:
            raise InvalidParameterError(f"{outcome} must be on only one side of the formula, but it is on both sides")
        if len(set(term.names)) < len(term.names):
            raise InvalidParameterError(f"every term must name an attribute only once, got {':'.join(term.spelled)}")
        missing = [name for name in term.names if (name,) not in alone]
        if missing:
            raise InvalidParameterError(
                f"formula has the term {':'.join([*term.plain, *term.spelled])}, so it must also have the term "
                f"{missing[0]}; write a * b instead of a:b"
            )
        if term.plain and term.plain not in own:
            raise InvalidParameterError(
                f"formula has the term {':'.join([*sorted(term.plain), *term.spelled])}, so it must also have the "
                f"term {':'.join(sorted(term.plain))}; write a * b instead of a:b"
            )


# ---------------------------------------------------------------- columns


@dataclass(frozen=True, eq=False)
class PlainColumns:
    """Columns of the plain terms, and the specification that makes them from other tables.

    Parameters
    ----------
    names : tuple of str
        Names of the columns, as formulaic makes them.
    spec : formulaic.ModelSpec
        Specification that makes the columns.
    dummies : tuple of bool
        True for each column whose only values are 0 and 1.
    factors : mapping
        Map from the factors of each term to the places of its columns.
    """

    names: tuple[str, ...]
    spec: Any
    dummies: tuple[bool, ...]
    factors: Mapping[frozenset[str], tuple[int, ...]]

    @property
    def intercept(self) -> int | None:
        """Place of the intercept, None without one."""
        return self.names.index(INTERCEPT) if INTERCEPT in self.names else None

    def matrix(self, table: pandas.DataFrame) -> Floats:
        """Return the columns of another table, float64[n, p].

        Raises
        ------
        InvalidInputError
            If a column has a category that the fitted table did not have, or no finite number.
        """
        return _materialised(self.spec, table)[0]


def plain_columns(formula: ModelFormula, table: pandas.DataFrame) -> tuple[PlainColumns, Floats]:
    """Return the columns of the plain terms, and their values float64[n, p].

    Raises
    ------
    InvalidInputError
        If a column has no finite number, or a category singles out few rows.
    InvalidParameterError
        If a term cannot be evaluated.
    """
    values, made = _materialised(formula.plain, table)
    spec = made.model_spec
    dummies = tuple(bool(np.isin(column, (0.0, 1.0)).all()) for column in values.T)
    names = tuple(map(str, spec.column_names))
    factors = {
        frozenset(_spelled(factor) for factor in one.term.factors): tuple(names.index(name) for name in one.columns)
        for one in spec.structure
    }
    return PlainColumns(names, spec, dummies, factors), values


def _materialised(source: Any, table: pandas.DataFrame) -> tuple[Floats, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # A pandas table as output would take as much memory once more.
            made = source.get_model_matrix(table, na_action="ignore", output="numpy")
            values = np.require(np.asarray(made, dtype=np.float64), requirements=["C", "W"])
    except Exception as error:
        # Messages of other packages may quote cells. Plain columns are not secret, but they need not be in logs.
        raise InvalidParameterError(
            "every plain column of the formula must have numbers, or categories that are also in the fitted table, "
            f"got {type(error).__name__}; check the types and the spelling in these columns, and write C(...) around "
            "columns of categories"
        ) from None
    if len(values) != len(table):
        raise InvalidInputError(f"every column of the formula must have {len(table)} rows, got {len(values)}")
    if not np.isfinite(values).all():
        bad = str(made.model_spec.column_names[int(np.argmin(np.isfinite(values).all(axis=0)))])
        raise InvalidInputError(
            f"the column {quoted(bad)} must contain only finite numbers; leave out the rows with other values, or "
            "transform the column"
        )
    return values, made


def plain_outcome(formula: ModelFormula, table: pandas.DataFrame) -> tuple[Floats, tuple[str, ...]]:
    """Return a plain outcome, float64[n], and its two labels if it has two categories.

    Raises
    ------
    InvalidInputError
        If the outcome is neither a number nor one of two categories.
    """
    if formula.outcome in table.columns:
        column = table[formula.outcome]
        if column.dtype.kind not in "iuf":
            codes, labels = _two_categories(formula.outcome, column)
            return codes, labels
        values = column.to_numpy(dtype=np.float64)
    else:
        found, _ = _materialised(formula.plain_outcome, table)
        if found.shape[1] != 1:
            raise InvalidInputError(
                f"the outcome {quoted(formula.outcome)} must be one number for each row, got {found.shape[1]} numbers"
            )
        values = found[:, 0]
    if not np.isfinite(values).all():
        raise InvalidInputError(
            f"the outcome {quoted(formula.outcome)} must contain only finite numbers; leave out the rows with other "
            "values"
        )
    return values, ()


def _two_categories(name: str, column: Any) -> tuple[Floats, tuple[str, ...]]:
    import pandas

    codes, labels = pandas.factorize(column, sort=True)
    if len(labels) != 2:
        raise InvalidInputError(
            f"the outcome {quoted(name)} must be numbers or have two categories, got {len(labels)} categories; merge "
            "categories"
        )
    return codes.astype(np.float64), tuple(map(str, labels))


# ---------------------------------------------------------------- effects of randomised attributes


@dataclass(frozen=True, eq=False)
class Effects:
    """Columns of the randomised terms, for each cell.

    Parameters
    ----------
    sizes : tuple of int
        Number of categories of every randomised predictor. Cells are combinations of categories; the last predictor
        changes fastest.
    alone : float64[cells, q]
        Columns that depend on the cell only.
    alone_names : tuple of str
        Their names.
    mixed : tuple of (float64[cells], int)
        Columns that are a plain column times 0 or 1. Each entry has the factor of every cell and the plain column's
        place.
    mixed_names : tuple of str
        Their names.
    """

    sizes: tuple[int, ...]
    alone: Floats
    alone_names: tuple[str, ...]
    mixed: tuple[tuple[Floats, int], ...] = ()
    mixed_names: tuple[str, ...] = ()


def effects_of(formula: ModelFormula, labels: Mapping[str, Sequence[str]], plain: PlainColumns) -> Effects:
    """Return the columns of the randomised terms: one for every category but the first, as R's treatment contrasts."""
    predictors = formula.predictors
    sizes = tuple(len(labels[name]) for name in predictors)
    cells = np.array(list(product(*map(range, sizes))), dtype=np.int64).reshape(math.prod(sizes), len(sizes))
    alone: list[Floats] = []
    alone_names: list[str] = []
    mixed: list[tuple[Floats, int]] = []
    mixed_names: list[str] = []
    for term in formula.terms:
        axes = [predictors.index(name) for name in term.names]
        levels = [range(1, sizes[axis]) for axis in axes]
        for chosen in product(*levels):
            factor = (cells[:, axes] == chosen).all(axis=1).astype(np.float64)
            named = ":".join(
                f"{spelled}[T.{labels[name][level]}]"
                for spelled, name, level in zip(term.spelled, term.names, chosen, strict=True)
            )
            if not term.plain:
                alone.append(factor)
                alone_names.append(named)
            for place in plain.factors[term.plain] if term.plain else ():
                mixed.append((factor, place))
                mixed_names.append(f"{plain.names[place]}:{named}")
    return Effects(
        sizes,
        np.array(alone).T.reshape(len(cells), len(alone)),
        tuple(alone_names),
        tuple(mixed),
        tuple(mixed_names),
    )
