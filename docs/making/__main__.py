"""Write the parts of pages that are made from the code: ``python -m docs.making``."""

from __future__ import annotations

from docs.making import commands, mechanisms, names, outputs
from docs.making.navigation import ROOT

from deniable.core.outputs import write_text


def main() -> None:
    """Write all made parts of pages."""
    docs = ROOT / "docs"
    (docs / "mechanisms").mkdir(exist_ok=True)
    for path, text in {**names.pages(), **mechanisms.pages()}.items():
        write_text(docs / path, text)
    for path, made_anew in (("choosing.md", names.with_shelves), ("cli.md", commands.with_tables)):
        write_text(docs / path, made_anew((docs / path).read_text(encoding="utf-8")))
    outputs.main(docs)


if __name__ == "__main__":
    main()
