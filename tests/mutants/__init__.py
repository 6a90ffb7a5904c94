"""A seeded sample of small faults in all packages of the library, and a check which of them the tests notice.

``python -m tests.mutants --seed 1`` records which test runs which line, and draws 60 mutants. For each mutant it runs
the tests of its line until one fails. The result is a JSON file; see `tests.mutants.__main__`.

Libraries for mutation tests do not fit. mutmut 3 skips decorated functions, which here are the compiled loops.
cosmic-ray runs one command for each mutant, without sampling or a choice of tests. Either would need most of this
package as well. coverage.py tells which test runs which line.
"""
