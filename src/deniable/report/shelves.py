"""All mechanisms and all public names as pages of the documentation: ``python -m deniable.report.shelves docs``.

The table of mechanisms is made from their cards, between two markers of ``choosing.md``; the index of names from what
the namespaces list, as ``api.md``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from deniable.core.card import Shelf
from deniable.core.names import cards, mechanism_class
from deniable.core.outputs import write_text

BEGIN, END = "<!-- made from cards: begin -->", "<!-- made from cards: end -->"

NAMESPACES = (
    "",
    "oracles",
    "records",
    "dealt",
    "answers",
    "postprocess",
    "leakage",
    "planning",
    "files",
    "report",
    "errors",
)
"""Where public names stand, below `deniable`, in the order of the index."""

_DECODING = {
    "counts": "counters",
    "compares": "every report with every value",
    "transform": "one transform, all values",
}


def shelves() -> str:
    """Return the tables of all mechanisms in Markdown, a shelf each."""
    lines = []
    for shelf in get_args(Shelf):
        lines += ["", f"### {shelf.capitalize()}", "", "| name | class | take it for | one report | decoding |"]
        lines.append("|---|---|---|---|---|")
        for name, card in cards():
            if card.shelf == shelf:
                cls = mechanism_class(name)
                also = "".join(f", `{variant.name}`" for variant in card.variants)
                row = (f"`{name}`{also}", f"`{cls.__name__}`", card.when, card.wire, _DECODING[card.decoding])
                lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines).strip()


def index() -> str:
    """Return the index of all public names in Markdown, a namespace each."""
    lines = ["# Public names", "", "Made by `python -m deniable.report.shelves docs` from what the namespaces list."]
    for namespace in NAMESPACES:
        package = importlib.import_module(f"deniable.{namespace}".rstrip("."))
        lines += ["", f"## `{package.__name__}`", "", _first_line(package), ""]
        for name in sorted(vars(package).get("__all__") or _own_names(package)):
            value = getattr(package, name)
            if not isinstance(value, ModuleType):
                lines.append(f"* `{name}`: {_first_line(value)}")
    return "\n".join(lines) + "\n"


def _own_names(package: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("deniable")
    ]


def _first_line(value: Any) -> str:
    documented = isinstance(value, ModuleType) or callable(value)
    return (inspect.getdoc(value) or "").partition("\n")[0] if documented else f"{type(value).__name__}"


def with_shelves(page: str) -> str:
    """Return a page with the tables between its markers as they are now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{shelves()}\n\n{END}{after}"


def main(docs: Path) -> None:
    """Write both pages anew."""
    write_text(docs / "choosing.md", with_shelves((docs / "choosing.md").read_text(encoding="utf-8")))
    write_text(docs / "api.md", index())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
