"""Addresses that people are given: the collector's address, a survey's link, and an invitation's link."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from deniable.errors import InvalidParameterError, quoted

_LINK = re.compile(r"([0-9a-f]{32})(?:\.([A-Za-z0-9_-]{22}))?")


@dataclass(frozen=True)
class SurveyAddress:
    """Parts of an address of a collector, a survey or an invitation.

    Parameters
    ----------
    base : str
        Beginning of the address, which the collector's paths follow; without a slash at its end.
    slug : str
        Name of the survey; empty if the address is not a link.
    digits : str
        Digits by which a device recognises the collection and its texts; empty if the address is not a link.
    token : str
        Secret of an invitation; empty if the address is not an invitation.

    Examples
    --------
    >>> SurveyAddress.read("https://example.org/s/smoking#" + "ab" * 16).slug
    'smoking'
    """

    base: str
    slug: str = ""
    digits: str = ""
    token: str = ""

    @classmethod
    def read(cls, url: str) -> SurveyAddress:
        """Return the parts of a URL.

        Raises
        ------
        InvalidParameterError
            If the text is not a URL, or the part after its # is not that of a link.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidParameterError(f"url must be an address such as https://survey.example.org, got {quoted(url)}")
        found = _LINK.fullmatch(parts.fragment)
        if parts.fragment and not found:
            # The end of an invitation's link is a secret, so it is not quoted.
            raise InvalidParameterError(
                "the link of a survey must end with # and 32 digits. The link of an invitation must end with these "
                "digits, a dot and 22 characters; copy the whole link"
            )
        digits, token = found.groups() if found else ("", None)
        path, _, slug = parts.path.partition("/s/")
        return cls(f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", slug.strip("/"), digits, token or "")
