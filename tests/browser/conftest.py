"""Chromium for tests of pages: one browser for all tests of a folder, and a fresh profile and strict page for each.

The browser is the system's own (Debian's package `chromium-headless-shell`, or `chromium`); nothing is downloaded.
Without a browser, the tests are skipped with a message. If `DENIABLE_BROWSER=required` is set, as `.ci/run` does, they
fail instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.asking import unhurried

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CLIENT = Path(__file__).parents[2] / "client"
# The headless shell has no window, and does the same work in half the processor time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_ROOT = ("--no-sandbox",)  # Chromium refuses to sandbox itself for root


@pytest.fixture(autouse=True)
def _unhurried() -> Iterator[None]:
    """Let a collector wait for a slow database, unless a test says otherwise."""
    patched = unhurried()
    yield
    patched.undo()


def chromium() -> Iterator[Browser]:
    """Yield a headless Chromium; a test without one is skipped, or fails."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    required = os.environ.get("DENIABLE_BROWSER") == "required"
    if program is None:
        say = pytest.fail if required else pytest.skip
        say(f"tests of pages need a browser, one of {', '.join(PROGRAMS)}: apt-get install chromium-headless-shell")
    if not required:
        pytest.importorskip("playwright", reason="tests of pages need playwright: pip install --group dev")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, headless=True, args=[*FLAGS, *(_ROOT if os.geteuid() == 0 else ())]
        )
        yield started
        started.close()


# The scope is the package, not the session: while playwright runs there is a running event loop, and other tests have
# their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    yield from chromium()


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the content of the npm package's `dist`, built from these sources."""
    if shutil.which("npm") is None or not (CLIENT / "node_modules" / "esbuild").exists():
        required = os.environ.get("DENIABLE_BROWSER") == "required" and shutil.which("npm") is not None
        (pytest.fail if required else pytest.skip)("the client's developer tools are not installed (npm ci)")
    place = tmp_path_factory.mktemp("package")
    (place / "static").mkdir()
    build = ["node", "build.mjs", f"{place / 'static'}/", f"{place / 'dist'}/"]
    subprocess.run(build, cwd=CLIENT, check=True, capture_output=True)
    return place


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page in a profile of its own: `open_page(url, width=390, dark=True)`.

    The test fails if a script of the page throws, or writes an error to the console.
    """
    faults: list[str] = []
    contexts = []

    def opened(url: str, *, width: int = 1200, height: int = 900, dark: bool = False, **options: object) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults
