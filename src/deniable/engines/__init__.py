"""Randomise and add up reports in Spark, and add up reports in DuckDB."""
