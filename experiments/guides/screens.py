"""Pages of the project in a browser, some with numbered marks; needs Chromium and the development tools."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = 390

MARK = """([element, number]) => {
    const range = document.createRange(), mark = document.createElement("b");
    range.selectNodeContents(element);
    const text = [...range.getClientRects()].at(-1), box = element.getBoundingClientRect();
    const [x, y] = element instanceof SVGElement
        ? [box.left + box.width / 2 - 10, box.top + box.height / 2 - 27]
        : [Math.min(text.right + 7, innerWidth - 22), text.top + text.height / 2 - 10];
    mark.textContent = number;
    mark.style.cssText = "position:absolute;z-index:9;width:20px;height:20px;border-radius:50%;text-align:center;"
        + `font:bold 13px/20px sans-serif;background:#a63c00;color:#fff;left:${x + scrollX}px;top:${y + scrollY}px`;
    document.body.append(mark);
}"""


@contextmanager
def browser() -> Iterator[Browser]:
    """Run Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = str(CHROMIUM) if CHROMIUM.exists() else None
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@contextmanager
def opened(running: Browser, address: str, width: int, scheme: str = "light", scale: float = 1) -> Iterator[Page]:
    """Open a page at a width, in light or dark."""
    context = running.new_context(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=scale,
    )
    page = context.new_page()
    page.goto(address)
    yield page
    context.close()


def mark(page: Page, places: Sequence[str]) -> None:
    """Put the numbers 1, 2, ... at the first elements that selectors find: after a text, above a mark of a chart."""
    for number, selector in enumerate(places, 1):
        page.evaluate(MARK, [page.locator(selector).first.element_handle(), number])


def crop(page: Page, first: str, last: str, path: Path, margin: float = 12) -> None:
    """Save the part from one element to another, over the whole width."""
    boxes = [page.locator(selector).first.bounding_box() for selector in (first, last)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    top, bottom = boxes[0]["y"] - margin, boxes[1]["y"] + boxes[1]["height"] + margin
    width = page.evaluate("innerWidth")
    clip = {"x": 0.0, "y": max(top, 0.0), "width": float(width), "height": bottom - max(top, 0.0)}
    save(page.screenshot(full_page=True, clip=clip), path)  # type: ignore[arg-type]


def save(picture: bytes, path: Path, colours: int = 240) -> None:
    """Save a screenshot with few colours: a third of the bytes, without visible loss."""
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
