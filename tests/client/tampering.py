"""Survey documents with one changed field each, which both the library and the browser client must judge."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from deniable import mechanism
from deniable.core.spec import from_spec
from deniable.errors import DeniableError
from deniable.service.survey_page import draft_page, read_page
from deniable.survey.collection import Collection, LearnedFrom, guarantee_data
from deniable.survey.schema import AskIf, Attribute, Schema
from tests.client.test_docs import english
from tests.wire_vectors import corr_rr, rs_rfd

CONTENT = ("schema", "mechanism", "version", "title", "learned_from")


class Raw(str):
    """JSON text that is written unchanged, such as a number in another spelling."""


class Tampered(NamedTuple):
    """A document, its page (or empty), the description of the change, and whether the library accepts the document."""

    what: str
    document: str
    page: str
    accepted: bool


def dumped(value: Any, *, ordered: bool = False) -> str:
    """Return JSON text, in canonical form if `ordered`; numbers that are `Raw` are written unchanged."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        items = sorted(value.items()) if ordered else value.items()
        return "{" + ",".join(f"{json.dumps(key)}:{dumped(item, ordered=ordered)}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dumped(item, ordered=ordered) for item in value) + "]"
    return json.dumps(value)


def surveys() -> Iterator[Collection]:
    """Yield collections with every kind of question, and every mechanism that the client knows."""
    sizes = Schema((Attribute("colour", ("red", "green", "blue")), Attribute("née", ("yes", "no"), other="else")))
    of_three = Schema((Attribute("colour", ("red", "green"), missing="none", title="Which?"),))
    for name in ("GRR", "SUE", "OUE", "SubsetSelection", "SquareWave", "CMS", "CMS[spread]"):
        yield Collection(of_three, mechanism(name, k=3, epsilon="0.5"), 1, f"of {name}")
    for name, more in (("MemoisedGRR", {}), ("MemoisedOUE", {}), ("MemoisedHash", {"g": 2})):
        made = from_spec({"mechanism": name, "k": 3, "epsilon_forever": "2", "epsilon_once": "0.5", **more})
        yield Collection(of_three, made, 1, f"of {name}")
    for name in ("SPL", "SPL[OUE]", "SMP", "SMP[OUE]", "SMP[ADP]", "PivotCoded"):
        yield Collection(sizes, mechanism(name, sizes=(3, 3), epsilon="2.25"), 3, "")
    yield Collection(sizes, corr_rr((3, 3), "2.25", ((1, 0.25), (Fraction(1, 3), 1))), 2, "copies")
    yield Collection(sizes, corr_rr((3, 3), "1", ((1, 0.25), (1, 1)), ((1, 0, (2, 0, 1)),)), 2, "aligned copies")
    yield Collection(sizes, rs_rfd((3, 3), "1", ((0.5, 0.25, 0.25), (0.0, 0.9, 0.1))), 2, "fakes")
    kinds = Schema(
        (
            Attribute("stars", ("1", "2", "3"), "no answer", kind="ordered", ask="mean"),
            Attribute("mood", ("bad", "good"), kind="ordered", scores=(-1.5, 2)),
            Attribute("age", edges=(20, 40.5), missing="none"),
            Attribute("visit", edges=("2026-01-01", "2026-07-01"), other="never"),
            Attribute("income", kind="numeric", range=(0, 1000), grid=3, clip=True, missing="none"),
            Attribute("devices", ("phone", "radio"), "none", "other", kind="multiple", separator="/", title="Which?"),
        )
    )
    yield Collection(kinds, mechanism("PairSample", sizes=kinds.sizes, epsilon="1", singles="0.25"), 1, "kinds")
    yield Collection(kinds, mechanism("SMP", sizes=kinds.sizes, epsilon="3"), 2, "kinds \U0001f600")
    branches = Schema(
        (
            Attribute("smoker", ("yes", "no"), other="once"),
            Attribute("much", ("few", "many"), "not asked", kind="ordered", ask_if=AskIf("smoker", ("yes", "once"))),
            Attribute("paid", kind="numeric", range=(0, 8), grid=3, missing="none", ask_if=AskIf("much", ("many",))),
            Attribute("where", ("home", "work"), "nowhere", kind="multiple", ask_if=AskIf("smoker", ("yes",))),
        )
    )
    yield Collection(branches, mechanism("SMP", sizes=branches.sizes, epsilon="3"), 1, "branches")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a document, including the document itself."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


