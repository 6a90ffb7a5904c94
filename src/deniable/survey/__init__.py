"""What is asked: attributes, schemas, encoding, dictionaries, collections."""
