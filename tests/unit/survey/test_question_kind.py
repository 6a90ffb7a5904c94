"""One table of kinds in two languages; no other module knows a kind by its name."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable
from deniable.errors import InvalidParameterError
from deniable.survey.attribute import Attribute
from deniable.survey.dictionary import Dictionary
from deniable.survey.dictionary_file import DictionaryFile
from deniable.survey.kinds import DRAFTED, KINDS, USUAL, names_with
from deniable.survey.question_kind import QuestionKind

SOURCE = Path(deniable.__file__).parent
CLIENT = Path(__file__).parents[3] / "client" / "src"
TWINS = CLIENT / "kinds"

KEYS = {field.name for field in dataclasses.fields(Attribute)}
"""Keys of documents: a kind with such a name can be told from its key only where it is compared."""


ELSEWHERE = {
    ("checks.py", "text"),
    *(("xlsform.py", name) for name in ("numeric", "multiple")),
    *((f"{name}.py", "ordered") for name in ("predicting", "fitted", "summary", "building", "fit")),
}
"""The kind of an array's type, questions of a form which say so themselves, and the ordered logit, which is a model."""


# ---------------------------------------------------------------------- two tables, one list


def listed(table: str) -> list[str]:
    """Return the names in the client's table, in its order."""
    found = re.search(r"export const KINDS: readonly Kind\[\] = \[([^\]]*)\];", table)
    assert found
    return found[1].split(", ")


def test_the_clients_table_has_the_librarys_kinds_in_the_same_order() -> None:
    table = (TWINS / "index.ts").read_text()
    assert listed(table) == list(KINDS), "every kind has a file in both languages: run `npm run build` in client/"
    assert re.findall(r'import \{ kind as (\w+) \} from "\./(\w+)\.js";', table) == [(name, name) for name in KINDS]
    assert sorted(path.stem for path in TWINS.iterdir()) == sorted([*KINDS, "index"])


