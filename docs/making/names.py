"""Pages of all mechanisms and of all public names.

The tables of mechanisms are made from their cards, between two markers of ``choosing.md``. The pages of names,
``api.md`` and ``api/``, are made from the lists of the namespaces. The file has one line per name, and the site has the
whole docstring.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from types import ModuleType
from typing import Any, get_args

from docs.making.mechanisms import DECODING, link

from deniable.core.card import Group
from deniable.core.names import cards, mechanism_class

BEGIN, END = "<!-- made from cards: begin -->", "<!-- made from cards: end -->"

PAGES = {
    "deniable": ("deniable",),
    "oracles": ("deniable.oracles",),
    "designs": ("deniable.designs",),
    "records": ("deniable.records", "deniable.research.records"),
    "dealt": ("deniable.research.dealt",),
    "answers": ("deniable.answers",),
    "postprocess": ("deniable.postprocess",),
    "models": ("deniable.models", "deniable.research.load_times"),
    "leakage": ("deniable.leakage", "deniable.research.leakage", "deniable.research.adversary"),
    "planning": ("deniable.planning",),
    "files": ("deniable.files", "deniable.files.wire"),
    "engines": ("deniable.engines", "deniable.engines.spark", "deniable.engines.duckdb"),
    "report": ("deniable.report",),
    "errors": ("deniable.errors",),
    "testing": ("deniable.testing",),
    "bases": (
        "deniable.core.mechanism",
        "deniable.oracles.oracle",
        "deniable.oracles.pure",
        "deniable.records.record",
        "deniable.records.joint",
        "deniable.research.dealt.dealt",
    ),
}
"""Namespaces of each page of names, in order. A name in several namespaces has its docstring in the last of them."""

TITLES = {"bases": "Bases of mechanisms"}

ROLES = (
    "A line that starts with a role, such as *Analyst:* or *Collector:*, says who calls the function. The "
    "[glossary](../glossary.md) explains the roles."
)

WORDS = {
    "leakage": "*CPL* is the correlation-induced privacy leakage: what the report on one attribute reveals about "
    "another attribute. The released attribute is called X_j, and the other attribute is called X_i. The page [What a "
    "release leaks](../theory/leakage.md) defines all figures.",
}
"""First sentences of the pages of names whose lines use a word that needs an explanation."""

ALIASES = {
    "Progress": "Type of a function that is called after every batch with the numbers done and in total, in rows or "
    "bytes. The total is None if it is not known.",
}
"""Lines for names of types that have no docstring."""

PINNED = {"deniable.engines.spark": ["aggregate", "randomize"], "deniable.engines.duckdb": ["aggregate"]}
"""Public functions of modules whose other names are only for the engine's own tasks."""


def shelves() -> str:
    """Return the tables of all mechanisms in Markdown, one per group."""
    lines = []
    for group in get_args(Group):
        lines += ["", f"### {group.capitalize()}", "", "| name | class | use it | one report | decoding |"]
        lines.append("|---|---|---|---|---|")
        for name, card in cards():
            if card.group == group:
                cls = mechanism_class(name)
                also = "".join(f", `{variant.name}`" for variant in card.variants)
                row = (f"{link(name)}{also}", f"`{cls.__name__}`", card.when, card.wire, DECODING[card.decoding])
                lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines).strip()


