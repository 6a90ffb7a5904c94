"""Candidates of a comparison, the common data of all candidates, and summaries of their errors."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import random
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer
from deniable.core.construction import mechanism
from deniable.core.randomness import SimulationRandomness
from deniable.errors import BrokenLawError, FileFormatError, InvalidParameterError, MissingExtraError, quoted
from deniable.research.comparison.peer_worker import PEERS
from deniable.testing.foreign import Client, Estimator, check_foreign

Answers = NDArray[np.int64]
Floats = NDArray[np.float64]

LAW_DRAWS = 4_000
"""Reports of each value from which distributions of a user's mechanism are read."""


class Candidate(ABC):
    """Mechanism under comparison.

    Parameters
    ----------
    name : str
        Name of the mechanism in tables.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def estimates(self, answers: Sequence[Answers], seeds: Sequence[int]) -> Floats:
        """Return float64[runs, k]: for each run, the frequencies estimated from these answers with this seed."""

    @abstractmethod
    def laws(self) -> str:
        """Return the law that the mechanism breaks.

        The text is "hold" if its reports show no broken law, and "" if the laws were not tested.
        """


@final
class OwnMechanism(Candidate):
    """Mechanism of this library, or a mechanism that is registered with it."""

    def __init__(self, name: str, k: int, epsilon: float) -> None:
        super().__init__(f"deniable/{name}")
        self._mechanism = mechanism(name, k=k, epsilon=epsilon)

    def laws(self) -> str:
        return ""

    def estimates(self, answers: Sequence[Answers], seeds: Sequence[int]) -> Floats:
        found = []
        for values, seed in zip(answers, seeds, strict=True):
            reports = self._mechanism.randomize(values, SimulationRandomness(seed))
            found.append(self._mechanism.estimate(self._mechanism.aggregate(reports)).frequencies)
        return np.array(found)


@final
class Functions(Candidate):
    """Mechanism of a user: a client and an estimator, which draw from numpy's or Python's generator."""

    def __init__(self, name: str, client: Client, estimate: Estimator, k: int, epsilon: float) -> None:
        super().__init__(name)
        self._client, self._estimate, self._k, self._epsilon = client, estimate, k, epsilon

    def estimates(self, answers: Sequence[Answers], seeds: Sequence[int]) -> Floats:
        found = []
        for values, seed in zip(answers, seeds, strict=True):
            _seed(seed)
            reports = [self._client(value) for value in values.tolist()]
            found.append(_checked(self._estimate(reports), self._k, self.name))
        return np.array(found)

    def laws(self) -> str:
        _seed(1)
        try:
            check_foreign(self._client, self._estimate, k=self._k, epsilon=self._epsilon, draws=LAW_DRAWS)
        except BrokenLawError as error:
            return str(error)
        return "hold"


@final
class Peer(Candidate):
    """Mechanism of another library, which runs in that library's environment."""

    def __init__(self, name: str, k: int, epsilon: float, python: Path) -> None:
        super().__init__(name)
        self._k, self._epsilon, self._python = k, epsilon, python
        self._peer, self._mechanism = name.split("/")
        if self._mechanism not in PEERS[self._peer][1]:
            raise InvalidParameterError(
                f"the mechanism of {self._peer} must be one of {', '.join(PEERS[self._peer][1])}, got "
                f"{quoted(self._mechanism)}"
            )

    def laws(self) -> str:
        return ""

    def estimates(self, answers: Sequence[Answers], seeds: Sequence[int]) -> Floats:
        request = {
            "peer": self._peer,
            "mechanism": self._mechanism,
            "k": self._k,
            "epsilon": self._epsilon,
            "seeds": list(seeds),
            "answers": [values.tolist() for values in answers],
        }
        worker = Path(__file__).with_name("peer_worker.py")
        done = subprocess.run(
            [str(self._python), str(worker)], input=json.dumps(request), capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1:] or ["no message"]
            raise MissingExtraError(
                f"{self.name} did not run with {self._python}: {why[0]}; install {self._peer} in that environment, or "
                "name another environment with --peers"
            )
        return np.array([_checked(one, self._k, self.name) for one in json.loads(done.stdout)])


def candidate(text: str, k: int, epsilon: float, python: Path | None = None) -> Candidate:
    """Return the candidate that a text names.

    Parameters
    ----------
    text : str
        ``file.py:factory`` or ``package.module:factory``, a function (k, epsilon) -> (client, estimate);
        ``library/mechanism`` of another library (`PEERS`); or the name of a mechanism of this library.
    k, epsilon : int, float
        Domain size and budget.
    python : path, optional
        Python of the environment where other libraries are installed. The default is this process's own Python.

    Raises
    ------
    InvalidParameterError
        If there is no such candidate, or the factory does not return a pair of functions.
    """
    library, divided, _ = text.partition("/")
    if divided and library in PEERS:
        return Peer(text, k, epsilon, Path(sys.executable) if python is None else python)
    if ":" not in text:
        return OwnMechanism(text, k, epsilon)
    made = _factory(text)(k, epsilon)
    if not isinstance(made, tuple) or len(made) != 2 or not all(map(callable, made)):
        raise InvalidParameterError(
            f"{text} must return a pair of functions (client, estimate), got an object of the type "
            f"{type(made).__name__}"
        )
    return Functions(text.rpartition(":")[2], *made, k, epsilon)


