"""Process of a collector: two ports, a socket for the command line, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import ipaddress
import logging
import resource
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from logging.handlers import WatchedFileHandler
from typing import cast

from deniable.errors import MissingExtraError, OutputError
from deniable.service.clock import PATIENCE, JudgedClock, system_clock
from deniable.service.collector import DRAIN_SECONDS, Collector
from deniable.service.config import Configuration, address
from deniable.service.control import ControlSocket
from deniable.service.limits import networks
from deniable.service.stores import open_store, sqlite_path
from deniable.service.surveys import Clock

try:
    import uvicorn
    from starlette.types import ASGIApp

    from deniable.service.admin import admin_app
    from deniable.service.connections import Connection, Connections
    from deniable.service.middleware import access as access_log, requests
    from deniable.service.public import Access, public_app
except ImportError as missing:
    raise MissingExtraError(
        'the collector needs packages that are not installed: run pip install "deniable[service]"'
    ) from missing

GRACE_SECONDS = 5
"""Seconds for requests that are under way when the process is asked to end. This is longer than the wait for a
commit."""

MAX_CONNECTIONS = 20_000
"""Most connections, however many files may be open."""

ADMIN_CONNECTIONS = 32
"""Number of these connections that are for the admin port."""

OTHER_FILES = 64
"""Files that the store, logs and outputs need besides connections."""

_BACKLOG = 2048
_ALLOCATIONS = 10_000
"""Number of objects after which garbage is collected, which are those of some hundred requests."""


log = logging.getLogger("deniable.service")


@dataclass(frozen=True)
class Running:
    """Collector that runs.

    Parameters
    ----------
    collector : Collector
        Collector behind the ports.
    public, admin : str
        Addresses of its ports.
    """

    collector: Collector
    public: str
    admin: str


@contextlib.contextmanager
def running(
    configuration: Configuration,
    *,
    migrate: bool = False,
    clock: Clock = system_clock,
    drain_seconds: float = DRAIN_SECONDS,
    patience: float = PATIENCE,
) -> Iterator[Running]:
    """Run a collector inside the block; at its end, write the reports that wait and then close the store.

    A jump of the clock must last for `patience` seconds before it is followed.

    Raises
    ------
    StoreError
        If the database cannot be served.
    OutputError
        If a port is taken.
    InvalidParameterError
        If an address or a network is not valid.
    """
    trusted = networks(configuration.trusted_proxies, "trusted_proxies")
    admin_trusted = networks(configuration.admin_proxies, "admin_proxies")
    limits, guesses = configuration.limits.limits(), configuration.limits.limits()
    access = Access(limits, trusted, tuple(configuration.page_origin), guesses)
    with contextlib.ExitStack() as stack:
        public, admin = (
            stack.enter_context(_listening(text, what))
            for text, what in ((configuration.public, "public"), (configuration.admin, "admin"))
        )
        store = open_store(configuration.database, migrate=migrate)
        stack.callback(store.close)
        judged = JudgedClock(clock, patience=patience)
        collector = Collector(store, judged, drain_seconds, configuration.results.while_open, judged.steady)
        collector.start()
        # Reports that wait when the ports are closed are written then.
        stack.callback(collector.stop)
        path = sqlite_path(configuration.database)
        if path is not None:
            stack.callback(ControlSocket(path, collector.surveys, collector.refresh).close)
        desk = admin_app(collector, admin_trusted, _hosts(configuration), configuration.public_url or _local(public))
        apps = (public_app(collector, access), public), (desk, admin)
        stack.callback(requests.say)
        most = _most_connections()
        shares = Connections(most - ADMIN_CONNECTIONS), Connections(ADMIN_CONNECTIONS)
        servers = [
            stack.enter_context(_serving(app, listening, share))
            for (app, listening), share in zip(apps, shares, strict=True)
        ]
        # Both ports are closed at once, so that one grace period is waited, not two.
        stack.callback(_shut, servers)
        yield Running(collector, _origin(public), _origin(admin))


def _local(listening: socket.socket) -> str:
    """Return the address of a port that only this machine reaches; "" for others, whose address only a proxy knows."""
    return _origin(listening) if ipaddress.ip_address(listening.getsockname()[0]).is_loopback else ""


def _hosts(configuration: Configuration) -> frozenset[str]:
    """Return the names by which a browser may reach the admin port."""
    host, _ = address(configuration.admin, "admin")
    return frozenset({host, "localhost", "127.0.0.1", "::1", *(name.lower() for name in configuration.hosts)})


def _shut(servers: list[uvicorn.Server]) -> None:
    for server in servers:
        server.should_exit = True


def keep_what_is_loaded() -> None:
    """Limit Python's search for garbage to objects that requests leave; only for a process that does nothing else.

    Otherwise a tenth of the time of a report goes into searching modules.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)


def begin_log(file: str = "") -> None:
    """Make the collector log to a file or to stderr; a request's line has only its address's template and status.

    The line of a request has no time, which would be the time of somebody's report. If the file is moved away, a new
    one is begun.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    try:
        handlers = [WatchedFileHandler(file) if file else logging.StreamHandler() for _ in range(3)]
    except OSError as error:
        raise OutputError(f"cannot write the log {file}: {error.strerror or error}") from error
    timed, plain = "%(asctime)s %(levelname)s %(message)s", "%(levelname)s %(message)s"
    said = (
        (logging.getLogger("deniable.service"), logging.INFO, timed),
        (access_log, logging.INFO, plain),
        (logging.getLogger("uvicorn.error"), logging.WARNING, timed),
    )
    for handler, (logger, level, form) in zip(handlers, said, strict=True):
        handler.setFormatter(logging.Formatter(form))
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


@contextlib.contextmanager
def _listening(text: str, what: str) -> Iterator[socket.socket]:
    host, port = address(text, what)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OutputError(f"cannot listen on {text} ({what}): {error.strerror or error}") from error
    with listening:
        yield listening


def _most_connections() -> int:
    """Raise the limit of open files as far as this process may, and return for how many connections that has room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(ADMIN_CONNECTIONS + 8, min(MAX_CONNECTIONS, now - OTHER_FILES))
    log.info("up to %d files may be open (%d before): up to %d connections are taken", now, soft, most)
    return most


@contextlib.contextmanager
def _serving(app: ASGIApp, listening: socket.socket, share: Connections) -> Iterator[uvicorn.Server]:
    config = uvicorn.Config(
        app,
        # uvicorn asks for a class, but calls it like any callable.
        http=cast(type[asyncio.Protocol], functools.partial(Connection, share)),
        loop="uvloop",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=_BACKLOG,
    )
    # uvicorn's log lines contain addresses, and ids if a path has them.
    logging.getLogger("uvicorn.access").disabled = True
    server = uvicorn.Server(config)
    # Signals belong to the main thread. A server in another thread leaves them alone.
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield server
    finally:
        server.should_exit = True
        # A request that waits for a database that does not answer cannot be cancelled. It is left behind.
        thread.join(GRACE_SECONDS + 1)


def _origin(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
