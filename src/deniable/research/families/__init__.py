"""Hash families of a count-mean sketch that studies compare with prime and spread: linear, partition, binary."""
