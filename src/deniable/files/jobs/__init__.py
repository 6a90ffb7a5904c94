"""Streaming jobs over files, and the ledger that records them."""
