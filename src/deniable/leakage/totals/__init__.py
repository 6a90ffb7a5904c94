"""What everything released together says: exact totals, bounds, trees."""
