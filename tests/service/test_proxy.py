"""The proxy of deploy/, except for paths: TLS, forwarded addresses, slow headers, no addresses in logs."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deniable.service import config
from deniable.service.config import Configuration, LimitsShape
from deniable.service.limits import Limits
from deniable.service.server import running
from tests.service.asking import ASKED, PATIENCE, bodies, open_survey, sqlite, until
from tests.service.conftest import absent

SERVER = (Path(__file__).parents[2] / "deploy" / "nginx" / "survey.conf").read_text(encoding="utf-8")
API = f"/api/v1/collections/{ASKED.id}"


def certificate(folder: Path) -> None:
    """Write a self-signed certificate of survey.example.org."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "survey.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("survey.example.org")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM
    (folder / "fullchain.pem").write_bytes(made.public_bytes(form))
    kept = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "privkey.pem").write_bytes(kept)


@contextlib.contextmanager
def proxied(public: str, folder: Path) -> Iterator[int]:
    """Run nginx in front of a collector, on a free port."""
    certificate(folder)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    server = SERVER
    for old, new in (
        ("listen 443", f"listen {port}"),
        ("http://127.0.0.1:8080", public),
        ("/etc/letsencrypt/live/survey.example.org", str(folder)),
        ("client_header_timeout 10s", "client_header_timeout 1s"),
    ):
        assert old in server, old
        server = server.replace(old, new)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    text = f"pid {folder}/pid;\nerror_log {folder}/main.log info;\nevents {{}}\nhttp {{\n{places}{server}}}\n"
    (folder / "nginx.conf").write_text(text)
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_behind_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("nginx") is None and not Path("/usr/sbin/nginx").exists():
        absent("nginx", "DENIABLE_NGINX")
    settings = Configuration(
        database=sqlite(tmp_path),
        public="127.0.0.1:0",
        admin="127.0.0.1:0",
        trusted_proxies=["127.0.0.1/32"],
        limits=LimitsShape(per_minute=4, per_hour=100),
    )
    # All requests come in one minute, however slow the machine is.
    monkeypatch.setattr(config, "Limits", partial(Limits, now=lambda: 0.0))
    with running(settings, migrate=True) as here, proxied(here.public, tmp_path) as port:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        trusted = ssl.create_default_context(cafile=str(tmp_path / "fullchain.pem"))

        def asked(
            method: str, path: str, content: bytes | None = None, source: str = "127.0.0.2", **headers: str
        ) -> int:
            raw = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0))
            connection = http.client.HTTPConnection("survey.example.org")
            connection.sock = trusted.wrap_socket(raw, server_hostname="survey.example.org")
            with contextlib.closing(connection):
                connection.request(method, path, content, {k.replace("_", "-"): v for k, v in headers.items()})
                answer = connection.getresponse()
                assert answer.getheader("strict-transport-security") == "max-age=31536000"
                assert answer.getheader("content-security-policy", "").startswith("default-src 'none'")
                answer.read()
                return answer.status

        assert asked("GET", "/s/smoking") == 200
        # No body is written to a file. While it is read, the file would be in this folder.
        written = (tmp_path / "client_body").stat().st_mtime_ns
        assert asked("POST", f"{API}/reports", b" " * 900_000, source="127.9.9.9", content_type="text/plain") == 415
        assert (tmp_path / "client_body").stat().st_mtime_ns == written
        sent = bodies(8)
        # Whatever a sender says about their address, the proxy's word counts. All these requests are from one network.
        statuses = [
            asked(
                "POST",
                f"{API}/reports",
                one.to_json(),
                content_type="application/json",
                x_forwarded_for=f"9.9.{i}.9",
                forwarded=f"for=9.8.{i}.9",
            )
            for i, one in enumerate(sent[:6])
        ]
        assert statuses == [201] * 4 + [429] * 2
        other = {"source": "127.0.1.2", "content_type": "application/json"}
        assert asked("POST", f"{API}/reports", sent[6].to_json(), **other) == 201
        # The proxy ends slow headers, while the collector's port alone would keep them.
        raw = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        with trusted.wrap_socket(raw, server_hostname="survey.example.org") as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nhost: survey.example.org\r\nx-slow: ")
            answer = b""
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                while part := slow.recv(4096):
                    answer += part
            assert answer == b"" or answer.startswith(b"HTTP/1.1 408")
        # A wrong handshake and a head that is too long would each make nginx log an address.
        for start in (b"this is no handshake\r\n\r\n", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"):
            with socket.create_connection(("127.0.0.1", port), PATIENCE, ("127.0.0.2", 0)) as bad:
                bad.sendall(start)
                with contextlib.suppress(ConnectionError):
                    bad.recv(4096)
        raw = socket.create_connection(("127.0.0.1", port), PATIENCE, ("127.0.0.2", 0))
        with trusted.wrap_socket(raw, server_hostname="survey.example.org") as long:
            long.sendall(b"GET / HTTP/1.1\r\nhost: survey.example.org\r\ncookie: " + b"x" * 40_000 + b"\r\n\r\n")
            assert long.recv(4096).startswith(b"HTTP/1.1 400")
    # nginx has ended, so its whole log is written.
    logged = (tmp_path / "main.log").read_text()
    assert "127.0.0.2" not in logged
    assert "client" not in logged
