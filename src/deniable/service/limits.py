"""Limits on the reports of one network, counted in memory by a keyed digest of the address; the key lives for an hour.

The address itself is stored nowhere. It is the address of the connection. If the connection comes from a proxy that is
trusted by name, it is the right-most forwarded address that does not belong to a trusted proxy.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers

from deniable.errors import InvalidParameterError

PER_MINUTE, PER_HOUR = 300, 3000
"""Most reports that one network may send. A school or an office can answer in one lesson, but a script cannot fill a
survey."""

MAX_NETWORKS = 1 << 18
"""Most networks that are counted at a time. With more networks, counting begins anew."""

_SITES = 8
"""A /48 of IPv6 may send as much as this many networks."""

_HOUR, _MINUTE = 3600, 60
_FOR = re.compile(r'(?:^|[;,\s])for=("[^"]*"|[^;,\s]*)', re.IGNORECASE)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def networks(texts: Iterable[str], what: str) -> tuple[Network, ...]:
    """Return networks from texts; `what` is the name of the setting that lists them.

    Raises
    ------
    InvalidParameterError
        If a text is not a network in CIDR notation.
    """
    try:
        return tuple(ipaddress.ip_network(text) for text in texts)
    except ValueError as error:
        raise InvalidParameterError(
            f"{what} must list networks, such as 10.0.0.0/8: {error}", parameters=(what,)
        ) from error


def client_address(peer: str, headers: Headers, trusted: tuple[Network, ...]) -> str:
    """Return the address that a request comes from.

    For a request of a trusted proxy, this is the right-most address that does not belong to a trusted proxy. A proxy
    writes `Forwarded` or `X-Forwarded-For`, and passes the other header on as it came. A sender could therefore write
    anything there. If both headers are present and differ, neither is believed.

    Examples
    --------
    >>> proxies = networks(["10.0.0.0/8"], "trusted_proxies")
    >>> client_address("10.0.0.1", Headers({"x-forwarded-for": "6.6.6.6, 9.9.9.9, 10.0.0.2"}), proxies)
    '9.9.9.9'
    >>> client_address("8.8.8.8", Headers({"x-forwarded-for": "6.6.6.6"}), proxies)
    '8.8.8.8'
    """
    if not is_trusted(peer, trusted):
        return peer
    said = set()
    if forwarded := headers.getlist("forwarded"):
        said.add(_right_most(_FOR.findall(",".join(forwarded)), peer, trusted))
    if listed := headers.getlist("x-forwarded-for"):
        said.add(_right_most(",".join(listed).split(","), peer, trusted))
    return said.pop() if len(said) == 1 else peer


def _right_most(hops: list[str], peer: str, trusted: tuple[Network, ...]) -> str:
    """Return the right-most of some hops that is not a trusted proxy, or the first hop if all are."""
    nodes = [*map(_node, hops)] or [peer]
    return next((node for node in reversed(nodes) if not is_trusted(node, trusted)), nodes[0])


def is_trusted(address: str, trusted: tuple[Network, ...]) -> bool:
    """Return whether an address belongs to a proxy whose forwarded addresses are believed."""
    found = _address(address) if trusted else None
    return found is not None and any(found in network for network in trusted)


def _node(text: str) -> str:
    """Return the address of a forwarded hop without quotes, brackets and port."""
    text = text.strip().strip('"')
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Allowance:
    """Number of reports that a network may send.

    Parameters
    ----------
    per_minute, per_hour : int
        Number of reports that are let through in a minute and in an hour.
    """

    per_minute: int = PER_MINUTE
    per_hour: int = PER_HOUR


@dataclass(eq=False)
class _Seen:
    minute: int
    in_minute: int = 0
    in_hour: int = 0


class Limits:
    """Counter of reports by network: an IPv4 /24, an IPv6 /56 and the /48 around it, or a named network.

    A /48 may send as much as eight networks. It is what one customer is given, and it holds 256 networks.

    Parameters
    ----------
    usual : Allowance
        Allowance of a network that is not named.
    named : mapping of network to Allowance
        Networks with an allowance of their own, which all their addresses share: a school, a carrier. The smallest
        network that holds an address counts.
    now : callable
        Function that returns seconds, for tests.
    """

    def __init__(
        self,
        usual: Allowance | None = None,
        named: Mapping[Network, Allowance] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._usual, self._now = usual or Allowance(), now
        self._named = sorted((named or {}).items(), key=lambda item: -item[0].prefixlen)
        self._begin(0)

    def _begin(self, hour: int) -> None:
        self._hour, self._key, self._seen = hour, secrets.token_bytes(32), dict[bytes, _Seen]()

    def wait(self, address: str) -> int:
        """Count a report; return 0 if it is let through, otherwise the number of seconds after which to try again."""
        now = self._now()
        hour, minute = int(now // _HOUR), int(now // _MINUTE)
        if hour != self._hour or len(self._seen) >= MAX_NETWORKS:
            self._begin(hour)
        counted = [(self._of(network, minute), allowance) for network, allowance in self._found(address)]
        if any(seen.in_hour >= allowance.per_hour for seen, allowance in counted):
            return int(_HOUR - now % _HOUR) + 1
        if any(seen.in_minute >= allowance.per_minute for seen, allowance in counted):
            return int(_MINUTE - now % _MINUTE) + 1
        for seen, _ in counted:
            seen.in_minute += 1
            seen.in_hour += 1
        return 0

    def _of(self, network: str, minute: int) -> _Seen:
        name = hmac.digest(self._key, network.encode(), "sha256")[:16]
        seen = self._seen.setdefault(name, _Seen(minute))
        if seen.minute != minute:
            seen.minute, seen.in_minute = minute, 0
        return seen

    def _found(self, text: str) -> list[tuple[str, Allowance]]:
        """Return the networks that an address is counted with: a named one, or its own and the one around that."""
        found = _unmapped(_address(text))
        named = next(((str(network), allowance) for network, allowance in self._named if found in network), None)
        if found and named:
            return [named]
        own = [(network_of(text), self._usual)]
        if found is not None and found.version == 6:
            around = Allowance(_SITES * self._usual.per_minute, _SITES * self._usual.per_hour)
            own.append((str(ipaddress.ip_network(f"{found}/48", strict=False)), around))
        return own


def network_of(text: str) -> str:
    """Return the network of an address, an IPv4 /24 or an IPv6 /56; return "none" for a text that is not an address.

    Examples
    --------
    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2ff::1"), network_of("a socket")
    ('192.0.2.0/24', '2001:db8:1:200::/56', 'none')
    """
    found = _unmapped(_address(text))
    if found is None:
        return "none"
    return str(ipaddress.ip_network(f"{found}/{24 if found.version == 4 else 56}", strict=False))


def _unmapped(address: Address | None) -> Address | None:
    """Return the IPv4 address that an IPv6 address stands for, and any other address unchanged."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped
