"""Browser client and library agree on every byte; the shipped bundle is built from the sources."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deniable.oracles.sketch.families._gf2 import smallest_irreducible
from deniable.service.public import bundles
from deniable.service.survey_page import link_digits
from tests.wire_vectors import PLACE, answers, documents, memos, recorded, replayed, subjects, threshold_table

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "deniable" / "service" / "static"
BUNDLE = STATIC / "survey.js"
(SECOND,) = STATIC.glob("further.*.js")
TRANSLATIONS = sorted(path for path in STATIC.glob("*.*.js") if path != SECOND)
NODE = shutil.which("node")
BUILT = (ROOT / "client" / "node_modules" / "esbuild").exists()


def test_the_library_makes_the_reports_of_the_vectors() -> None:
    stored = {item["name"]: item for path in PLACE.glob("[A-Z]*.json") for item in json.loads(path.read_text())}
    made = {subject.name: subject for subject in subjects()}
    assert stored.keys() == made.keys()
    assert sum(len(item["cases"]) for item in stored.values()) >= 2000
    for name, item in stored.items():
        # The vector is replayed from the file alone, as another program reads it. Then the file is checked as a whole.
        assert replayed(item, 0).hex() == item["cases"][0][2]
        assert json.loads(json.dumps(recorded(made[name]))) == item, name


def test_thresholds_and_documents_of_the_vectors_are_the_librarys() -> None:
    assert json.loads((PLACE / "thresholds.json").read_text()) == threshold_table()
    assert json.loads((PLACE / "answers.json").read_text()) == answers()
    assert json.loads((PLACE / "memos.json").read_text()) == memos()
    stored = json.loads((PLACE / "documents.json").read_text())
    # The words of a guarantee may change. The ids, and the content that determines them, may not change.
    assert [(one["name"], one["id"]) for one in stored] == [(one["name"], one["id"]) for one in documents()]


def test_a_link_ends_in_half_of_a_hash_over_both_documents() -> None:
    r"""Expected: `printf 'deniable link 1\n%s\n%s\n' ID PAGE | sha256sum`; node tests the client with this value."""
    links = json.loads((PLACE.parent / "service" / "links.json").read_text())
    assert [link_digits(one["collection"], one["page"]) for one in links] == [one["digits"] for one in links]
    # The documentation shows these bytes.
    found = re.search(r"```text\n(.*?)```", (ROOT / "docs" / "client.md").read_text(encoding="utf-8"), re.S)
    assert found
    for one in links:
        text = found[1].replace("PAGE-HASH", one["page"]).replace("ID", one["collection"])
        assert hashlib.sha256(text.encode("ascii")).hexdigest()[:32] == one["digits"]
    # These ids and pages agree in 63 of 64 digits. When each half of the link was the beginning of one hash, all these
    # links were equal.
    alike = [one for one in links if one["collection"].startswith("0" * 63) and one["page"].startswith("0" * 63)]
    assert len({one["digits"] for one in alike}) == len(alike) == 3


def test_the_clients_polynomials_are_the_librarys() -> None:
    found = re.search(r"IRREDUCIBLE = \[([^\]]*)\]", (ROOT / "client" / "src" / "further" / "sketch.ts").read_text())
    assert found
    table = [int(one) for one in found[1].split(",")]
    assert table == [smallest_irreducible(degree) ^ (1 << degree) for degree in range(1, 33)]


def test_the_bundle_was_built_from_these_sources() -> None:
    content = hashlib.sha256()
    sources = ROOT / "client" / "src"
    for path in sorted(sources.rglob("*"), key=lambda path: path.relative_to(sources).as_posix()):
        if path.is_file():
            content.update(f"{path.relative_to(sources).as_posix()}\0{path.read_text()}\0".encode())
    for bundle in (BUNDLE, SECOND):
        assert f"of sources {content.hexdigest()} " in bundle.read_text().splitlines()[0], "run `make client`"


def test_the_bundle_names_the_other_files_by_their_digests() -> None:
    """Comparing the first file with the released file therefore compares all files."""
    others = [SECOND, *TRANSLATIONS]
    for path in others:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        assert path.name == f"{path.name.partition('.')[0]}.{digest}.js"
    assert [path.name.partition(".")[0] for path in TRANSLATIONS] == ["ar", "de", "es", "fr"]
    named = re.findall(r'import\("([^"]*)"\)', BUNDLE.read_text())
    assert sorted(named) == sorted(f"./{path.name}" for path in others)
    # The second file repeats nothing: the first file hands over the parts that both need.
    assert "import" not in SECOND.read_text()
    assert bundles()[SECOND.name][0] == SECOND.name


def test_the_bundle_is_small() -> None:
    """About 15 KB are for the library and 4 for 130 sentences in each language; the rest is the page."""
    assert len(gzip.compress(BUNDLE.read_bytes(), 9)) <= 28 * 1024
    assert len(gzip.compress(SECOND.read_bytes(), 9)) <= 12 * 1024
    assert all(len(gzip.compress(path.read_bytes(), 9)) <= 5 * 1024 for path in TRANSLATIONS)


@pytest.mark.skipif(NODE is None or not BUILT, reason="the client's developer tools are not installed (npm ci)")
def test_building_again_gives_the_bundle(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", f"{tmp_path}/"], cwd=ROOT / "client", check=True, capture_output=True)
    built = {path.name for path in tmp_path.iterdir()}
    assert built == {BUNDLE.name, SECOND.name, "survey.css", *(path.name for path in TRANSLATIONS)}
    for name in built:
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes()


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_client_passes_its_own_tests() -> None:
    files = sorted(str(path) for path in (ROOT / "client" / "test").glob("*.test.mjs"))
    done = subprocess.run(["node", "--test", *files], cwd=ROOT / "client", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
