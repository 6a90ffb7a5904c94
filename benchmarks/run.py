"""Run the cases: ours and the peers' in turn, round after round."""

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
    """All rounds of one verb of a case against one peer.

    Parameters
    ----------
    ours, limits, theirs : list of Timing
        Timings of our call, of its random bits (or of reading the reports) alone, and of the peer's call.
    words : float
        Number of 64-bit random words that we draw per report; 0 for the collector's verbs.
    called, form : str
        Name of the peer's call, and the form in which it was fastest.
    our_error, their_error : float
        Mean absolute errors of the two estimates, each at its own n; NaN except for aggregate.
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
        """Processor time of a report by the peer over ours."""
        return ratios(self.ours, self.theirs)

    @property
    def bound(self) -> Spread:
        """The ratio if only the random bits (or reading the reports) cost time."""
        return ratios(self.limits, self.theirs)

    @property
    def goal(self) -> float | None:
        """Smallest acceptable ratio, or None."""
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
    """Sizes and repetitions of the measurement.

    Parameters
    ----------
    contributors : int
        Number of contributors, on our side.
    rounds : int
        Number of rounds. In a round, our call, its limit and all peers run one after the other.
    seconds : float
        Processor time of one measurement of a peer. Ours takes half of it, and at least one call.
    seed : int
        Seed of the contributors' answers.
    secure : bool
        Whether our randomness is `SecureRandomness`.
    """

    contributors: int = 1_000_000
    rounds: int = 5
    seconds: float = 1.0
    seed: int = 1978
    secure: bool = False


QUICK = Settings(contributors=100_000, rounds=2, seconds=0.2)


def run_case(case: Case, settings: Settings, peers: PeerProcess, note: Callable[[str], None]) -> list[Comparison]:
    """Measure the verbs of a case against each peer."""
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
