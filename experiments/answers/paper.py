"""The experiments on questions of an estimate, by name."""

from __future__ import annotations

from experiments.harness import Paper

PAPER = Paper("answers")
