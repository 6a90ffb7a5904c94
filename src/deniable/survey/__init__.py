"""Questionnaires: attributes, schemas, encoding, dictionaries, collections."""
