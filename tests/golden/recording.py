"""Run a mechanism from its specification and record its results as JSON data.

`python -m tests.golden.recording` records all entries of `golden.json` again, from the specifications in this file. If
you do this, write in the changelog which reports changed and why.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from deniable import RecordEstimate, SimulationRandomness
from deniable.core.spec import content_hash, from_spec, to_spec

LONG = 1024
"""Largest number of bytes that are written out."""

PATH = Path(__file__).with_name("golden.json")
ROWS = (1, 40)
"""Batch sizes: one report, whose word order clients share, and a batch that uses compiled kernels."""


def columns(batch: Any) -> list[dict[str, Any]]:
    """Return the columns of a batch of reports or shares: dtype, shape and bytes, little-endian."""
    arrays = batch if isinstance(batch, tuple) else (batch,)
    return [
        {
            "dtype": array.dtype.newbyteorder("<").str,
            "shape": list(array.shape),
            "bytes": brief(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()),
        }
        for array in map(np.asarray, arrays)
    ]


def inputs_of(mechanism: Any, rows: int) -> Any:
    """Return the same inputs on each call: texts, codes int[rows] or records int[rows, d]."""
    number = np.arange(rows)
    if mechanism.takes_text:
        return np.array([("apple", "pear", "apple", "quince")[i % 4] for i in number], dtype=object)
    codes = np.stack([(7 * number + 3 * j + number // 5) % k for j, k in enumerate(mechanism.domain)], axis=1)
    return codes if mechanism.records else codes[:, 0]


def record(spec: dict[str, Any]) -> dict[str, Any]:
    """Return all recorded results of the mechanism of a specification."""
    mechanism: Any = from_spec(spec)
    runs = []
    for rows in (mechanism.n,) if mechanism.dealt else ROWS:
        rng, inputs = SimulationRandomness(2026), inputs_of(mechanism, rows)
        run: dict[str, Any] = {"rows": rows}
        if mechanism.dealt:
            shares = mechanism.deal(rows, rng)
            run["shares"] = columns(shares.columns)
            reports = mechanism.randomize(inputs, shares, rng)
        else:
            reports = mechanism.randomize(inputs, rng)
        aggregate = mechanism.aggregate(reports)
        run |= {
            "reports": columns(reports),
            "counts": brief(aggregate.counts.astype("<i8").tobytes()),
            "n": aggregate.n,
        }
        run["estimates"] = estimates(mechanism.estimate(aggregate))
        runs.append(run)
    guarantee = mechanism.privacy()
    ratio = mechanism.implemented_ratio()
    return {
        "spec": to_spec(mechanism),
        "id": content_hash(to_spec(mechanism)),
        "fields": [[field.name, field.dtype, field.width] for field in mechanism.report_fields],
        "bits": mechanism.report_bits,
        "ratio": str(ratio),
        "implemented_epsilon": number(mechanism.implemented_epsilon()),
        "guarantee": {
            "epsilon": number(guarantee.epsilon),
            "per_attribute": [number(value) for value in guarantee.per_attribute],
            "implemented_epsilon": number(guarantee.implemented_epsilon),
            "trust_models": [[number(row.epsilon), number(row.delta), row.status] for row in guarantee.trust_models],
        },
        "runs": runs,
    }


def estimates(result: Any) -> list[dict[str, Any]]:
    """Return the frequencies and standard errors of each attribute."""
    parts = list(result.values()) if isinstance(result, RecordEstimate) else [result]
    return [{name: floats(getattr(part, name)) for name in ("frequencies", "standard_errors")} for part in parts]


def brief(content: bytes) -> str:
    """Return bytes as hexadecimal digits; long ones as their SHA-256."""
    return content.hex() if len(content) <= LONG else f"sha256:{hashlib.sha256(content).hexdigest()}"


def floats(values: Any) -> list[float | str]:
    """Return numbers; for a long list, the first numbers, their sum and their sum of squares."""
    array = np.asarray(values)
    few = array if array.size <= LONG // 8 else np.array([*array[:16], array.sum(), (array**2).sum()])
    return list(map(number, few))


def number(value: float) -> float | str:
    """Return a number in a form that JSON can hold."""
    return float(value) if np.isfinite(value) else str(float(value))


def main() -> None:
    """Record all entries again."""
    entries = json.loads(PATH.read_text())
    PATH.write_text(json.dumps({name: record(entry["spec"]) for name, entry in entries.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
