"""The site: ``make docs``. What is Sphinx's own; what is ours stands in `docs/making`."""

from __future__ import annotations

import inspect
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils.nodes import document, literal, reference, title
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs.making import names, navigation, words  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "deniable"
author = project_copyright = "The deniable maintainers"
version = release = installed("deniable")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = navigation.START
include_patterns = [f"{page}.md" for page in navigation.all_pages()]
exclude_patterns = [".*", "build", "client", "results", "src", "tests"]

myst_heading_anchors = 6
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
highlight_language = "none"

# The button copies what a reader types: no prompts, and nothing from output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"

html_theme = "furo"
html_title = f"deniable {release}"
html_additional_pages = {"index": "start.html"}
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["making"]
html_copy_source = False


def _read(_: Sphinx, page: str, source: list[str]) -> None:
    text = navigation.without_folders(page, names.with_docstrings(page, source[0]))
    source[0] = words.with_words(page, navigation.with_navigation(page, text))


def _leave_words(_: Sphinx, page: document) -> None:
    """Link only what is a public name: `k` or `rows` in a docstring is a word, whatever has a member of that name."""
    for found in list(page.findall(pending_xref)):
        target = found.get("reftarget", "")
        if found.get("refdomain") == "py" and "." not in target and target not in names.linked():
            found.replace_self(found.children)


def _lead_to_names(app: Sphinx, page: document) -> None:
    """Link what a page spells ``deniable.Something`` to its docstring, wherever its module is."""
    for code in list(page.findall(literal)):
        target = names.place(code.astext())
        if target and not isinstance(code.parent, (reference, title, pending_xref)):
            said = {"refdomain": "py", "reftype": "obj", "refexplicit": True, "refdoc": app.env.docname}
            code.replace_self(pending_xref("", code.deepcopy(), reftarget=target, **said))


def _escape(*given: Any) -> None:
    """Keep sizes such as |X_i| what they are in a docstring; to Sphinx they would be the names of replacements."""
    lines = given[-1]
    lines[:] = [line if ">>>" in line else re.sub(r"\|(\w+)\|", r"\\|\1\\|", line) for line in lines]


def _bases(_: Sphinx, _name: str, cls: type, _options: Any, bases: list[type]) -> None:
    """Name the nearest bases that have a page: what stands between is how it is made."""
    known = [one for one in cls.__mro__[1:] if one.__name__ in names.linked() and one.__module__.startswith("deniable")]
    bases[:] = [one for one in known if not any(issubclass(other, one) for other in known if other is not one)]


def _skip(_: Sphinx, _what: str, _name: str, member: object, *_options: Any) -> bool | None:
    """Leave out what a NamedTuple says of its fields by itself, and members that are functions of NumPy."""
    field = (getattr(member, "__doc__", None) or "").startswith("Alias for field")
    return True if field or isinstance(member, staticmethod) or inspect.isbuiltin(member) else None


def setup(app: Sphinx) -> None:
    """Let pages be read as the site needs them."""
    for language in navigation.PLAIN:
        app.add_lexer(language, TextLexer)
    app.connect("source-read", _read)
    app.connect("doctree-read", _leave_words)
    app.connect("doctree-read", _lead_to_names)
    app.connect("autodoc-process-docstring", _escape)
    app.connect("autodoc-process-bases", _bases)
    app.connect("autodoc-skip-member", _skip)
