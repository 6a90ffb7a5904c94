"""Text: sentences, each as a paragraph or as an item of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from rich.console import Console

from deniable.report.html import filled
from deniable.report.page import Axis, Drawing, Part, Room
from deniable.report.png import words
from deniable.report.text import print_line


@final
@dataclass(frozen=True)
class Text(Part):
    """Sentences, each as a paragraph or as an item of a list."""

    lines: tuple[str, ...]
    items: bool = False
    is_narrow = True

    def print_on(self, console: Console, room: Room) -> None:
        for line in self.lines:
            print_line(console, f"  {line}" if self.items else line)

    def markup(self, axis: Axis) -> str:
        return filled("text", part=self)

    def drawing(self, width: float) -> Drawing:
        return words(self.lines, width)
