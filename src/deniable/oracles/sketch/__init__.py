"""Count-mean sketches: frequency oracles for dictionaries of any size."""
