"""A seeded sample of small faults over every package of the library, and which of them the tests notice.

``python -m tests.mutants --seed 1`` records which test runs which line, draws 60 mutants, runs for each the tests that
run its line until one fails, and writes a JSON file; see `tests.mutants.__main__`.

Why no library: mutmut 3 leaves decorated functions alone, which here are the compiled loops; cosmic-ray runs one
command for every mutant and has neither a sample nor a choice of tests. Either would need most of what is here around
it. What runs which line comes from coverage.py.
"""
