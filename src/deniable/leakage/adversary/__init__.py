"""Attacks on releases, and audits of clients."""