def with_shelves(page: str) -> str:
    """Return a page with up-to-date tables between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{shelves()}\n\n{END}{after}"


def pages() -> dict[str, str]:
    """Return the pages of names in Markdown, by their paths below `docs`."""
    lines = [
        "# Python",
        "",
        "This page lists the public modules of the Python package. Each link leads to the names that a module offers.",
    ]
    made = {}
    for page, namespaces in PAGES.items():
        title = TITLES.get(page, f"`{namespaces[0]}`")
        lines += ["", f"[{title}](api/{page}.md): {_first_line(importlib.import_module(namespaces[0]))}"]
        made[f"api/{page}.md"] = _page(page, title, namespaces)
    return {"api.md": "\n".join(lines) + "\n", **made}


def _page(page: str, title: str, namespaces: tuple[str, ...]) -> str:
    said = [_first_line(value) for namespace in namespaces for value in public_names(namespace).values()]
    asked = any(line.startswith(("Analyst: ", "Collector: ", "Organiser: ")) for line in said)
    notes = ["", WORDS[page]] if page in WORDS else []
    notes += ["", ROLES] if asked else []
    several = len(namespaces) > 1
    lines = [f"# {title}", *(notes if several else [])]
    for namespace in namespaces:
        lines += ["", f"## `{namespace}`"] if several else []
        lines += ["", _first_line(importlib.import_module(namespace)), *([] if several else notes), ""]
        lines += [
            f"* `{name}`: {ALIASES.get(name) or _first_line(value)}" for name, value in public_names(namespace).items()
        ]
    return "\n".join(lines) + "\n"


@cache
def public_names(namespace: str) -> dict[str, Any]:
    """Return the objects of a namespace by name: those it lists, or else its own objects with a docstring."""
    package = importlib.import_module(namespace)
    own = [name for name in vars(package) if _own(package, name)]
    listed = PINNED.get(namespace) or vars(package).get("__all__") or own
    found = {name: getattr(package, name) for name in sorted(listed)}
    return {name: value for name, value in found.items() if not isinstance(value, ModuleType)}


def _own(package: ModuleType, name: str) -> bool:
    value = vars(package)[name]
    whole = hasattr(package, "__path__")
    home = getattr(value, "__module__", None) or ""
    base = package.__name__ in PAGES["bases"] and not isinstance(value, type)
    return (
        not name.startswith("_") and not base and (home.startswith("deniable") if whole else home == package.__name__)
    )


@cache
def home(name: str, namespace: str) -> str:
    """Return the last namespace of `PAGES` that has the same object under the same name."""
    value = public_names(namespace)[name]
    spaces = [one for page in PAGES.values() for one in page if public_names(one).get(name) is value]
    return spaces[-1]


def with_docstrings(page: str, text: str) -> str:
    """Return a page of names for the site, with docstrings instead of lines, or links to the docstrings."""
    if not re.fullmatch("docs/api/[a-z]+", page):
        return text
    shown, namespace = [], PAGES[page.rpartition("/")[2]][0]
    for line in text.splitlines():
        if heading := re.fullmatch("## `(.+)`", line):
            namespace = heading[1]
        listed = re.match(r"\* `(\w+)`", line)
        shown += [_shown(listed[1], namespace, line)] if listed else [line]
    return "\n".join(shown) + "\n"


def _shown(name: str, namespace: str, line: str) -> str:
    where = home(name, namespace)
    if where != namespace:
        return line.replace(f"`{name}`", f"{{py:obj}}`{name} <{where}.{name}>`", 1)
    value = public_names(namespace)[name]
    if isinstance(value, type):
        said = [f".. autoclass:: {namespace}.{name}", "   :members:", "   :show-inheritance:"]
    else:
        said = [f".. {'autofunction' if inspect.isroutine(value) else 'autodata'}:: {namespace}.{name}"]
    return "\n".join(["", "```{eval-rst}", *said, "```", ""])


@cache
def linked() -> frozenset[str]:
    """Return the names to which a docstring can link by the name alone."""
    return frozenset(name for page in PAGES.values() for namespace in page for name in public_names(namespace))


def place(spelled: str) -> str:
    """Return the public name (or member) for a name that a page spells with its module, ``deniable...``, or ""."""
    parts = spelled.removesuffix("()").split(".")
    for last in (1, 2) if parts[0] == "deniable" else ():
        owner, member = parts[max(0, len(parts) - last)], parts[len(parts) - last + 1 :]
        spaces = [one for page in PAGES.values() for one in page if owner in public_names(one)]
        if len(parts) > last and spaces:
            return ".".join([home(owner, spaces[-1]), owner, *member])
    return ""


def _first_line(value: Any) -> str:
    own = type(value).__module__.startswith("deniable") and callable(value)
    documented = isinstance(value, (ModuleType, type)) or inspect.isroutine(value) or own
    return (inspect.getdoc(value) or "").partition("\n")[0] if documented else f"`{value}`"
