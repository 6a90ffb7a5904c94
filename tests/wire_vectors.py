"""Vectors that the browser client and the library share: from a typed answer and words to a report's bytes.

``python -m tests.wire_vectors`` writes ``tests/vectors/wire/*.json`` (``make vectors``). pytest compares the library
with the files, and ``node --test`` compares the client with them. Only the first few random words of a case are stored.
The others are derived from its place, so that two thousand cases take some two hundred kilobytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deniable import GRR, OUE, SPL
from deniable.core.construction import mechanism
from deniable.core.mechanism import Mechanism
from deniable.core.randomness import Words
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import SCALE
from deniable.errors import InvalidInputError
from deniable.files.wire import to_wire
from deniable.oracles.memoised import Memoised, MemoisedGRR, MemoisedHash, MemoisedOUE
from deniable.oracles.square_wave import SquareWave
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import SUE
from deniable.records import RSRFD
from deniable.records.pair_sample import PairSample
from deniable.records.pivot.corr_rr import CorrRR
from deniable.records.pivot.pivot_law import TableLaw
from deniable.survey.collection import Collection
from deniable.survey.grid import Number
from deniable.survey.schema import AskIf, Attribute, Schema

PLACE = Path(__file__).parent / "vectors" / "wire"
TOP = SCALE - 1
CASES = 40


class RecordedWords:
    """The first words as given, the others derived from a name: word i is the first 8 bytes of SHA-256(name:i)."""

    def __init__(self, name: str, leading: list[int]) -> None:
        self.name, self.leading, self.place = name, leading, 0

    def fill(self, words: Words) -> None:
        for i in range(len(words)):
            words[i] = self.next()

    def next(self) -> int:
        place, self.place = self.place, self.place + 1
        if place < len(self.leading):
            return self.leading[place]
        return int.from_bytes(hashlib.sha256(f"{self.name}:{place}".encode()).digest()[:8], "little")


@dataclass(frozen=True)
class Subject:
    """A mechanism with recorded reports, and its questions if they can be listed."""

    name: str
    mechanism: Mechanism[Any]
    schema: Schema | None = None


def edges(subject: Any) -> Iterator[list[int]]:
    """Yield first words at which a decision changes: 0 and 2^64-1, and each threshold with its neighbours."""
    heads: list[list[int]] = [[]] if not subject.records else [[], [0], [TOP], [TOP // 2]]
    for head in heads:
        for word in (0, 1, TOP - 1, TOP):
            yield [*head, word]
    if isinstance(subject, (CorrRR, RSRFD)):
        yield from made_up(subject)
    pairs = isinstance(subject, PairSample)
    if pairs and subject.singles:
        alone = int(subject.singles * SCALE)
        yield from ([alone - 1], [alone])
    parts = [part.oracle for part in subject.parts if len(part.sizes) == 2] if pairs else []
    oracles = parts or (subject.oracles if subject.records else (subject,))
    for j, oracle in enumerate(oracles[:3]):
        head = [(j << 64) // len(oracles) + 1] if subject.records and not isinstance(subject, SPL) else []
        if pairs and subject.singles:
            head = [TOP, *head]
        for threshold in thresholds(oracle):
            for word in (threshold - 1, threshold, threshold + 1):
                if 0 <= word < SCALE:
                    yield [*head, word]
                    yield [*head, TOP, word]
        if isinstance(oracle, (SUE, OUE)):
            for value in oracle.thresholds:
                for number in (value - 1, value):
                    # The word gives every lane's number, bit by bit. A lane that never differs from its threshold is
                    # not below it.
                    yield [*head, *(TOP if number >> place & 1 else 0 for place in range(63, -1, -1))]


def made_up(subject: Any) -> Iterator[list[int]]:
    """Yield words at which a fake code changes: cumulative thresholds, and multiples of the part that is not copied."""
    d = len(subject.sizes)
    if isinstance(subject, RSRFD):
        for j, drawn in enumerate(subject._thresholds):
            for limit in drawn[:3]:
                yield from ([TOP] * j + [word] for word in (limit - 1, limit) if 0 <= word < SCALE)
        return
    for s in range(min(d, 3)):
        # The pivot's answer is kept. The words of the others follow.
        head, law = [(s << 64) // d + 1, TOP], subject.law
        for j in range(min(d, 4)):
            if j == s:
                continue
            if isinstance(law, TableLaw):
                tables = {int(limit) for row in law.transfers[s][j][:2] for limit in np.cumsum(row)}
                place, limits = j, sorted(tables)
            else:
                lie, k = int(law.lies[j, s]), subject.sizes[0]
                place, limits = (j - s) % d - 1, [lie, (k - 1) * lie]
            for limit in limits[:6]:
                yield from ([*head, *[TOP] * place, word] for word in (limit - 1, limit) if 0 <= word < SCALE)


def thresholds(oracle: Any) -> list[int]:
    """Return the integers over 2^64 with which an oracle compares a word."""
    if isinstance(oracle, MemoisedOUE):
        return [*oracle.first.thresholds, oracle.flip]
    if isinstance(oracle, MemoisedGRR):
        return [*thresholds(oracle.first), oracle.lie, (oracle.k - 1) * oracle.lie]
    if isinstance(oracle, GRR):
        lie = int(oracle.support_probabilities[1] * SCALE)
        return [lie, (oracle.k - 1) * lie, (oracle.k // 2) * lie]
    if isinstance(oracle, SquareWave):
        far = int(oracle.exact_wave.far * SCALE)
        lies, near = (oracle.k - 1) * far, (SCALE - (oracle.k - 1) * far) // (oracle.state_size - oracle.k + 1)
        return [far, lies, lies + near, lies + (oracle.state_size - oracle.k + 1) * near]
    if isinstance(oracle, SubsetSelection):
        return [int(oracle.support_probabilities[0] * SCALE)]
    return list(oracle.thresholds) if isinstance(oracle, (SUE, OUE)) else thresholds(oracle.response)


def answers_of(attribute: Attribute, rng: np.random.Generator) -> str | list[str] | None:
    """Return an answer that a person may type."""
    if attribute.kind == "multiple":
        return [label for label in attribute.categories if rng.random() < 0.4]
    if attribute.kind == "numeric":
        low, high = attribute.range or (0.0, 0.0)
        return str(rng.choice([str(low), str(high), f"{low + (high - low) * rng.random():.4f}", "0.1", "3e-1"]))
    if attribute.edges is not None:
        return str(rng.choice(["-1", "0", "19.99", "20", "20.0", "4e1", "39.999999999", "1000"]))
    if attribute.missing is not None and rng.random() < 0.2:
        return ("", attribute.missing)[rng.integers(2)]
    if attribute.other is not None and rng.random() < 0.2:
        return "something else"
    return attribute.categories[rng.integers(len(attribute.categories))]


def report_of(subject: Subject, codes: Any, words: RecordedWords) -> bytes:
    """Return the bytes on the wire of one report."""
    made: Any = subject.mechanism
    row = np.array([codes], dtype=np.int64)
    return bytes(to_wire(made, made.randomize(row if made.records else row[:, 0], words))[0])


def typed(schema: Schema, answers: list[Any], words: RecordedWords) -> list[int]:
    """Return the codes of one record of texts, lists of texts, and nothing."""
    columns = {
        one.name: pa.array([text], pa.list_(pa.string()) if isinstance(text, list) else pa.string())
        for one, text in zip(schema.attributes, answers, strict=True)
    }
    return [int(code) for code in schema.encode(pa.table(columns), words)[0]]


def subjects() -> Iterator[Subject]:
    """Yield all mechanisms that a browser may use, at sizes and budgets where behaviour changes."""
    grr = [
        (2, "1"),
        (3, "0.35"),
        (4, "1"),
        (17, "2.3"),
        (256, "0.01"),
        (257, "4"),
        (65537, "8"),
        (4, "32"),
        (5, "1e-6"),
    ]
    for k, epsilon in grr:
        yield Subject(f"GRR-{k}-{epsilon}", mechanism("GRR", k=k, epsilon=epsilon))
    for k, epsilon in [(2, "1"), (8, "0.7"), (9, "2"), (64, "0.35"), (65, "4"), (100, "1")]:
        yield Subject(f"SUE-{k}-{epsilon}", mechanism("SUE", k=k, epsilon=epsilon))
        yield Subject(f"OUE-{k}-{epsilon}", mechanism("OUE", k=k, epsilon=epsilon))
    subsets = [(8, "1", None), (40, "1", None), (5, "2", 1), (300, "0.5", None), (1000, "6", None), (70000, "9", 2)]
    for k, epsilon, omega in subsets:
        yield Subject(f"SubsetSelection-{k}-{epsilon}", mechanism("SubsetSelection", k=k, epsilon=epsilon, omega=omega))
    for k, epsilon, m in [(1000, "1", None), (20, "0.5", 3), (1 << 32, "22", 1 << 30), (100, "2.3", 2)]:
        yield Subject(f"CMS-prime-{k}-{epsilon}", mechanism("CMS", k=k, epsilon=epsilon, m=m))
    for k, epsilon, m in [(200, "1", 4), (10**6, "1", None), (2, "0.7", 2), (17, "2.3", 16), (1 << 32, "4", 256)]:
        yield Subject(f"CMS-spread-{k}-{epsilon}", mechanism("CMS", k=k, epsilon=epsilon, m=m, family="spread"))
    for k, epsilon, window in [
        (5, "1", "mean"),
        (8, "0.35", "paper"),
        (16, "4", 0),
        (200, "2", "mean"),
        (7, "1e-3", 7),
    ]:
        yield Subject(f"SquareWave-{k}-{epsilon}", mechanism("SquareWave", k=k, epsilon=epsilon, window=window))
    for made in memoised():
        yield Subject(f"Memoised-{to_spec(made)['mechanism']}-{made.k}-{made.epsilon_forever:g}", made)
    schema = Schema(
        (
            Attribute("smoker", ("yes", "no"), missing="no answer"),
            Attribute("age", edges=(20, 40)),
            Attribute("colour", ("red", "green", "3.0", "blue", "Grün", "赤"), other="another"),
        )
    )
    sizes = schema.sizes
    for name, made in {
        "SPL-GRR": mechanism("SPL", sizes=sizes, epsilon="2"),
        "SPL-OUE": mechanism("SPL", sizes=sizes, epsilon="1.1", oracle="OUE"),
        "SMP-GRR": mechanism("SMP", sizes=sizes, epsilon="1"),
        "SMP-OUE": mechanism("SMP", sizes=sizes, epsilon="0.35", oracle="OUE"),
        "PivotCoded": mechanism("PivotCoded", sizes=sizes, epsilon="1"),
        "SMP-ADP": mechanism(
            "SMP[ADP]",
            sizes=sizes,
            epsilon="1.5",
            oracles=(
                mechanism("GRR", k=3, epsilon="1.5"),
                mechanism("SubsetSelection", k=3, epsilon="1.5"),
                mechanism("CMS", k=7, epsilon="1.5", family="spread"),
            ),
        ),
    }.items():
        yield Subject(name, made, schema)
    kinds = Schema(
        (
            Attribute("stars", ("1", "2", "3"), kind="ordered", missing="no answer"),
            Attribute("hours", kind="numeric", range=(0, 10), grid=5, clip=True, missing="none"),
            Attribute("devices", ("phone", "radio", "web"), kind="multiple", other="another"),
            Attribute("share", kind="numeric", range=(-0.3, 0.4), grid=3, title="Share"),
        )
    )
    yield Subject("SMP-kinds", mechanism("SMP", sizes=kinds.sizes, epsilon="2.3"), kinds)
    yield Subject("PairSample-kinds", mechanism("PairSample", sizes=kinds.sizes, epsilon="1", singles="0.25"), kinds)
    yield Subject("PairSample", mechanism("PairSample", sizes=(2, 3, 9), epsilon="0.35", singles="0.5"))
    yield Subject("PairSample-two", mechanism("PairSample", sizes=(2, 3), epsilon="3"))
    yield Subject("PairSample-many", mechanism("PairSample", sizes=(4,) * 30, epsilon="2"))
    yield Subject("SPL-kinds", mechanism("SPL", sizes=kinds.sizes, epsilon="4"), kinds)
    yield Subject("PivotCoded-kinds", mechanism("PivotCoded", sizes=kinds.sizes, epsilon="1"), kinds)
    branches = Schema(
        (
            Attribute("smoker", ("yes", "no"), other="once"),
            Attribute("much", ("few", "many"), "not asked", kind="ordered", ask_if=AskIf("smoker", ("yes", "once"))),
            Attribute("paid", kind="numeric", range=(0, 8), grid=3, missing="none", ask_if=AskIf("much", ("many",))),
            Attribute("where", ("home", "work"), "nowhere", kind="multiple", ask_if=AskIf("smoker", ("yes",))),
        )
    )
    yield Subject("SPL-branches", mechanism("SPL", sizes=branches.sizes, epsilon="4"), branches)
    yield Subject("SMP-branches", mechanism("SMP", sizes=branches.sizes, epsilon="2.3"), branches)
    yield Subject("SPL-alike", mechanism("SPL", sizes=(4, 4, 4), epsilon="0.35"))
    yield Subject("SPL-wide", mechanism("SPL", sizes=(300, 2), epsilon="3"))
    yield Subject("SMP-many", mechanism("SMP", sizes=(3,) * 300, epsilon="1"))
    yield Subject("SMP-one", mechanism("SMP", sizes=(5,), epsilon="1"))
    yield Subject("SMP-ADP-mixed", mechanism("SMP[ADP]", sizes=(2, 40, 5000), epsilon="1"))
    yield Subject(
        "SMP-ADP-bits",
        mechanism(
            "SMP[ADP]",
            sizes=(9, 4),
            epsilon="2",
            oracles=(mechanism("OUE", k=9, epsilon="2"), mechanism("CMS", k=4, epsilon="2", m=2)),
        ),
    )
    yield Subject("PivotCoded-alike", mechanism("PivotCoded", sizes=(4, 4, 4), epsilon="2"))
    yield Subject("PivotCoded-one", mechanism("PivotCoded", sizes=(7,), epsilon="1"))
    yield Subject("PivotCoded-wide", mechanism("PivotCoded", sizes=(300, 2, 5, 11), epsilon="4"))
    yield from later_rounds(schema, kinds)


def corr_rr(sizes: Any, epsilon: str, copies: Any, alignment: Any = ()) -> Any:
    """Return Corr-RR with a budget as text."""
    return mechanism("Corr-RR", sizes=sizes, epsilon=epsilon, copy_probabilities=copies, alignment=alignment)


def rs_rfd(sizes: Any, epsilon: str, priors: Any) -> Any:
    """Return RS+RFD with a budget as text."""
    return mechanism("RS+RFD", sizes=sizes, epsilon=epsilon, priors=priors)


def later_rounds(schema: Schema, kinds: Schema) -> Iterator[Subject]:
    """Yield mechanisms of later rounds, with learned numbers as documents write them: floats, or texts."""
    rng = np.random.default_rng(29)

    def learned(d: int) -> tuple[tuple[Any, ...], ...]:
        found = np.round(rng.uniform(size=(d, d)), 3)
        np.fill_diagonal(found, 1.0)
        return tuple(map(tuple, found.tolist()))

    def priors(sizes: Any) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(rng.dirichlet(np.ones(k)).tolist()) for k in sizes)

    sizes = schema.sizes
    for name, made, asked in (
        ("schema", corr_rr(sizes, "1.5", learned(3)), schema),
        ("kinds", corr_rr(kinds.sizes, "2", learned(len(kinds.sizes))), kinds),
        ("alike", corr_rr((4, 4, 4), "1", ((1, 0.25, 1), (0, 1, 1e-7), (0.9, Fraction(1, 3), 1))), None),
        ("two", corr_rr((2, 2), "0.35", ((1, 0.8), (0.3, 1))), None),
        ("six", corr_rr((3,) * 6, "0.5", learned(6)), None),
        ("one", corr_rr((5,), "1", ((1,),)), None),
        ("aligned", corr_rr((3, 3, 2), "1", learned(3), ((0, 1, (2, 0, 1)), (1, 2, (1, 0, 0)))), None),
        ("wide", corr_rr((300, 2, 7), "4", learned(3)), None),
    ):
        yield Subject(f"CorrRR-{name}", made, asked)
    for name, faked, asked in (
        ("schema", rs_rfd(sizes, "1.5", priors(sizes)), schema),
        ("kinds", rs_rfd(kinds.sizes, "2", priors(kinds.sizes)), kinds),
        ("zero", rs_rfd((2, 3), "1", ((0.9, 0.1), (0.0, 0.9999999, 1e-7))), None),
        ("certain", rs_rfd((2, 3, 4), "0.35", ((1.0, 0.0), (0.2, 0.3, 0.5), (0.25,) * 4)), None),
        ("thirds", rs_rfd((3, 3), "3", ((Fraction(1, 3),) * 3, (0.3, 0.3, 0.4))), None),
        ("wide", rs_rfd((300, 2), "2", priors((300, 2))), None),
        ("one", rs_rfd((4,), "1", ((0.1, 0.2, 0.3, 0.4),)), None),
    ):
        yield Subject(f"RSRFD-{name}", faked, asked)


def memoised() -> Iterator[Memoised[Any]]:
    """Yield mechanisms with permanent responses: more noise in a report, as little as possible, and none."""
    for k, forever, once in [(2, 2.0, 1.0), (3, 1.0, 0.35), (4, 2.0, 2.0), (300, 8.0, 4.0)]:
        yield MemoisedGRR(k, forever, once)
    for k, forever, once in [(2, 1.0, 0.5), (9, 4.0, 2.3), (65, 2.0, 2.0)]:
        yield MemoisedOUE(k, forever, once)
    for k, forever, once, g in [(16, 2.0, 1.0, 2), (1000, 4.0, 2.0, 8), (1 << 32, 1.0, 1.0, 3)]:
        yield MemoisedHash(k, forever, once, g)


def memos() -> list[dict[str, Any]]:
    """Return what devices keep and report: [first words, answer, rows, first report, second report] in hexadecimals."""
    found = []
    for made in memoised():
        rng, cases = np.random.default_rng(5), []
        # The rows take the words of the same number of first reports. Thresholds turn at the first word of each report.
        for number, leading in enumerate([[], [0], [TOP], *([one] for one in thresholds(made)), [], []]):
            code = int(rng.integers(made.k))
            memo = made.draw_memo(RecordedWords(f"memo {number}", leading))
            reports = [made.report_from(memo, code, RecordedWords(f"wave {number} {i}", leading)) for i in (0, 1)]
            written = [bytes(row).hex() for one in (memo, *reports) for row in to_wire(made, one)]
            cases.append([[f"{word:x}" for word in leading], code, written[:-2], *written[-2:]])
        found.append({"name": repr(made), "mechanism": to_spec(made), "cases": cases})
    return found


def recorded(subject: Subject) -> dict[str, Any]:
    """Return a subject's cases: answers or codes, first words, and the bytes of the report."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(subject.name.encode()).digest()[:8], "big"))
    cases = []
    sizes = subject.mechanism.domain
    # Words that round numeric answers come before the mechanism's words.
    numeric = sum(one.kind == "numeric" for one in subject.schema.attributes) if subject.schema else 0
    leads = [[TOP // 3] * numeric + leading for leading in edges(subject.mechanism)]
    for number, leading in enumerate(leads + [[]] * max(12, CASES - len(leads))):
        words = RecordedWords(f"{subject.name} {number}", leading)
        if subject.schema is None:
            given: list[Any] = [int(rng.choice(np.array([0, k - 1, int(rng.integers(k))]))) for k in sizes]
            codes = given
        else:
            given = [answers_of(attribute, rng) for attribute in subject.schema.attributes]
            codes = typed(subject.schema, given, words)
        cases.append([given, [f"{word:x}" for word in leading], report_of(subject, codes, words).hex()])
    data: dict[str, Any] = {"name": subject.name, "mechanism": to_spec(subject.mechanism)}
    if subject.schema is not None:
        data["schema"] = subject.schema.to_dict()
    return {**data, "cases": cases}


def replayed(data: dict[str, Any], number: int) -> bytes:
    """Return the library's result for one case."""
    given, leading, _ = data["cases"][number]
    schema = schema_from(data["schema"]) if "schema" in data else None
    subject = Subject(data["name"], from_spec(data["mechanism"]), schema)
    words = RecordedWords(f"{data['name']} {number}", [int(word, 16) for word in leading])
    return report_of(subject, given if schema is None else typed(schema, given, words), words)


def schema_from(data: dict[str, Any]) -> Schema:
    """Return the schema of stored data."""
    return Schema.from_json(json.dumps({"format": "deniable schema", "format_version": 2, **data}))


def coin_edges(attribute: Attribute, text: Any) -> Iterator[list[int]]:
    """Yield the threshold at which an answer is rounded up, and its neighbour, each as the first word."""
    number = Number.read(text) if attribute.kind == "numeric" and isinstance(text, str) else None
    cell = attribute.points.cell(number, attribute.clip) if number is not None else None
    if cell is not None and cell.threshold:
        yield [cell.threshold - 1]
        yield [cell.threshold]


def answers() -> list[dict[str, Any]]:
    """Return questions of all kinds, possible texts, and the codes; null if the text is refused."""
    questions = [
        Attribute("plain", ("yes", "no", "3.0", "07")),
        Attribute("open", ("1", "2", "2.0", ""), missing="none", other="else"),
        Attribute("bins", edges=(-1.5, 20, 40), missing="-9", other="?"),
        Attribute("steps", edges=(0, 1)),
        Attribute("stars", ("1", "2", "3"), "no answer", kind="ordered", ask="mean"),
        Attribute("income", missing="-9", other="x", kind="numeric", range=(0, 5000), grid=3),
        Attribute("share", kind="numeric", range=(-0.1, 0.2), grid=7, clip=True, title="Share"),
        Attribute("boxes", ("phone", "radio", "3"), kind="multiple"),
        Attribute("more", ("a", "b"), "none", "else", kind="multiple", separator="|"),
        Attribute("visit", edges=("1970-01-01", "2024-02-29", "2026-05-01"), missing="-9", other="2023-02-29"),
        Attribute("day", edges=("2026-05-01",)),
    ]
    texts: list[Any] = ["", "yes", "no", "3", "3.0", "3.00", "07", "7", "1", "2", "-0", "-1.5", "-1.50000000001", "20"]
    texts += [
        "19.999999999999999999",
        "1e400",
        "nan",
        "-inf",
        "4e1",
        "40.",
        ".5",
        "+.5",
        "-9",
        "-9.0",
        "?",
        "x",
        "2500",
    ]
    texts += ["1250", "0.05", "-0.1", "0.2", "0.2000001", "-7", "1e-400", "0e999999", "1e99999", "1" * 401, "0x10"]
    texts += [
        "2.00",
        "phone; radio",
        "phone;;3.0 ",
        ";",
        "a|b",
        "a | none",
        "c",
        "a|c",
        " yes",
        "no answer",
        "none",
        "else",
        None,
    ]
    texts += [[], ["phone"], ["3", "radio"], ["a", "else"], ["none"], ["", "a"], [" b "]]
    texts += [
        "1969-12-31",
        "1970-01-01",
        "2024-02-29",
        "2024-02-30",
        "2023-02-29",
        "2026-04-30T23:59:59Z",
        "2026-05-01 x",
    ]
    texts += ["2026-05-01x", "2026-5-1", "0000-01-01", "0001-01-01", "9999-12-31", "12026-05-01", "2026-13-01", "-9.0"]
    found = []
    for attribute in questions:
        schema, cases = Schema((attribute,)), []
        for number, text in enumerate(texts):
            if isinstance(text, list) and attribute.kind != "multiple":
                continue
            # These words are at the edge of the draw that rounds the number, if there is one.
            for leading in ([TOP // 4] if number % 2 else [], *coin_edges(attribute, text)):
                words = RecordedWords(f"{attribute.name} {number}", leading)
                try:
                    codes: list[int] | None = typed(schema, [text], words)
                except InvalidInputError:
                    codes = None
                cases.append([text, codes, f"{attribute.name} {number}", [f"{word:x}" for word in leading]])
        found.append({"schema": schema.to_dict(), "cases": cases})
    return found


def threshold_table() -> list[list[str]]:
    """Return [mechanism, k, epsilon, threshold], thresholds in hexadecimal digits."""
    budgets = ["0.000001", "0.01", "0.1", "0.35", "0.37", "0.5", "0.693147180559945", "1", "1.1", "2", "2.3", "4", "8"]
    budgets += ["16", "31.999", "32", "1/3", "2/7", "0.1000000000000000055511151231257827", "0.29999999999999999"]
    rows = []
    for epsilon in budgets:
        budget: Any = Fraction(epsilon) if "/" in epsilon else epsilon
        for k in (2, 3, 5, 100, 65536, 10**6):
            lie = int(mechanism("GRR", k=k, epsilon=budget).support_probabilities[1] * SCALE)
            rows.append(["GRR", str(k), epsilon, f"{lie:x}"])
        rows.append(["OUE", "4", epsilon, f"{mechanism('OUE', k=4, epsilon=budget).thresholds[1]:x}"])
        rows.append(["SUE", "4", epsilon, f"{mechanism('SUE', k=4, epsilon=budget).thresholds[1]:x}"])
        for k, omega in ((5, 2), (100, 37)):
            included = int(
                mechanism("SubsetSelection", k=k, epsilon=budget, omega=omega).support_probabilities[0] * SCALE
            )
            rows.append([f"SubsetSelection {omega}", str(k), epsilon, f"{included:x}"])
        if epsilon == "0.000001":
            continue  # a third of it is less than the smallest budget
        lie = int(mechanism("SPL", sizes=(4, 4, 4), epsilon=budget).oracles[0].support_probabilities[1] * SCALE)
        rows.append(["SPL", "4", epsilon, f"{lie:x}"])
    return rows


def documents() -> list[dict[str, str]]:
    """Return collections as documents, one per mechanism, with their ids and the reasons for refusals."""
    found = []
    for subject in subjects():
        if subject.schema is None and max(subject.mechanism.domain) <= 20 and len(subject.mechanism.domain) < 10:
            schema = Schema(
                tuple(
                    Attribute(f"q{j}", tuple(f"{j} \x7f\u2028\U0001f600{i}" for i in range(k)))
                    for j, k in enumerate(subject.mechanism.domain)
                )
            )
            subject = Subject(subject.name, subject.mechanism, schema)
        if subject.schema is not None:
            collection = Collection(subject.schema, subject.mechanism, 2, "Ein Beispiel: \u201eé\u201c \U0001f600")
            found.append({"name": subject.name, "document": collection.to_json(), "id": collection.id})
    return found


def write() -> int:
    """Write all files; return the number of cases."""
    PLACE.mkdir(exist_ok=True)
    by_file: dict[str, list[dict[str, Any]]] = {}
    for subject in subjects():
        by_file.setdefault(subject.name.partition("-")[0], []).append(recorded(subject))
    for name, data in by_file.items():
        _save(name, data)
    _save("thresholds", threshold_table())
    _save("documents", documents())
    _save("answers", answers())
    _save("memos", memos())
    return sum(len(data["cases"]) for group in by_file.values() for data in group)


def _save(name: str, data: list[Any]) -> None:
    lines = ",\n".join(json.dumps(item, ensure_ascii=True, separators=(",", ":")) for item in data)
    (PLACE / f"{name}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    print(f"{write()} cases in {PLACE}")
