"""Count-mean sketches, for dictionaries of any size."""