ANYTHING: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, Raw("1.5"), Raw("1.0"), Raw("0.5"), Raw("1e0"), Raw("-0"), Raw("1e400"),
    Raw("0.0"), Raw("-0.0"), Raw("1e-05"), Raw("0.00001"), Raw("1e-5"), "1/3", "0.5", "0.3333333333333333",
    Raw("123456789012345678901234567890"), 70_000, 4097, 10**15,
    "", " ", "x", "red", "colour", "none", "mean", "shares", "ordered", "numeric", "multiple", "text", "GRR", "OUE",
    "2026-02-30", "2026-03-01", "1", "NaN", [], [1, 2], ["a", "b"], [0, Raw("2.5")], ["2026-03-01"], {}, {"a": 1},
    Raw('"\\ud800"'), Raw('"\\udc00x"'), Raw('"\\u0000"'), "é\U0001f600", "x" * 300,
)  # fmt: skip

NUMBERS = ("{}.0", "{}e0", "{}.50", "0{}", "-{}", "1{}", "{}.1", "{}E+0")

BUDGETS = (
    "+{}", "-{}", " {}", "{} ", "0{}", "{}0", "{}.0", "{}e0", "{}/1", "2/4", "1/3", "3/2", "0.1", "1e-6", "0.000001",
    "1e-7",
    "32", "32.0000001", "33", ".5", "5.", "1_0", "0x1", "inf", "nan", "٣", "1e3", "1/0", "0/1", "-1/2", "1/-2", "1.5/2",
    "0.30000000000000000000000000000001", "0.3333333333333333", "1e0/1", "+1/3", "01/3", "1 / 3",
)  # fmt: skip

KEYS: tuple[tuple[str, Any], ...] = (
    ("extra", 1), ("kind", "categories"), ("kind", "ordered"), ("title", ""), ("title", "Who?"), ("separator", ";"),
    ("separator", ""), ("separator", ","), ("clip", False), ("clip", True), ("ask", "shares"), ("ask", "mean"),
    ("text", False), ("text", True), ("missing", None), ("missing", "none"), ("missing", "red"), ("other", "red"),
    ("other", ""), ("edges", [1]), ("edges", [1, 2]), ("edges", [2, 1]), ("edges", ["2026-01-01"]), ("scores", [1, 2]),
    ("scores", [1, 2, 3]), ("scores", [Raw("1.0"), 2, 3]), ("range", [0, 1]), ("grid", 3), ("dictionary", None),
    ("categories", ["a", "b", "c"]), ("learned_from", None), ("omega", 1), ("oracle", "GRR"), ("oracles", []),
    ("learned_from", {"collection": "a", "aggregate": "b", "contributors": 3}),
    ("learned_from", {"collection": "a", "aggregate": "b", "contributors": 3, "earlier": ["c"]}),
    ("learned_from", {"collection": "a", "aggregate": "b", "contributors": 3, "earlier": []}),
    ("learned_from", {"collection": "a", "aggregate": "b", "contributors": Raw("3.0")}),
    ("learned_from", {"collection": "", "aggregate": "", "contributors": -3}),
    ("copy_probabilities", [[Raw("1.0"), Raw("0.5")], [Raw("0.0"), Raw("1.0")]]), ("alignment", []),
    ("alignment", [[0, 1, [1, 0, 2]]]), ("alignment", [[0, 1, [1, 0, 2]], [1, 0, [1, 0, 2]]]),
    ("alignment", [[0, 1, [0, 0, 2]]]), ("alignment", [[0, 0, [0, 1, 2]]]), ("alignment", [[0, 2, [0, 1, 2]]]),
    ("priors", [[Raw("0.5"), Raw("0.5"), Raw("0.0")], [Raw("1.0"), Raw("0.0"), Raw("0.0")]]),
    ("priors", [["1/3", "1/3", "1/3"], [Raw("0.5"), Raw("0.5"), Raw("1e-09")]]),
    ("priors", [["1/3", "1/3", Raw("0.33333")], [Raw("0.5"), Raw("0.5"), Raw("2e-09")]]),
)  # fmt: skip


