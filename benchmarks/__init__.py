"""Side by side with peers, in one run: ``make bench``, or ``python -m benchmarks --help``.

* `cases`: what is compared, and the ratio that each comparison must reach
* `data`: the contributors' true answers, the same in both environments
* `measure`: processor time per report, ratios and their spread
* `ours`: this library's side, and the cost of its random bits alone
* `peers`, `peer_worker`, `peer_libraries`: the other libraries, in a process of their own environment
* `dictionaries`, `evaluations`: ours alone, beside plain numpy: sketches of 2^17 and 2^20 values
* `startup`: import time and the latency of compilation
* `report`: tables, files and the picture
"""
