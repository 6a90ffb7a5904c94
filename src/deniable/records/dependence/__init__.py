"""Dependence of two attributes: tables of pairs, and measures of association."""
