"""Files in deploy/, used as on the page about deployment: by an unprivileged user, with their own commands."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deniable.service.config import read_configuration
from deniable.service.stores import check_backup
from tests.service.asking import ASKED, Caller, bodies, page, sqlite, until

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT, BACKUP = (DEPLOY / "systemd" / f"{name}.service" for name in ("deniable", "deniable-backup"))
SOMEBODY = 47_831
"""Id of a user without a name, who owns no file."""

PROGRAM = "/opt/deniable/bin/deniable"


def settings(unit: Path) -> dict[str, list[str]]:
    """Return the settings of a unit by name."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@dataclass
class Harness:
    """Imitate systemd for a unit, as far as possible, in folders of its own.

    The user, directories with their modes, the mask, the limit of files, the environment, no new privileges and an
    empty set of capabilities are taken from the unit. Paths are below `root`.
    """

    root: Path

    def place(self, text: str) -> str:
        """Return a text with paths below this root."""
        return re.sub(r"/(var|etc)/[\w/.-]+", lambda found: f"{self.root}{found[0]}", text)

    def prepare(self, unit: Path) -> None:
        """Make the directories and the settings of a unit."""
        said = settings(unit)
        for kind, place in (
            ("StateDirectory", "var/lib"),
            ("LogsDirectory", "var/log"),
            ("CacheDirectory", "var/cache"),
        ):
            for name in " ".join(said.get(kind, [])).split():
                folder = self.root / place / name
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(int(said.get(f"{kind}Mode", ["0755"])[0], 8))
                os.chown(folder, SOMEBODY, SOMEBODY)
        etc = self.root / "etc" / "deniable"
        etc.mkdir(parents=True, exist_ok=True)
        (etc / "collector.toml").write_text(self.place((DEPLOY / "collector.toml").read_text()))
        (etc / "environment").write_text("DENIABLE_PUBLIC=127.0.0.1:0\nDENIABLE_ADMIN=127.0.0.1:0\n")

    def environment(self, unit: Path) -> dict[str, str]:
        """Return the environment of a unit: its own variables, and those of its file."""
        found = {"PATH": "/usr/bin:/bin"}
        for text in settings(unit).get("Environment", []):
            name, _, value = self.place(text).partition("=")
            found[name] = value
        for text in (self.root / "etc" / "deniable" / "environment").read_text().splitlines():
            name, _, value = text.partition("=")
            found[name] = value
        return found

    def start(self, unit: Path, command: list[str] | None = None) -> subprocess.Popen[str]:
        """Start the program of a unit, or another command as its user."""
        said = settings(unit)
        own = shlex.split(self.place(said["ExecStart"][0])) if command is None else command
        assert own[0] == PROGRAM
        whole = [sys.executable, "-m", "deniable.cli", *own[1:]]
        alone = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", "--inh-caps=-all"]
        if said.get("NoNewPrivileges") == ["yes"]:
            alone.append("--no-new-privs")
        if said.get("CapabilityBoundingSet") == [""]:
            alone.append("--bounding-set=-all")

        def limits() -> None:
            os.umask(int(said["UMask"][0], 8))
            if files := said.get("LimitNOFILE"):
                most = min(int(files[0]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
                resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))

        working = self.place(said["WorkingDirectory"][0]) if "WorkingDirectory" in said else "/"
        return subprocess.Popen(
            [*alone, *whole],
            env=self.environment(unit),
            cwd=working,
            preexec_fn=limits,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str) -> str:
        """Run a command as the collector's user, and return its output."""
        process = self.start(UNIT, [PROGRAM, *command])
        said, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return said


