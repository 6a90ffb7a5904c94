"""Compare this library with its peers in one run: ``make bench``, or ``python -m benchmarks --help``.

* `cases`: comparisons, and the ratio that each must reach
* `data`: true answers of the contributors, the same in both environments
* `measure`: processor time per report, ratios and their spread
* `ours`: calls of this library, and the cost of its random bits alone
* `peers`, `peer_worker`, `peer_libraries`: calls of the other libraries, in a process with its own environment
* `dictionaries`, `evaluations`: sketches of 2^17 and 2^20 values, compared with plain numpy
* `latency`: time for one report, of this library and of the peers
* `files`: time from a file of answers to a result, compared with a copy by pyarrow
* `engines`: sums of the same reports by this library, DuckDB and Spark
* `startup`: import time and compilation time
* `report`: tables, files and the picture
* `quoted`, `pages`: tables of `docs/benchmarks.md`, written from `docs/results/benchmarks.json`
"""
