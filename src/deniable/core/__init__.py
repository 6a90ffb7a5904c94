"""What everything stands on: mechanisms, aggregates, estimates, guarantees, randomness."""