def test_a_table_that_lacks_a_kind_or_has_another_order_is_not_the_same() -> None:
    table = (TWINS / "index.ts").read_text()
    for wrong in (table.replace("numeric, ", ""), table.replace("[categories, dictionary", "[dictionary, categories")):
        assert wrong != table
        assert listed(wrong) != list(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_twins_say_the_same_of_themselves(name: str) -> None:
    kind, twin = KINDS[name], (TWINS / f"{name}.ts").read_text()
    marks = re.findall(r'\bmark: "(\w+)"', twin)
    assert re.findall(r'\bname: "(\w+)"', twin) == [name]
    assert marks == [kind.mark] * bool(kind.mark)
    assert ("usual: true" in twin, "several: true" in twin) == (kind.usual, kind.several)
    assert ('ask: "mean"' in twin) == (kind.usual_ask == "mean")
    if kind.coded:
        assert ("unlisted: true" in twin, "scored" in twin) == (not kind.listed, kind.averaged)


def test_a_kind_is_one_final_class_under_the_base_with_its_files_name() -> None:
    assert KINDS.keys() >= {"categories", "dictionary", "multiple", "numeric", "ordered", "text"}
    files = sorted(path.stem for path in (SOURCE / "survey" / "kinds").glob("*.py") if path.stem != "__init__")
    assert list(KINDS) == files == sorted(files)
    assert {type(kind) for kind in KINDS.values()} == set(QuestionKind.__subclasses__())
    for name, kind in KINDS.items():
        assert (kind.name, type(kind).__bases__, type(kind).__module__) == (
            name,
            (QuestionKind,),
            f"deniable.survey.kinds.{name}",
        )
        assert getattr(type(kind), "__final__", False), name
        assert not vars(kind), "a kind has no state"
        assert kind.keys <= KEYS
        assert kind.mark in {"", *kind.keys}


def test_one_kind_is_usual_and_drafting_tries_it_last() -> None:
    assert [name for name, kind in KINDS.items() if kind.usual] == [USUAL] == ["categories"]
    assert Attribute("a", ("x", "y")).question_kind is KINDS[USUAL] is DRAFTED[-1]
    places = {kind.name: kind.drafted for kind in DRAFTED}
    assert 0 < places["ordered"] < places["numeric"] < places["multiple"] < places["categories"]
    assert len({kind.drafted for kind in DRAFTED}) == len(DRAFTED)


def test_keys_are_those_of_kinds() -> None:
    assert {"categories", "ordered"} <= set(names_with("edges").split(" or ")) <= KINDS.keys() - {"numeric"}
    assert names_with("text") == "text"


# ---------------------------------------------------------------------- no name elsewhere


def _is_kind(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.endswith("kind")


def spelled(code: str) -> Iterator[tuple[int, str]]:
    """Yield lines of Python that spell the name of a kind: anywhere, or if it is a key, too, compared with a kind."""
    tree = ast.parse(code)
    suspect: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            suspect += sides if any(_is_kind(side) for side in sides) else []
        elif isinstance(node, ast.match_case):
            suspect.append(node.pattern)
        elif isinstance(node, ast.keyword) and node.arg == "kind":
            suspect.append(node.value)
    compared = {id(inner) for node in suspect for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in KINDS and (node.value not in KEYS or id(node) in compared):
            yield node.lineno, str(node.value)


def spelled_in_typescript(code: str) -> Iterator[tuple[int, str]]:
    """Yield lines of TypeScript that do."""
    for number, line in enumerate(code.splitlines(), 1):
        bare = re.sub(r"^\s*(//|\*|/\*).*", "", line)
        for name in KINDS:
            compared = re.search(rf'([=!]==?|\bcase|\bkind:|, "kind",)\s*["\'`]{name}["\'`]', bare)
            if compared or (name not in KEYS and re.search(rf'["\'`]{name}["\'`]', bare)):
                yield number, name


def test_no_other_module_spells_a_kinds_name() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE / "survey" / "kinds"
        for code in [path.read_text()]
        if any(f'"{name}"' in code for name in KINDS)
        for line, name in spelled(code)
        if (path.name, name) not in ELSEWHERE
    ]
    found += [
        f"{path.relative_to(CLIENT)}:{line}: {name}"
        for path in CLIENT.rglob("*.ts")
        if path.parent != TWINS
        for line, name in spelled_in_typescript(path.read_text())
    ]
    assert not found, "ask the kind instead (Attribute.question_kind, one.kind)"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('if one.kind == "text": pass', ["text"]),
        ('many = one.kind in ("categories", "ordered")', ["categories", "ordered"]),
        ('boxes = {"multiple": 3}', ["multiple"]),
        ('Attribute("a", kind="dictionary")', ["dictionary"]),
        ('match kind:\n    case "categories": pass', ["categories"]),
        ('data["categories"] = {"text": True, "dictionary": None}', []),
        ('"""Of kind "numeric"."""', []),
    ],
)
def test_spelled_names_are_found(code: str, names: list[str]) -> None:
    assert [name for _, name in sorted(spelled(code))] == names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('if (one.kind === "text") return;', ["text"]),
        ('stated(keys, "kind", "categories")', ["categories"]),
        ("const some = ['ordered'];", ["ordered"]),
        ('keys.list("categories"); answer.text();', []),
        (' * of kind "numeric"', []),
    ],
)
def test_spelled_names_are_found_in_typescript(code: str, names: list[str]) -> None:
    assert [name for _, name in spelled_in_typescript(code)] == names


# ---------------------------------------------------------------------- recognition of a kind


def test_a_key_tells_the_kind_and_excludes_others() -> None:
    assert (Attribute("a", text=True).kind, Attribute("a", kind="text").text) == ("text", True)
    words = DictionaryFile("w.txt", Dictionary(("x", "y")))
    assert Attribute("a", dictionary=words).kind == "dictionary"
    with pytest.raises(
        InvalidParameterError,
        match=r"dictionary must be left out of attribute “a”, because this question is open text$",
    ):
        Attribute("a", text=True, dictionary=words)
    with pytest.raises(
        InvalidParameterError, match=r"has both dictionary and kind=“ordered”: leave out dictionary, or leave out kind$"
    ):
        Attribute("a", kind="ordered", dictionary=words)
    with pytest.raises(
        InvalidParameterError,
        match=r"dictionary of attribute “a” must be given, because the kind of this question is dictionary",
    ):
        Attribute("a", kind="dictionary")
    with pytest.raises(InvalidParameterError, match=r"kind of attribute “a” must be one of .*, got kind=“x”"):
        Attribute("a", ("x", "y"), kind=["x"])  # type: ignore[arg-type]
