"""Exploration as one self-contained page with sliders for budget and contributors, without server or network.

The script lies beside this file as `templates/explorer.js`. By their hashes, the page allows exactly that script and
its own styles. It allows nothing to be loaded or sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os

import jinja2

from deniable.core.outputs import write_text
from deniable.planning.exploring import Exploration


def render_explorer(exploration: Exploration, title: str = "What a survey would tell") -> str:
    """Return the page of an exploration, with its sliders, as HTML.

    Examples
    --------
    >>> from deniable import Attribute, Schema
    >>> from deniable.planning import explore
    >>> schema = Schema((Attribute("</script><b>smoker", ("yes", "no")),))
    >>> html = render_explorer(explore(schema, 1000))
    >>> "<b>smoker" in html, html.count("</script>"), "http-equiv" in html
    (False, 2, True)
    """
    loader = jinja2.PackageLoader("deniable.report")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    files = {name: loader.get_source(environment, f"explorer.{name}")[0] for name in ("css", "js")}
    # Inside a script element, only "<" could end the element or begin a comment.
    text = json.dumps(exploration.to_dict(), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return environment.get_template("explorer.html").render(
        title=title,
        style=files["css"],
        script=files["js"],
        style_hash=_hash(files["css"]),
        script_hash=_hash(files["js"]),
        data=text,
        assumptions=exploration.assumptions,
    )


def save_explorer(
    exploration: Exploration, path: str | os.PathLike[str], title: str = "What a survey would tell"
) -> None:
    """Write the result of `render_explorer` to a file atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import Attribute, Schema
    >>> from deniable.planning import explore
    >>> with TemporaryDirectory() as folder:
    ...     save_explorer(explore(Schema((Attribute("smoker", ("yes", "no")),)), 1000), f"{folder}/survey.html")
    ...     [path.name for path in Path(folder).iterdir()]
    ['survey.html']
    """
    write_text(path, render_explorer(exploration, title))


def _hash(text: str) -> str:
    """Return the name by which a page's policy allows an element of this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
