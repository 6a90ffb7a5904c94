"""How docs/papers/answers.md quotes the results (see `experiments.pages`): one module per section of the page.

``python -m experiments.pages answers --update results`` takes the tables of all sections from one folder: run what is new,
and copy the others from docs/papers/results/answers, with their commands, beside it.
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
