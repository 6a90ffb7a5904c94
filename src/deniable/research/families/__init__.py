"""Hash families of a count-mean sketch for comparison with prime and spread: linear, partition and binary."""
