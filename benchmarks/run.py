"""Runs the cases: ours and the peers' in turn, round after round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.cases import Case, Verb
from benchmarks.data import digest, true_answers
from benchmarks.measure import Spread, Timing, ratios, spread
from benchmarks.ours import Ours
from benchmarks.peers import PeerProcess


@dataclass(frozen=True)
class Comparison:
    """A verb of a case against one peer, all rounds.

    Parameters
    ----------
    ours, limits, theirs : list of Timing
        Our call, the cost of its random bits (or of reading the reports) alone, and the peer's call.
    words : float
        64-bit random words per report that we draw; 0 for the collector's verbs.
    called, form : str
        What was called in the peer, and the form in which it was fastest.
    our_error, their_error : float
        Mean absolute errors of the two estimates, each at its own n; NaN for all verbs but aggregate.
    """

    case: Case
    verb: Verb
    peer: str
    called: str
    form: str
    words: float
    ours: list[Timing] = field(default_factory=list)
    limits: list[Timing] = field(default_factory=list)
    theirs: list[Timing] = field(default_factory=list)
    errors: tuple[float, float] = (float("nan"), float("nan"))

    @property
    def ratio(self) -> Spread:
        """How many times more a report costs the peer."""
        return ratios(self.ours, self.theirs)

    @property
    def bound(self) -> Spread:
        """The ratio if nothing but the random bits (or reading the reports) had to be paid."""
        return ratios(self.limits, self.theirs)

    @property
    def goal(self) -> float | None:
        """Smallest acceptable ratio, if there is one."""
        return self.case.goals.get(self.verb)

    @property
    def reached(self) -> bool | None:
        """Whether the median ratio reaches the goal."""
        return None if self.goal is None else self.ratio.median >= self.goal

    def nanoseconds(self, timings: Sequence[Timing]) -> float:
        """Median processor time per report."""
        return spread([timing.nanoseconds for timing in timings]).median


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Parameters
    ----------
    contributors : int
        Our n.
    rounds : int
        Repeats; in each, ours, its limit and every peer run one after the other.
    seconds : float
        Processor time of one measurement of a peer; ours gets half of it, at least one call.
    seed : int
        Of the contributors' answers.
    secure : bool
        Our randomness from `SecureRandomness`.
    """

    contributors: int = 1_000_000
    rounds: int = 5
    seconds: float = 1.0
    seed: int = 1978
    secure: bool = False


QUICK = Settings(contributors=100_000, rounds=2, seconds=0.2)


def run_case(case: Case, settings: Settings, peers: PeerProcess, note: Callable[[str], None]) -> list[Comparison]:
    """Measure the verbs of a case against each of its peers."""
    answers = true_answers(case, settings.contributors, settings.seed)
    if peers.data(case, settings.contributors, settings.seed) != digest(answers):
        raise RuntimeError(f"the two environments made different answers for {case.name}")
    note(f"{case.name}: compile and calibrate")
    ours = Ours(case, answers, secure=settings.secure)
    comparisons: dict[tuple[Verb, str], Comparison] = {}
    for verb in case.verbs:
        for peer in case.peers:
            prepared = peers.prepare(peer, verb, settings.seconds)
            errors = (ours.error(), peers.error(peer)) if verb == "aggregate" else (float("nan"), float("nan"))
            words = ours.words if verb == "randomize" else 0.0
            comparisons[verb, peer] = Comparison(
                case, verb, peer, prepared["text"], prepared["form"], words, errors=errors
            )
    for number in range(settings.rounds):
        note(f"{case.name}: round {number + 1} of {settings.rounds}")
        for verb in case.verbs:
            for peer in case.peers:
                comparison = comparisons[verb, peer]
                mine, limit = ours.measure(verb, settings.seconds / 2)
                comparison.ours.append(mine)
                comparison.limits.append(limit)
                comparison.theirs.append(peers.measure(peer, verb, settings.seconds / 2))
    return list(comparisons.values())
