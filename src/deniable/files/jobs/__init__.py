"""Streaming work over files, and the ledger of what was done."""
