"""Randomisation and sums of reports in Spark, and sums of reports in DuckDB."""
