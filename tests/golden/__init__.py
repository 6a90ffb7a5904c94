"""Golden: what every registered mechanism did when it was recorded, so that a change of structure changes nothing."""
