"""What docs/client.md says of the client is what the client has."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")


def english() -> dict[str, str]:
    """Return the page's own sentences by their keys."""
    text = (ROOT / "client" / "src" / "text.ts").read_text(encoding="utf-8")
    return {key: json.loads(said) for key, said in re.findall(r'^  (\w+): ("(?:[^"\\]|\\.)*"),$', text, re.M)}


def table() -> str:
    """Return the table of the sentences, as the page has it."""
    return "\n".join(
        ["| key | in English |", "|---|---|", *(f"| `{key}` | {said} |" for key, said in english().items())]
    )


def test_the_page_lists_the_words_of_the_interface() -> None:
    assert len(english()) > 50
    assert table() in PAGE


def test_the_survey_is_embedded_in_five_lines() -> None:
    (example,) = re.findall(r"```html\n(.*?)```", PAGE, re.S)
    assert len(example.strip().splitlines()) == 5


if __name__ == "__main__":
    before, _, rest = PAGE.partition("<!-- interface -->\n")
    after = rest[rest.index("\n## Measured") :]
    (ROOT / "docs" / "client.md").write_text(f"{before}<!-- interface -->\n\n{table()}\n{after}", encoding="utf-8")
