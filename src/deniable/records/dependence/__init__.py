"""Dependence between two attributes: pair tables, measures of association, and the decoder of all tables together."""
