"""Findings of audits for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from deniable.leakage.auditor import AuditResult
from deniable.report.tables import print_line, table_lines
from deniable.report.text import visible

FORMAT = "deniable audit"
FORMAT_VERSION = 1


def print_audit(console: Console, found: Sequence[tuple[str, AuditResult]], alpha: float) -> None:
    """Print one line per client: its claim, the bound, and how many reports it took; then what that means.

    Examples
    --------
    >>> from deniable.leakage.auditor import AuditResult
    >>> result = AuditResult(1.21, 0.01, 1.0, (0, 2), "the report's label is in {0}", 4, 18176)
    >>> print_audit(Console(width=80, highlight=False), [("smoker", result)], 0.01)
    client  claimed  at least  reports per input
    ────────────────────────────────────────────
    smoker        1    1.2100             18,176
    smoker exceeds the claim: epsilon is at least 1.2100, with confidence 99%. It
    tells input 0 from input 2; event: the report's label is in {0}
    """
    header = ["client", "claimed", "at least", "reports per input"]
    columns = [
        [name for name, _ in found],
        [f"{result.claimed_epsilon:g}" for _, result in found],
        [f"{result.epsilon_lower:.4f}" for _, result in found],
        [f"{result.samples:,}" for _, result in found],
    ]
    for line in table_lines(header, columns, console.width):
        console.print(Text(line), no_wrap=True, crop=False)
    confidence = f"confidence {100 * (1 - alpha):.6g}%"
    together = f"{confidence} for all {len(found)} together" if len(found) > 1 else confidence
    refuted = [(name, result) for name, result in found if result.exceeds_claim]
    for name, result in refuted:
        print_line(
            console,
            f"{visible(name)} {result.verdict}: epsilon is at least {result.epsilon_lower:.4f}, with {together}. It "
            f"tells input {result.pair[0]} from input {result.pair[1]}; event: {result.event}",
            style="bold",
        )
    if len(refuted) < len(found):
        others = next(result.verdict for _, result in found if not result.exceeds_claim)
        print_line(console, f"others: {others}" if refuted else others, style="bold")


def audit_data(found: Sequence[tuple[str, AuditResult]], alpha: float) -> dict[str, Any]:
    """Return findings as plain JSON data in full precision."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "alpha": alpha,
        "refuted": any(result.exceeds_claim for _, result in found),
        "clients": [
            {
                "client": name,
                "verdict": result.verdict,
                **vars(result),
                "pair": list(result.pair),
                "exceeds_claim": result.exceeds_claim,
            }
            for name, result in found
        ],
    }
