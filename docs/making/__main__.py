"""Write what is made from the code into the pages: ``python -m docs.making``."""

from __future__ import annotations

from docs.making import names
from docs.making.navigation import ROOT

from deniable.core.outputs import write_text


def main() -> None:
    """Write all of them anew."""
    docs = ROOT / "docs"
    for path, text in names.pages().items():
        write_text(docs / path, text)
    choosing = docs / "choosing.md"
    write_text(choosing, names.with_shelves(choosing.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