@pytest.fixture
def harness() -> Iterator[Harness]:
    """A root for a unit's directories that other users can also reach."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("a service is started under another user: needs root and setpriv")
    with tempfile.TemporaryDirectory(prefix="deniable-deploy-", dir="/var/tmp") as name:
        root = Path(name)
        root.chmod(0o755)
        probe = ["setpriv", f"--reuid={SOMEBODY}", "--clear-groups", sys.executable, "-c", "import deniable.cli"]
        if subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode:
            pytest.skip("another user cannot read this checkout, or the Python that runs the tests")
        yield Harness(root)


@contextlib.contextmanager
def serving(harness: Harness) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The collector as started by the unit, with its public address from its log."""
    process = harness.start(UNIT)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"collecting at (\S+), dashboard at", line)
        assert found, line + process.stderr.read()
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def test_the_unit_starts_takes_a_report_and_ends(harness: Harness) -> None:
    """As on the page: the collector's user makes the first owner and a survey, then starts the service."""
    harness.prepare(UNIT)
    database = f"sqlite:{harness.root}/var/lib/deniable/survey.db"
    state = harness.root / "var" / "lib" / "deniable"
    (state / "survey.json").write_text(ASKED.to_json())
    (state / "page.json").write_text(page())
    harness.run("survey", "new", "smoking", "survey.json", "page.json", "--database", database)
    harness.run("survey", "open", "smoking", "--database", database)
    with serving(harness) as (process, public):
        until(lambda: Caller(public)("GET", "/health/ready").status == 200)
        assert [Caller(public).post(one).status for one in bodies(3)] == [201] * 3
        # A command of the same user goes through the running collector.
        assert "open" in harness.run("survey", "status", "smoking", "--database", database)
        log = harness.root / "var" / "log" / "deniable" / "collector.log"
        until(lambda: "POST /api/v1/collections/{id}/reports 201" in log.read_text())
        assert "files may be open (512 before)" in log.read_text()
        # This does what logrotate does: the file is moved away, and a new file is begun.
        log.rename(log.with_name("collector.log.1"))
        assert Caller(public)("GET", "/health/live").status == 200
        until(lambda: log.exists() and "GET /health/live" in log.read_text())
        for path in (log, state / "survey.db"):
            assert (path.stat().st_uid, path.stat().st_mode & 0o077) == (SOMEBODY, 0)
        # The backup has its own unit beside it.
        harness.prepare(BACKUP)
        for _ in range(2):
            made = harness.start(BACKUP)
            _, errors = made.communicate(timeout=60)
            assert made.returncode == 0, errors
            time.sleep(1)
        (first, second) = sorted((harness.root / "var" / "lib" / "deniable" / "backups").iterdir())
        assert first.name < second.name
        check_backup(second)
        assert second.stat().st_mode & 0o077 == 0
        began = time.monotonic()
        process.send_signal(getattr(signal, settings(UNIT)["KillSignal"][0]))
        assert process.wait(float(settings(UNIT)["TimeoutStopSec"][0])) == 0
        assert time.monotonic() - began < 10


