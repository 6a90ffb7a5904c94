"""Mechanisms for one attribute, one family per file."""