def mutations(document: dict[str, Any], rng: random.Random, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield descriptions and changed copies: each part of a document is changed in several ways."""
    found: list[tuple[str, tuple[Any, ...], str, Any]] = []
    for path in places(document):
        value = at(document, path)
        if path:
            found.append(("leave out", path, "delete", None))
            found += [("set", path, "set", other) for other in ANYTHING]
        if isinstance(value, bool):
            pass
        elif isinstance(value, int | float):
            found += [("respell", path, "set", Raw(form.format(value))) for form in NUMBERS]
            found += [("change", path, "set", value + step) for step in (-1, 1)]
        elif isinstance(value, str) and path[-1] in ("epsilon", "singles"):
            found += [("respell", path, "set", form.format(value)) for form in BUDGETS]
        elif isinstance(value, str):
            found += [
                ("change", path, "set", other) for other in (value + "x", " " + value, value + "/", value.upper())
            ]
        elif isinstance(value, list):
            found += [("repeat", path, "set", [*value, *value[-1:]]), ("turn round", path, "set", value[::-1])]
            found += [("shorten", path, "set", value[:-1]), ("copy the first", path, "set", [*value[:1], *value[:-1]])]
            found.append(("lengthen", path, "set", [*value, "z"]))
        elif isinstance(value, dict):
            found += [(f"add {key}", path, "add", (key, item)) for key, item in KEYS]
    for what, path, how, other in found if len(found) <= most else rng.sample(found, most):
        mutant = copy.deepcopy(document)
        parent, last = at(mutant, path[:-1]), path[-1] if path else None
        if how == "delete":
            del parent[last]
        elif how == "set":
            parent[last] = copy.deepcopy(other)
        else:
            at(mutant, path)[other[0]] = copy.deepcopy(other[1])
        yield f"{what} {'.'.join(map(str, path))}: {str(other)[:60]!r}", mutant


def raw_id(document: dict[str, Any]) -> str:
    """Return the id of a document's content as written."""
    content = {key: document[key] for key in CONTENT if key in document}
    return hashlib.sha256(dumped(content, ordered=True).encode()).hexdigest()


def _described(document: dict[str, Any]) -> Collection | None:
    """Return the collection that a document's content describes, or None if the library refuses the content."""
    try:
        schema = TypeAdapter(Schema).validate_json(dumped(document["schema"]))
        spec = json.loads(dumped(document["mechanism"]))
        learned = document.get("learned_from")
        before = None if learned is None else TypeAdapter(LearnedFrom).validate_json(dumped(learned))
        version, title = json.loads(dumped(document["version"])), json.loads(dumped(document["title"]))
        return Collection(schema, from_spec(spec), version, title, before)
    except (DeniableError, ValidationError, TypeError, ValueError, KeyError, AttributeError):
        return None


def read_by_the_library(document: str) -> bool:
    """Return whether the library accepts a collection; an untyped error is a fault of the library."""
    try:
        Collection.from_json(document)
    except DeniableError:
        return False
    return True


def tampered_documents(each: int, seed: int = 20_26) -> list[Tampered]:
    """Return changed collections: as they are, with the id recomputed, and with all derived fields recomputed."""
    rng, found = random.Random(seed), []
    for survey in surveys():
        document = json.loads(survey.to_json())
        found.append(Tampered(f"{survey.title}: as it is", dumped(document), "", True))
        for what, mutant in mutations(document, rng, each):
            variants = [mutant]
            if raw_id(mutant) != document["id"]:
                variants.append({**mutant, "id": raw_id(mutant)})
                described = _described(mutant)
                if described is not None:
                    stated = guarantee_data(described.privacy())
                    variants.append({**mutant, "id": raw_id(mutant), "guarantee": stated})
                    variants.append({**mutant, "id": described.id, "guarantee": stated})
            for number, variant in enumerate(variants):
                text = dumped(variant)
                name = f"{survey.mechanism.name} {survey.title!r}: {what} ({number})"
                found.append(Tampered(name, text, "", read_by_the_library(text)))
    return found


TERMS: tuple[tuple[str, Any], ...] = (
    ("opens_at", "2026-05-01T00:00:00Z"), ("opens_at", "2026-05-01T00:00:00"), ("opens_at", "2026-02-30T00:00:00Z"),
    ("closes_at", "2026-05-01T09:30:00.5+02:00"), ("closes_at", "2026-05-01T25:00:00Z"), ("closes_at", "soon"),
    ("grace_hours", 0), ("grace_hours", 8784), ("grace_hours", Raw("8784.5")), ("grace_hours", -1),
    ("min_batch", 20), ("min_batch", 19), ("contributors", None), ("contributors", 1), ("contributors", 0),
    ("access", "closed"), ("retention", "reports"), ("retention", "none"),
)  # fmt: skip

TAGS = ("EN", "de-AT", "zh-Hant-TW", "e", "en_US", "", "english1", "sl-IT-nedis", "x-klingon", "de-1996", "en-")


INTERFACES: tuple[dict[str, str], ...] = (
    {"contact": "Ask {contact}."}, {"between": "{low} to {high}, {low}"}, {"between": "any"}, {"agree": "{}{a b}{"},
    {"contact": "{constructor}"}, {"agree": "{toString}"}, {"between": "{__proto__}"}, {"agree": "{contact}"},
    {"contact": "{epsilon}"}, {"contact": "{{contact}}"}, {"contact": "{é}"}, {"constructor": "x"},
    *({key: "Checked: epsilon 0.1"} for key in english()),
)  # fmt: skip


def _worded(page: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    return {**page, "languages": {"en": {**page["languages"]["en"], "interface": own}}}


def tampered_pages(each: int, seed: int = 4) -> list[Tampered]:
    """Return changed survey documents of collections that are unchanged."""
    rng, found = random.Random(seed), []
    for survey in list(surveys())[-3:]:
        page = json.loads(draft_page(survey, 100, ("en", "de")).to_json())
        mutants = list(mutations(page, rng, each))
        mutants += [(f"set {key}: {value!r}", {**page, key: value}) for key, value in TERMS]
        mutants += [
            (f"open from {opens} to {closes}", {**page, "opens_at": opens, "closes_at": closes})
            for opens, closes in (
                ("2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z"),
                ("2026-05-02T00:00:00Z", "2026-05-01T00:00:00Z"),
                ("2026-05-01T00:00:00Z", "2026-05-01T00:00:00Z"),
                ("2026-05-01T00:00:00+02:00", "2026-04-30T23:00:00Z"),
            )
        ]
        mutants += [(f"language {tag!r}", {**page, "languages": {tag: page["languages"]["en"]}}) for tag in TAGS]
        mutants += [(f"interface {own!r}", _worded(page, own)) for own in INTERFACES]
        mutants += [(f"no {key}", {one: page[one] for one in page if one != key}) for key in page]
        english_ones = page["languages"]["en"]
        first, *others = english_ones["questions"].items()
        for questions in ((("other", first[1]), *others), (*others, first), others, (first, *others, ("more", "?"))):
            asked = {**page, "languages": {"en": {**english_ones, "questions": dict(questions)}}}
            mutants.append((f"questions {[name for name, _ in questions]}", asked))
        for what, mutant in [("as it is", page), *mutants]:
            text = dumped(mutant)
            try:
                read_page(text, "page.json", survey)
                accepted = True
            except DeniableError:
                accepted = False
            found.append(Tampered(f"page of {survey.title!r}: {what}", survey.to_json(), text, accepted))
    return found
