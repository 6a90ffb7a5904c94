"""OpenAPI description of the public port, which the port itself publishes."""

from __future__ import annotations

from typing import Any

from deniable.files.wire import BINARY_TYPE, JSON_TYPE, LEAVES_TYPE, MAX_REPORTS
from deniable.service.problems import MEDIA_TYPE, PREFIX, PROBLEMS

_ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{21}[AQgw]$"}
_COLLECTION = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "integer", "minimum": 1}
_LEAF = {"type": "string", "pattern": "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"}
_DIGEST = {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}
_OPENING = {"type": ["string", "null"], "pattern": "^[0-9a-f]{32}$"}
_BYTES = {"type": "string", "format": "binary"}


def description() -> dict[str, Any]:
    """Return the OpenAPI description of the public port."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": "1",
            "description": "Randomised reports in; a sum of them out. Nobody is asked who they are.",
        },
        "servers": [{"url": "/api/v1"}],
        "paths": {
            "/collections/{id}": {
                "get": _read("What is asked, and how it is randomised: byte for byte the file.", JSON_TYPE)
            },
            "/collections/{id}/page": {"get": _read("What people read, and the survey's terms.", JSON_TYPE)},
            "/collections/{id}/state": {
                "get": _operation(
                    "Whether devices may draw, and until when reports are taken.",
                    {"200": _content("The state.", JSON_TYPE, {"$ref": "#/components/schemas/State"})},
                    ["unknown-collection"],
                )
            },
            "/collections/{id}/dictionary/{attribute}": {
                "get": _operation(
                    "The words of an attribute.",
                    {"200": _content("A word a line.", "text/plain", {"type": "string"})},
                    ["unknown-collection", "not-found"],
                    [_parameter("attribute", {"type": "string"})],
                )
            },
            "/collections/{id}/batches": {
                "get": _operation(
                    "How many reports each batch has, the root over its leaves, and the digest of the sum so far.",
                    {"200": _content("The batches.", JSON_TYPE, {"$ref": "#/components/schemas/Batches"})},
                    ["unknown-collection", "store"],
                )
            },
            "/collections/{id}/batches/{number}/leaves": {
                "get": _file("All leaves of a batch, sorted, 32 bytes each.", [_parameter("number", _NUMBER)])
            },
            "/collections/{id}/batches/{number}/reports": {
                "get": _file(
                    "A batch of reports in Parquet, where they are published.", [_parameter("number", _NUMBER)]
                )
            },
            "/collections/{id}/aggregate": {"get": _file("The aggregate, where it is published.", [])},
            "/collections/{id}/receipts": {
                "post": {
                    **_operation(
                        "Whether a report of an id was counted.",
                        {"204": {"description": "It was."}},
                        [
                            *(
                                "not-counted",
                                "not-invited",
                                "unknown-collection",
                                "malformed",
                                "too-large",
                                "unsupported",
                            ),
                            *("slow", "too-many", "store"),
                        ],
                    ),
                    "requestBody": _body(JSON_TYPE, {"$ref": "#/components/schemas/Receipt"}),
                }
            },
            "/collections/{id}/reports": {
                "post": {
                    **_operation(
                        "Send a report; several with a token. An id counts once: the first, whatever comes later.",
                        {
                            "201": _content("All are new.", JSON_TYPE, {"$ref": "#/components/schemas/Outcome"}),
                            "200": _content(
                                "Some were there, or are invalid.", JSON_TYPE, {"$ref": "#/components/schemas/Outcome"}
                            ),
                        },
                        [
                            *("unknown-collection", "wrong-collection", "malformed", "too-large", "unsupported"),
                            *(
                                "invalid-report",
                                "not-invited",
                                "not-open",
                                "closed",
                                "slow",
                                "token",
                                "too-many",
                                "busy",
                            ),
                            "store",
                        ],
                    ),
                    "requestBody": {
                        "required": True,
                        "content": {
                            JSON_TYPE: {"schema": {"$ref": "#/components/schemas/Reports"}},
                            BINARY_TYPE: {"schema": _BYTES},
                            LEAVES_TYPE: {"schema": _BYTES},
                        },
                    },
                }
            },
        },
        "components": {
            "schemas": {
                "Problem": _object(
                    {
                        "type": {"type": "string", "enum": [PREFIX + name for name in PROBLEMS]},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string"},
                    },
                    optional=("detail",),
                ),
                "State": _object(
                    {
                        "state": {"enum": ["draft", "open", "paused", "closing", "closed"]},
                        "closes_at": {"type": ["string", "null"]},
                        "accepts_until": {"type": ["string", "null"]},
                        "now": {"type": "string"},
                    }
                ),
                "Receipt": _object({"id": _ID}),
                "Batches": _object(
                    {
                        "collection": _COLLECTION,
                        "batches": {"type": "array", "items": {"$ref": "#/components/schemas/Batch"}},
                        "aggregate": {"type": "boolean"},
                        "reports": {"type": "boolean"},
                    }
                ),
                "Batch": _object(
                    {"number": _NUMBER, "n": _COUNT, "root": _DIGEST, "digest": _DIGEST, "opening": _OPENING}
                ),
                "Report": _object(
                    {"id": _ID, "report": {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"}, "leaf": _LEAF},
                    optional=("leaf",),
                ),
                "Reports": _object(
                    {
                        "collection": _COLLECTION,
                        "reports": {
                            "type": "array",
                            "items": {"$ref": "#/components/schemas/Report"},
                            "minItems": 1,
                            "maxItems": MAX_REPORTS,
                        },
                    }
                ),
                "Outcome": _object({"counted": _COUNT, "already": _COUNT, "invalid": _COUNT}),
            }
        },
    }


def _operation(
    summary: str, responses: dict[str, Any], problems: list[str], parameters: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    by_status: dict[str, list[str]] = {}
    for name in problems:
        by_status.setdefault(str(PROBLEMS[name][0]), []).append(name)
    said = {
        status: _content(
            " ".join(PROBLEMS[name][1] for name in names), MEDIA_TYPE, {"$ref": "#/components/schemas/Problem"}
        )
        for status, names in by_status.items()
    }
    return {
        "summary": summary,
        "parameters": [_parameter("id", _COLLECTION), *(parameters or [])],
        "responses": responses | said,
    }


def _read(summary: str, media_type: str) -> dict[str, Any]:
    found = {"200": _content("The document.", media_type, {"type": "object"}), "304": {"description": "It is known."}}
    return _operation(summary, found, ["unknown-collection"])


def _file(summary: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    found = {"200": _content("The bytes.", "application/octet-stream", _BYTES)}
    return _operation(summary, found, ["unknown-collection", "not-found", "store"], parameters)


def _content(said: str, media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": said, "content": {media_type: {"schema": schema}}}


def _body(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {media_type: {"schema": schema}}}


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
