"""Dependence of two attributes: tables of pairs, measures of association, and the decoder of all tables together."""
