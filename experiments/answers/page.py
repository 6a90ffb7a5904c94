"""Quotations of results in docs/papers/answers.md (see `experiments.pages`): one module per section of the page.

``python -m experiments.pages answers --update results`` takes the tables of all sections from one folder. Run the new
experiments into this folder, and copy the other tables, with their commands, from docs/papers/results/answers.
"""

from __future__ import annotations

from experiments.answers import ordered_page, pair_page
from experiments.pages import Page

PAGE = Page(
    "answers",
    ordered_page.PARTS + pair_page.PARTS,
    ordered_page.STATED | pair_page.STATED,
    ordered_page.PICTURES | pair_page.PICTURES,
)
