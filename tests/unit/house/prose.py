"""Sentences of the project, and patterns of sentences that readers must read twice.

`python -m tests.unit.house.prose` prints counts. With a pattern's name, it prints all hits. With `ease`, it prints the
reading ease of the contributors' texts in all languages.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src" / "deniable"
CLIENT = ROOT / "client" / "src"
ENDS = r"(?:^|[.;:!?] )"

PATTERNS = {
    "negated noun": r"(?<!here )\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more|less|fewer))",
    "fronted of": ENDS + r"[Oo]f (?!course|which|whom)|, of (?!course|which|whom)",
    "headless who": r"\b(?:by|for|to|from|with|of) who\b|[.;:] [Ww]ho(?:ever)? (?!is who)[a-z]+",
    "number of nothing": r"\b[Ss]o (?:many|much|few)\b(?! (?:that|as|more|less|fewer|for|to))",
    "idiom": r"hangs? together|all the same|goes on\b|held to\b|beforehand|stands? (?:on|below|above|twice)",
    "house word": r"\b(?:levers?|liars?|comparators?)\b",
    "must be of": r"must (?:be|have) (?:of|those|other|without|so many)\b",
    "space before …": r"\s…",
    "clause as a title": r"(?s)^(?:What|Who|Where|How|Whether|Why|Of|So) .*",
}
"""Pattern by name. They run over whole sentences, so that a line break in the middle hides nothing."""

KINDS = {
    "clause as a title": ("summary",),
}
"""Kinds of text for a pattern that is not used for all kinds."""


class Unit(NamedTuple):
    """A paragraph, docstring, message or comment: its kind, its file and line, its text on one line."""

    kind: str
    place: str
    text: str


def _plain(text: str) -> str:
    """Return text on one line, without examples, code and the targets of links."""
    text = re.sub(r"(?m)^\s*(?:>>>|\.\.\. |\.\.\.$).*$", "", text)
    text = re.sub(r"``?[^`\n]*``?", "X", re.sub(r"\]\([^)]*\)", "]", text))
    return " ".join(text.split())


def _literal(node: ast.AST) -> str:
    """Return the text of a string or f-string, with {} for filled-in parts."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    if isinstance(node, ast.IfExp):
        return _literal(node.body) + " " + _literal(node.orelse)
    return ""


def _python(path: Path) -> Iterator[Unit]:
    source, place = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for inner in getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if (
                isinstance(inner, ast.Expr)
                and isinstance(inner.value, ast.Constant)
                and isinstance(inner.value.value, str)
            ):
                for nth, paragraph in enumerate(re.split(r"\n\s*\n", inner.value.value)):
                    kind = "docstring" if nth else "summary"
                    yield Unit(kind, f"{place}:{inner.lineno}", _plain(paragraph))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                if said := _literal(argument):
                    yield Unit("error", f"{place}:{node.lineno}", " ".join(said.split()))
        if isinstance(node, ast.Call):
            for word in node.keywords:
                if word.arg == "help" and (said := _literal(word.value)):
                    yield Unit("help", f"{place}:{word.value.lineno}", said)
    lines: list[str] = []
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(?:noqa|type:|!|---)", token.string):
            if not lines:
                start = token.start[0]
            lines.append(token.string.lstrip("# "))
        elif token.type not in (tokenize.NL, tokenize.COMMENT) and lines:
            yield Unit("comment", f"{place}:{start}", _plain(" ".join(lines)))
            lines = []


def _markdown(path: Path) -> Iterator[Unit]:
    kind = "changelog" if path.name == "CHANGELOG.md" else "docs"
    lines: list[str] = []
    start, in_code = 0, False
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        if lines and (fence or not line.strip() or re.match(r"\s*(?:[|#>]|[*-] |\d+\. )", line)):
            yield Unit(kind, f"{path.relative_to(ROOT)}:{start}", _plain("\n".join(lines)))
            lines = []
        in_code ^= fence
        if line.strip() and not in_code and not fence:
            start = start if lines else number
            lines.append(re.sub(r"^\s*(?:[>#*-]+|\d+\.) ", "", line) if not lines else line)


def _typescript(path: Path) -> Iterator[Unit]:
    place, lines, start = str(path.relative_to(ROOT)), list[str](), 0
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        comment = re.search(r"(?:^|\s)(?://|/\*\*|\* )\s?(.*?)(?:\*/)?$", line)
        if comment:
            start = start if lines else number
            lines.append(comment[1])
        elif lines:
            yield Unit("comment", f"{place}:{start}", _plain(" ".join(lines)))
            lines = []


