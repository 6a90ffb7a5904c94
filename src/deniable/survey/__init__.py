"""Questionnaires: attributes, schemas, encoding, dictionaries and collections."""
