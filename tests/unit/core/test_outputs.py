"""Output files: complete or absent, synced before they get their name, and written by one writer at a time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR
from deniable.core.aggregate import Aggregate
from deniable.core.outputs import PARTIAL, atomic_directory, atomic_path, locked, write_text
from deniable.errors import OutputError, OutputInUseError
from deniable.files.formats.reports import write_reports
from deniable.files.jobs.aggregating import aggregate_files, merge_files
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.unit.survey_files import files, rng

SURVEY = Collection(Schema((Attribute("a", ("x", "y", "z")),)), GRR(k=3, epsilon=1.0))

WRITER = """
import pathlib, sys, time
from deniable.core.outputs import atomic_directory, atomic_path
kind, target = {"file": atomic_path, "directory": atomic_directory}[sys.argv[1]], sys.argv[2]
with kind(target) as temporary:
    (temporary if sys.argv[1] == "file" else temporary / "inside").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def writer(kind: str, target: Path) -> subprocess.Popen[str]:
    """A process in the middle of writing an output."""
    child = subprocess.Popen([sys.executable, "-c", WRITER, kind, str(target)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    return child


def stop(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait(timeout=60)
    assert child.stdout is not None
    child.stdout.close()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_those_of_a_new_file(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "public", "a")
        write_text(tmp_path / "private", "a", private=True)
        with atomic_directory(tmp_path / "deal"):
            pass
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("public", "private", "deal")]
    assert modes == [mode, 0o600, 0o700]


@pytest.mark.parametrize(
    ("kind", "private", "last"), [("file", False, 0o666), ("file", True, 0o600), ("dir", True, 0o700)]
)
def test_what_is_unfinished_can_be_read_by_its_owner_only(
    kind: str, private: bool, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker opens each new file at once if its permissions allow it."""
    onlookers, opened = [], os.open

    def watched(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        descriptor = opened(path, flags, mode, **options)
        if flags & os.O_CREAT and os.fstat(descriptor).st_mode & 0o077:
            onlookers.append(opened(path, os.O_RDONLY))
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    umask = os.umask(0)
    try:
        begin = partial(atomic_path, private=private) if kind == "file" else atomic_directory
        with begin(tmp_path / "a") as temporary:
            assert temporary.stat().st_mode & 0o077 == 0
            file = temporary if kind == "file" else temporary / "inside"
            file.write_text("half")
            assert temporary.stat().st_mode & 0o077 == 0
            assert files(tmp_path) == {f".a{PARTIAL}"}
    finally:
        os.umask(umask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == last
    for descriptor in onlookers:
        assert os.read(descriptor, 10) == b""
        os.close(descriptor)


def test_reports_are_open_to_others_only_when_they_are_counted(tmp_path: Path) -> None:
    """A report file that is being written would be a second look at the same answers."""
    modes: list[int] = []

    mechanism: Any = SURVEY.mechanism

    def batches() -> Iterator[Any]:
        for seed in (1, 2):
            modes.extend(path.stat().st_mode & 0o777 for path in tmp_path.glob(f".r*{PARTIAL}"))
            yield mechanism.randomize([0, 1, 2], rng(seed))

    umask = os.umask(0o022)
    try:
        write_reports(tmp_path / "r", SURVEY, batches(), rng())
        write_reports(tmp_path / "r kept", SURVEY, batches(), rng(), private=True)
    finally:
        os.umask(umask)
    assert modes == [0o600] * 4
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("r", "r kept")] == [0o644, 0o600]


def test_the_umask_of_other_threads_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """os.umask can only be read by setting it: another thread's file would have no protection meanwhile."""

    def forbidden(mask: int) -> int:
        raise AssertionError(f"umask({mask})")

    monkeypatch.setattr(os, "umask", forbidden)
    write_text(tmp_path / "a", "a")


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, steps = tmp_path / "a", []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        is_directory = os.path.samestat(os.fstat(descriptor), tmp_path.stat())
        steps.append("directory" if is_directory else f"{os.fstat(descriptor).st_size} bytes")
        sync(descriptor)

    def named(source: Path, destination: Path) -> Path:
        steps.append("name")
        return replace(source, destination)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", named)
    write_text(target, "content")
    assert steps == ["7 bytes", "name", "directory"]


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_a_killed_process_left_is_removed_by_the_next(kind: str, tmp_path: Path) -> None:
    child = writer(kind, tmp_path / "a")
    assert files(tmp_path) == {f".a{PARTIAL}"}
    write_text(tmp_path / "b", "other")
    # While the process is alive, nobody touches its file.
    assert files(tmp_path) == {f".a{PARTIAL}", "b"}
    stop(child)
    assert files(tmp_path) == {f".a{PARTIAL}", "b"}
    write_text(tmp_path / "c", "other")
    assert files(tmp_path) == {"b", "c"}


def test_foreign_hidden_files_stay(tmp_path: Path) -> None:
    foreign = {".a.partial", ".a.k3_x9qzw.partial", "a.deniable.partial", ".a.deniable.partial.txt"}
    for name in foreign:
        (tmp_path / name).touch()
    write_text(tmp_path / "a", "content")
    assert files(tmp_path) == {*foreign, "a"}


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_second_writer_of_one_output_is_refused(kind: str, tmp_path: Path) -> None:
    child = writer(kind, tmp_path / "a")
    with pytest.raises(OutputInUseError, match=r"^cannot write .*/a: another run is writing this file; wait"):
        write_text(tmp_path / "a", "second")
    with pytest.raises(OutputInUseError), atomic_directory(tmp_path / "a"):
        raise AssertionError
    assert files(tmp_path) == {f".a{PARTIAL}"}
    stop(child)
    write_text(tmp_path / "a", "second")
    assert (tmp_path / "a").read_text() == "second"


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Threads write one file each and a common file, and look for left-overs all the time."""
    refused, errors = [], []

    def write(number: int) -> None:
        try:
            for turn in range(25):
                write_text(tmp_path / str(number), f"{number} {turn}")
                try:
                    write_text(tmp_path / "all", f"{number} {turn}")
                except OutputInUseError:
                    refused.append(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert files(tmp_path) == {"0", "1", "2", "3", "all"}
    assert [(tmp_path / str(i)).read_text() for i in range(4)] == [f"{i} 24" for i in range(4)]


def test_failures_leave_nothing(tmp_path: Path) -> None:
    for kind in (atomic_path, atomic_directory):
        with contextlib.suppress(KeyboardInterrupt), kind(tmp_path / "a") as temporary:
            (temporary if kind is atomic_path else temporary / "inside").write_text("half")
            raise KeyboardInterrupt
    with pytest.raises(OutputError, match="it is a directory"):
        write_text(tmp_path, "a")
    with pytest.raises(OutputError, match="No such file or directory"):
        write_text(tmp_path / "nowhere" / "a", "a")
    assert files(tmp_path) == set()


def test_a_lock_is_held_by_one_and_leaves_nothing(tmp_path: Path) -> None:
    path, inside, most = tmp_path / "lock", [], []

    def hold() -> None:
        for _ in range(50):
            with locked(path):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 200
    assert files(tmp_path) == set()


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = "import os, sys, pathlib\nfrom deniable.core.outputs import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "lock")]).returncode == -signal.SIGKILL
    assert files(tmp_path) == {"lock"}
    with locked(tmp_path / "lock"):
        pass
    assert files(tmp_path) == set()


# -------------------------------------------------------------------- two simultaneous aggregations


def day(path: Path, n: int) -> Path:
    write_reports(path, SURVEY, [np.zeros(n, dtype=np.uint8)], rng(n))
    return path


def test_two_aggregations_into_one_output(tmp_path: Path) -> None:
    one, other, output = day(tmp_path / "1", 10), day(tmp_path / "2", 20), tmp_path / "all"
    refused = []

    def meanwhile(done: int, total: int | None) -> None:
        with pytest.raises(OutputInUseError):
            aggregate_files(SURVEY, [other], output)
        with pytest.raises(OutputInUseError):
            merge_files([tmp_path / "earlier"], output)
        refused.append(done)

    aggregate_files(SURVEY, [other], tmp_path / "earlier")
    total = aggregate_files(SURVEY, [one], output, progress=meanwhile)
    assert refused == [10]
    assert Aggregate.load(output) == total
    assert total.n == 10
    assert files(tmp_path) == {"1", "2", "earlier", "all"}


def test_a_merge_into_its_own_input_reads_it_once_it_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [tmp_path / name for name in "abc"]
    for number, part in enumerate(parts):
        aggregate_files(SURVEY, [day(tmp_path / f"day{number}", 10 + number)], part)
    load = Aggregate.load
    seen: list[Path] = []

    def meanwhile(path: Path) -> Aggregate:
        if not seen:
            seen.append(path)
            with pytest.raises(OutputInUseError):
                merge_files([parts[0], parts[2]], parts[0])
        return load(path)

    monkeypatch.setattr(Aggregate, "load", meanwhile)
    assert merge_files(parts[:2], parts[0]).n == 21
    assert load(parts[0]).n == 21
