"""A collector on the loopback for tests of the survey page: it follows the contract, and fails on command."""

from __future__ import annotations

import base64
import json
import os
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from deniable.service.survey_page import link_digits, page_hash
from deniable.survey.collection import Collection

STATIC = Path(__file__).parents[2] / "src" / "deniable" / "service" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


@dataclass
class Loopback:
    """One survey on a port of its own.

    Parameters
    ----------
    collection : Collection
        The collection to ask.
    page : dict
        The survey document.
    words : dict of str to bytes
        Dictionaries by attribute.
    """

    collection: Collection
    page: dict[str, Any]
    words: dict[str, bytes] = field(default_factory=dict)
    state: str = "open"
    lost: list[int] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    silent: int = 0
    retry_after: str = ""
    html: dict[str, str] = field(default_factory=dict)
    scripts: dict[str, bytes] = field(default_factory=dict)
    """Further scripts by path."""
    document: str = ""
    bodies: list[bytes] = field(default_factory=list)
    counted: dict[str, bytes] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    posts: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    page_origin: str = ""
    """Origin that hosts the page, if it is another; its script may send requests here."""
    connect: str = "'self'"
    """Origins that pages served here may contact."""
    policy: str = POLICY

    def __enter__(self) -> Loopback:
        self.document = self.document or self.collection.to_json()
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

            def do_GET(self) -> None:
                self.answer(*outer.get(self.path))

            def do_OPTIONS(self) -> None:
                self.answer(204, "", b"")

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                outer.headers.append(dict(self.headers.items()))
                self.answer(*outer.post(self.path, content))

            def answer(self, status: int, kind: str, content: bytes) -> None:
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Type", kind)
                if status == 503 and outer.retry_after:
                    self.send_header("Retry-After", outer.retry_after)
                self.send_header("Content-Length", str(len(content)))
                policy = outer.policy.replace("connect-src 'self'", f"connect-src {outer.connect}")
                self.send_header("Content-Security-Policy", policy)
                if outer.page_origin:
                    self.send_header("Access-Control-Allow-Origin", outer.page_origin)
                    self.send_header("Access-Control-Allow-Headers", "content-type")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.server.server_port}"

    @property
    def link(self) -> str:
        """The contributor's link."""
        return f"{self.origin}/s/demo#{self.digits}"

    @property
    def digits(self) -> str:
        """The digits of the link."""
        return link_digits(self.collection.id, page_hash(json.dumps(self.page)))

    def get(self, path: str) -> tuple[int, str, bytes]:
        for asked, served in self.aliases.items():
            path = path.replace(asked, served)
        base = f"/api/v1/collections/{self.collection.id}"
        if path in self.html:
            return 200, "text/html; charset=utf-8", self.html[path].encode()
        if path in self.scripts:
            return 200, "text/javascript", self.scripts[path]
        if path == "/s/demo":
            return 200, "text/html; charset=utf-8", SHELL.format(id=self.collection.id).encode()
        name = path.removeprefix("/static/")
        if path.startswith("/static/") and name in os.listdir(STATIC):
            kind = "text/javascript" if path.endswith(".js") else "text/css"
            return 200, kind, (STATIC / name).read_bytes()
        if path == base:
            return 200, "application/json", self.document.encode()
        if path == f"{base}/page":
            return 200, "application/json", json.dumps(self.page).encode()
        if path == f"{base}/state":
            return 200, "application/json", json.dumps({"state": self.state}).encode()
        for name, content in self.words.items():
            if path == f"{base}/dictionary/{name}":
                return 200, "text/plain; charset=utf-8", content
        return (204, "", b"") if path == "/favicon.ico" else problem(404, "not-found")

    def post(self, path: str, content: bytes) -> tuple[int, str, bytes]:
        base = f"/api/v1/collections/{self.collection.id}"
        data = json.loads(content)
        with self.lock:
            self.posts.append(path.removeprefix(base))
            if path == f"{base}/receipts":
                if self.silent and data["id"] in self.counted:
                    self.silent -= 1
                    return problem(503, "store")
                return (204, "", b"") if data["id"] in self.counted else problem(404, "not-counted")
            if path != f"{base}/reports":
                return problem(404, "not-found")
            self.bodies.append(content)
            if self.failures:
                status = self.failures.pop(0)
                return problem(status, self.problem or {410: "closed", 403: "not-invited"}.get(status, "busy"))
            if data["collection"] != self.collection.id:
                return problem(409, "wrong-collection")
            (one,) = data["reports"]
            first = one["id"] not in self.counted
            if first:
                self.counted[one["id"]] = base64.urlsafe_b64decode(one["report"] + "=" * (-len(one["report"]) % 4))
            if self.lost:
                # The report is counted, but the answer does not arrive. Then the given failures follow.
                self.failures, self.lost = self.lost, []
                return problem(503, "store")
            said = {"counted": int(first), "already": int(not first), "invalid": 0}
            return 201 if first else 200, "application/json", json.dumps(said).encode()


def problem(status: int, name: str) -> tuple[int, str, bytes]:
    """Return a problem document."""
    said = {"type": f"urn:deniable:problem:{name}", "title": name, "status": status}
    return status, "application/problem+json", json.dumps(said).encode()


SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Survey</title>
<link rel="stylesheet" href="/static/survey.css">
<script type="module" src="/static/survey.js"></script>
</head>
<body>
<main id="survey" data-collection="{id}" data-slug="demo" data-api="/api/v1"></main>
</body>
</html>
"""