def _factory(text: str) -> Any:
    place, _, name = text.rpartition(":")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location("deniable_candidate", place)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (FileNotFoundError, ModuleNotFoundError) as error:
        raise InvalidParameterError(f"candidate must name a file or a module, got {quoted(place)}: {error}") from error
    factory = getattr(module, name, None)
    if not callable(factory):
        raise InvalidParameterError(f"{place} has no function {quoted(name)}; check the spelling")
    return factory


@dataclass(frozen=True)
class Row:
    """Errors of one candidate over all runs.

    Parameters
    ----------
    name : str
        Name of the candidate.
    mse, mse_error : float
        Mean squared error of a frequency, over values and runs, and its standard error over runs.
    mae : float
        Mean absolute error of a frequency.
    largest : float
        Mean over runs of the largest absolute error of a frequency.
    bias : float
        Largest mean error of a frequency, in its standard errors. By chance it is about 3.
    laws : str
        Result of `Candidate.laws`.
    """

    name: str
    mse: float
    mse_error: float
    mae: float
    largest: float
    bias: float
    laws: str


@dataclass(frozen=True)
class Comparison:
    """Errors of several candidates; made by `compare`.

    Parameters
    ----------
    frequencies : tuple of float
        Frequencies that answers were drawn from.
    epsilon : float
        Budget of every candidate.
    contributors, runs, seed : int
        Answers in a run; runs; the seed of data and randomness.
    rows : tuple of Row
        One for each candidate.
    """

    frequencies: tuple[float, ...]
    epsilon: float
    contributors: int
    runs: int
    seed: int
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        return {"format": "deniable comparison", "format_version": 1, **asdict(self)}

    @property
    def caption(self) -> str:
        """Sentence that describes the setting of the comparison."""
        return (
            f"Errors of estimated frequencies against those of the same {self.contributors:,} contributors, over "
            f"{self.runs} runs: k = {len(self.frequencies)}, epsilon = {self.epsilon:g}, seed {self.seed}."
        )

    def latex(self) -> str:
        """Return a table for LaTeX (package booktabs)."""
        lines = [
            f"% {self.caption}",
            r"\begin{tabular}{lrrrr}",
            r"\toprule",
            r"mechanism & MSE ($\times 10^{-6}$) & $\pm$ & MAE & largest \\",
            r"\midrule",
        ]
        for row in self.rows:
            name = "".join(f"\\{letter}" if letter in "_&%#$" else letter for letter in row.name)
            lines.append(
                rf"{name} & {row.mse * 1e6:.3f} & {row.mse_error * 1e6:.3f} & {row.mae:.5f} & {row.largest:.5f} \\"
            )
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def compare(
    candidates: Sequence[Candidate], frequencies: ArrayLike, epsilon: float, contributors: int, runs: int, seed: int
) -> Comparison:
    """Run candidates on the same answers with the same seeds.

    Parameters
    ----------
    candidates : sequence of Candidate
        At least one.
    frequencies : float[k]
        From which answers are drawn, again for each run; they sum to 1.
    epsilon : float
        Budget of the candidates, for the caption.
    contributors, runs, seed : int
        Answers in a run; at least 2 runs; the seed.

    Examples
    --------
    >>> found = compare([candidate("GRR", 3, 1.0)], [0.5, 0.3, 0.2], 1.0, contributors=1_000, runs=20, seed=1)
    >>> found.rows[0].name, found.rows[0].mse < 0.01, found.rows[0].bias < 5
    ('deniable/GRR', True, True)
    """
    checked_integer("runs", runs, 2)
    checked_integer("contributors", contributors, 1)
    law = np.asarray(frequencies, dtype=np.float64)
    if law.ndim != 1 or len(law) < 2 or (law < 0).any() or not math.isclose(law.sum(), 1.0, abs_tol=1e-9):
        raise InvalidParameterError(
            f"frequencies must be at least two numbers >= 0 that sum to 1, got a sum of {law.sum():g}"
        )
    data = [np.random.default_rng([seed, run]).choice(len(law), contributors, p=law) for run in range(runs)]
    seeds = [int(one) for one in np.random.SeedSequence(seed).generate_state(runs)]
    truth = np.array([np.bincount(values, minlength=len(law)) / contributors for values in data])
    rows = tuple(_row(one, one.estimates(data, seeds) - truth) for one in candidates)
    return Comparison(tuple(law.tolist()), epsilon, contributors, runs, seed, rows)


def _row(one: Candidate, errors: Floats) -> Row:
    squares, runs = (errors**2).mean(axis=1), len(errors)
    spread = errors.std(axis=0, ddof=1) / math.sqrt(runs)
    return Row(
        one.name,
        float(squares.mean()),
        float(squares.std(ddof=1) / math.sqrt(runs)),
        float(np.abs(errors).mean()),
        float(np.abs(errors).max(axis=1).mean()),
        float((np.abs(errors.mean(axis=0)) / np.maximum(spread, 1e-300)).max()),
        one.laws(),
    )


def _checked(found: ArrayLike, k: int, name: str) -> Floats:
    values = np.asarray(found, dtype=np.float64)
    if values.shape != (k,):
        raise FileFormatError(f"estimates of {name} must be {k} numbers, got shape={values.shape}")
    return values


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % (1 << 32))  # noqa: NPY002  the generator that papers' code draws from
