"""Side by side with peers, in one run: ``make bench``, or ``python -m benchmarks --help``.

* `cases`: what is compared, and the ratio that each comparison must reach
* `data`: the contributors' true answers, the same in both environments
* `measure`: processor time per report, ratios and their spread
* `ours`: this library's side, and the cost of its random bits alone
* `peers`, `peer_worker`, `peer_libraries`: the other libraries, in a process of their own environment
* `dictionaries`, `evaluations`: ours alone, beside plain numpy: sketches of 2^17 and 2^20 values
* `latency`: one report, ours and the peers'
* `files`: from a file of answers to a result, beside pyarrow's own copy
* `engines`: the same reports added up by this library, DuckDB and Spark
* `startup`: import time and the latency of compilation
* `report`: tables, files and the picture
* `quoted`, `pages`: what `docs/benchmarks.md` quotes, from `docs/results/benchmarks.json`
"""
