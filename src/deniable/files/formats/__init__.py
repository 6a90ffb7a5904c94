"""Formats of files with reports, shares and answers."""
