"""Many attributes: records int[n, d] in, one estimate per attribute out."""