def contributor_texts() -> dict[str, str]:
    """Return the client's own English sentences by key: those of all surveys, and those loaded on demand."""
    text = (CLIENT / "text.ts").read_text(encoding="utf-8")
    always = {key: json.loads(said) for key, said in re.findall(r'^  (\w+): ("(?:[^"\\]|\\.)*"),$', text, re.M)}
    return always | _further()["en"]


def _further() -> dict[str, dict[str, str]]:
    """Return the sentences that are loaded on demand, by language and key."""
    found: dict[str, dict[str, str]] = json.loads((CLIENT / "further" / "sentences.json").read_text(encoding="utf-8"))
    return found


@cache
def units() -> tuple[Unit, ...]:
    """Return all texts for readers, except generated pages, papers' data and compiled files."""
    return tuple(_units())


def _units() -> Iterator[Unit]:
    for key, said in contributor_texts().items():
        yield Unit("contributor", f"client/src {key}", said)
    for path in sorted(CLIENT.rglob("*.ts")):
        yield from _typescript(path)
    for path in sorted(SOURCES.rglob("*.py")):
        yield from _python(path)
    pages = sorted((ROOT / "docs").rglob("*.md"))
    for path in [*pages, *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]:
        if path.parent not in (ROOT / "docs" / "api", ROOT / "docs" / "mechanisms") and "results" not in path.parts:
            yield from _markdown(path)


def hits(name: str) -> Iterator[tuple[Unit, str]]:
    """Yield each occurrence of a pattern, with the words around it."""
    pattern, kinds = re.compile(PATTERNS[name]), KINDS.get(name)
    for unit in units():
        if kinds is None or unit.kind in kinds:
            for found in pattern.finditer(unit.text):
                yield unit, unit.text[max(0, found.start() - 40) : found.end() + 40]


# ------------------------------------------------------------------ reading ease


def _english_syllables(word: str) -> int:
    if len(word) <= 3:
        return 1
    word = re.sub(r"(?:[^laeiouy]es|[^td]ed|[^laeiouy]e)$", lambda end: end[0][0], word)
    return max(1, len(re.findall(r"[aeiouy]+", word)))


def _vowel_groups(vowels: str, silent: str = "") -> Callable[[str], int]:
    def count(word: str) -> int:
        word = re.sub(silent, "", word) if silent and len(word) > 3 else word
        return max(1, len(re.findall(f"[{vowels}]+", word)))

    return count


FORMULAS: dict[str, tuple[Callable[[str], int], float, float, float]] = {
    "en": (_english_syllables, 206.835, 1.015, 84.6),  # Flesch 1948
    "de": (_vowel_groups("aeiouyäöü"), 180, 1, 58.5),  # Amstad 1978
    "fr": (_vowel_groups("aeiouyàâäéèêëîïôöùûüœ", "e$|es$|ent$"), 207, 1.015, 73.6),  # Kandel and Moles 1958
    "es": (_vowel_groups("aeiouáéíóúü"), 206.84, 1.02, 60),  # Fernández Huerta 1959
}


def sentences(text: str) -> list[list[str]]:
    """Return the words of each sentence; a placeholder counts as a word of one syllable."""
    parts = re.split(r"[.!?:…]+", re.sub(r"\{\w+\}", "ten", text))
    words = [re.findall(r"[^\W\d_]+(?:[\u2019'][^\W\d_]+)?", part) for part in parts]
    return [one for one in words if one]


def reading_ease(texts: list[str], language: str = "en") -> float:
    """Return Flesch's reading ease of texts, by the formula of their language."""
    syllables, constant, by_length, by_syllables = FORMULAS[language]
    found = [one for text in texts for one in sentences(text)]
    words = [word.lower() for one in found for word in one]
    return constant - by_length * len(words) / len(found) - by_syllables * sum(map(syllables, words)) / len(words)


def english_syllables(word: str) -> int:
    """Return an estimate of the number of syllables of an English word."""
    return _english_syllables(word.lower())


def _print_ease() -> None:
    print(f"en {reading_ease(list(contributor_texts().values())):.1f}")
    for path in sorted((CLIENT / "languages").glob("*.json")):
        said = [*json.loads(path.read_text(encoding="utf-8")).values(), *_further()[path.stem].values()]
        print(path.stem, f"{reading_ease(said, path.stem):.1f}" if path.stem in FORMULAS else "no formula")


if __name__ == "__main__":
    if sys.argv[1:] == ["ease"]:
        _print_ease()
    elif sys.argv[1:]:
        for unit, words in hits(" ".join(sys.argv[1:])):
            print(f"{unit.kind}\t{unit.place}\t{words}")
    else:
        for name in PATTERNS:
            by_kind = Counter(unit.kind for unit, _ in hits(name))
            print(f"{name:20}{by_kind.total():6}  {dict(by_kind)}")
