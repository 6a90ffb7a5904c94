"""Pages made from templates, and the content security policy of a page; nothing here needs a server."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = Path(__file__).parent / "templates"

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
)

_STYLE = re.compile(r"<style>(.*?)</style>", re.S)


@functools.cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # jinja's own filter would make the rest of a sentence lower case.
    made.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    return made


def render_template(name: str, **values: Any) -> str:
    """Return a page of `templates`."""
    return _environment().get_template(name).render(**values)


def policy(**rules: str) -> str:
    """Return the content security policy of pages with some rules replaced; underscores stand for hyphens.

    Examples
    --------
    >>> "form-action 'self'" in policy(form_action="'self'")
    True
    """
    named = {name.replace("_", "-"): value for name, value in rules.items()}
    kept = (rule.partition(" ") for rule in _POLICY)
    return "; ".join(f"{name} {named.get(name, value)}" for name, _, value in kept)


def page_headers(page: str) -> dict[str, str]:
    """Return the headers of a page that contains its style sheet: no other style and no script is let in.

    Examples
    --------
    >>> page_headers("<style>p{}</style>")["Content-Security-Policy"].split("; ")[1:3]
    ["script-src 'none'", "style-src 'sha256-gG2yISYereRMiG2lMXrbiUgi0Ubw9p7QCeWcroOvy9Y='"]
    """
    hashes = (hashlib.sha256(sheet.encode()).digest() for sheet in _STYLE.findall(page))
    styles = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    rules = policy(script_src="'none'", style_src=styles or "'none'", connect_src="'none'")
    return {"Content-Security-Policy": rules, "Cache-Control": "no-cache"}