def test_a_unit_that_logs_before_its_directory_is_made_would_be_found(harness: Harness) -> None:
    """An earlier unit opened its log before LogsDirectory= was made; now the collector names the missing directory."""
    harness.prepare(UNIT)
    (harness.root / "var" / "log" / "deniable").rmdir()
    process = harness.start(UNIT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot write the log" in errors
    assert not any("append:" in value for values in settings(UNIT).values() for value in values)


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").glob("*.*")), ids=lambda path: path.name)
def test_systemd_reads_the_units(unit: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None or unit.suffix == ".conf":
        pytest.skip("systemd-analyze is not installed, or it reads no such file")
    for other in (DEPLOY / "systemd").glob("*.*"):
        (tmp_path / other.name).write_text(other.read_text().replace(PROGRAM, "/bin/true"))
    done = subprocess.run([program, "verify", str(tmp_path / unit.name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_settings_are_settings() -> None:
    found = read_configuration(DEPLOY / "collector.toml", {}, {})
    assert found.database == "sqlite:/var/lib/deniable/survey.db"
    assert (found.limits.per_minute, found.limits.per_hour, found.limits.off) == (300, 3000, False)
    assert found.trusted_proxies == ["127.0.0.1/32"]


# -------------------------------------------------------------------- the container


def steps() -> list[tuple[str, str]]:
    """Return the steps of the Containerfile."""
    lines = (DEPLOY / "container" / "Containerfile").read_text().splitlines()
    return [(line.split()[0], line.partition(" ")[2]) for line in lines if line and not line.startswith("#")]


HOST = """
mount -t tmpfs -o mode=755 none "$1"
for entry in /*; do
  case "$entry" in /opt | /var | /tmp | /src | /run | /lost+found) continue ;; esac
  if [ -L "$entry" ]; then cp -P "$entry" "$1$entry"
  elif [ -d "$entry" ]; then mkdir "$1$entry"; mount --rbind "$entry" "$1$entry"; fi
done
mkdir -p "$1/opt" "$1/var/lib" "$1/src" "$1/run"
mkdir -m 1777 "$1/tmp"
for entry in /opt/*; do
  if [ -d "$entry" ]; then mkdir "$1$entry"; mount --rbind "$entry" "$1$entry"; fi
done
cp -R "$2/." "$1/src"
chroot "$1" sh -ec "$3"
"""
"""Makes a root from this machine's programs with its own folders, like an image at its start, and runs a command."""


@pytest.mark.long
def test_the_steps_of_the_container_make_one_that_serves() -> None:
    """The steps run in their own root, as a user without rights outside of it."""
    if os.geteuid() != 0 or shutil.which("nsenter") is None:
        pytest.skip("the root of a container is made by root, with nsenter")
    with tempfile.TemporaryDirectory(prefix="deniable-container-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        _replay(Path(name))


def _replay(tmp_path: Path) -> None:
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split()
    source = tmp_path / "source"
    for name in tracked:
        if name.startswith(("src/", "pyproject", "README", "LICENSE")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    script, environment, user, entry, arguments = [], dict[str, str](), "", list[str](), list[str]()
    for step, rest in steps():
        if step == "RUN":
            script.append(rest)
        elif step == "ENV":
            name, _, value = rest.partition("=")
            environment[name] = value
        elif step == "USER":
            user = rest
        elif step == "COPY":
            assert rest == ". /src"
        elif step in ("ENTRYPOINT", "CMD"):
            (entry if step == "ENTRYPOINT" else arguments).extend(re.findall(r'"([^"]*)"', rest))
    uid, _, gid = user.partition(":")
    exports = " ".join(f"{name}={value}" for name, value in environment.items())
    serve = f"setpriv --reuid={uid} --regid={gid} --clear-groups {' '.join(entry + arguments)} --json"
    script += [
        "cd /var/lib/deniable",
        f"env {exports} DENIABLE_PUBLIC=127.0.0.1:0 {serve} &",
        f"sleep 30; pkill -TERM -u {uid} deniable; wait $!; echo ended $?",
    ]
    folder = tmp_path / "root"
    folder.mkdir()
    holder = subprocess.Popen(["unshare", "--user", "--mount", "--pid", "--fork", "sleep", "900"])
    try:
        time.sleep(1)
        (inner,) = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        for kind in ("uid_map", "gid_map"):
            # The root user of the container owns what our user owns, without any right of ours. Every other user in it
            # is nobody here.
            Path(f"/proc/{inner}/{kind}").write_text("0 0 1\n1 100001 65535\n")
        inside = ["nsenter", "--target", inner, "--user", "--mount", "--setuid", "0", "--setgid", "0"]
        command = [*inside, "sh", "-ec", HOST, "sh", str(folder), str(source), "\n".join(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert '"public": "http://127.0.0.1:' in done.stdout, done.stdout[-2000:] + done.stderr[-4000:]
        assert "ended 0" in done.stdout, done.stderr[-4000:]
    finally:
        holder.kill()
        holder.wait()


def test_the_compose_file_fits_the_container() -> None:
    """The file is read as text: no library here reads YAML, and no program runs it."""
    lines = (DEPLOY / "container" / "compose.yaml").read_text().splitlines()
    said = dict(line.strip().partition(": ")[::2] for line in lines if not line.strip().startswith("#"))
    made: dict[str, list[str]] = {}
    for step, rest in steps():
        made.setdefault(step, []).append(rest)
    assert (DEPLOY / "container" / said["context"]).resolve() == ROOT
    assert (ROOT / said["dockerfile"]).is_file()
    # The public port is open to this machine only, and the admin port to nobody.
    assert said["ports"] == f'["127.0.0.1:8080:{made["EXPOSE"][0]}"]'
    assert said["volumes"] == f'["database:{made["VOLUME"][0]}"]'
    assert (said["init"], said["read_only"], said["cap_drop"]) == ("true", "true", "[ALL]")
    # The collector ends within ten seconds, and is given more.
    assert int(said["stop_grace_period"].removesuffix("s")) > 10
    found = read_configuration(None, {}, {"DENIABLE_TRUSTED_PROXIES": said["DENIABLE_TRUSTED_PROXIES"]})
    assert found.trusted_proxies == ["172.16.0.0/12"]
    # Every level is indented by two blanks, because YAML needs equal indents.
    assert all((len(line) - len(line.lstrip())) % 2 == 0 and "\t" not in line for line in lines)


# -------------------------------------------------------------------- monitoring


def samples(text: str) -> dict[str, dict[str, float]]:
    """Return the samples of Prometheus text by family, read strictly: HELP, TYPE, samples, each family once."""
    found: dict[str, dict[str, float]] = {}
    kinds, current = dict[str, str](), ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
            assert current not in found, f"{current} stands twice"
            assert len(line.split()) > 3
            found[current] = {}
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name == current
            kinds[name] = kind
        else:
            sample = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="[^"\\\n]*",?)*\})? (\S+)', line)
            assert sample, line
            name, value = sample[1], sample[3]
            base = re.sub("_(bucket|sum|count)$", "", name) if kinds[current] == "histogram" else name
            assert base == current
            assert "e" not in value.removeprefix("+Inf")
            assert kinds[current] != "counter" or name.endswith("_total")
            found[current][line.rpartition(" ")[0]] = float(value)
    return found


def test_metrics_are_read_by_a_strict_reader_and_alerts_name_them(tmp_path: Path) -> None:
    from deniable.service.auth import Logins
    from tests.service.asking import collecting, open_survey

    with collecting(sqlite(tmp_path)) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        for one in bodies(20):
            Caller(here.public).post(one)
        assert here.collector.drain() == 20
        Caller(here.public)("GET", "/nowhere/at/all")
        Caller(here.public)("BREW", "/s/smoking")
        store = here.collector.store
        store.add_analyst("prometheus", "monitor", "scrypt$0$0$0$00$00")
        token = Logins(store, here.collector.clock).issue("prometheus", "token", None)
        watch = Caller(here.admin, {"authorization": f"Bearer {token}"})
        # A monitor cannot read results.
        assert watch("GET", "/surveys/smoking/results.json").status == 403
        here.collector.metrics.reports("counted", 1_234_567)
        text = watch("GET", "/metrics").content.decode()
    found = samples(text)
    assert found["deniable_reports_total"]['deniable_reports_total{outcome="counted"}'] == 1_234_587
    route = "POST /api/v1/collections/{id}/reports"
    assert found["deniable_requests_total"][f'deniable_requests_total{{route="{route}",status="201"}}'] == 20
    assert found["deniable_request_seconds"][f'deniable_request_seconds_count{{route="{route}"}}'] == 20
    assert 'deniable_requests_total{route="GET (unknown)",status="404"}' in found["deniable_requests_total"]
    assert not any("BREW" in line or ASKED.id in line for line in text.splitlines())
    assert found["deniable_disk_free_bytes"]["deniable_disk_free_bytes"] > 0
    assert found["deniable_open_files"]["deniable_open_files"] > 5
    rules = (DEPLOY / "prometheus" / "alerts.yml").read_text()
    named = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"deniable_[a-z_]+", rules)}
    assert len(named) > 8
    assert named <= set(found)
