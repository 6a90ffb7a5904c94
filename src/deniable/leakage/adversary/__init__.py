"""Attacks and audits: what releases and clients give away to somebody who tries."""
