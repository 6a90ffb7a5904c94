# make demo     the main job on real data, in a fresh virtual environment
# make test     the tests of what people use
# make browser  the tests of pages in Chromium; `make test` leaves them out
# make research the tests of research code, which are those of `deniable.research` and the experiments
# make second   `make browser` and `make research` in one run, which is the second half of .ci/run
# make long     the tests that `make test` leaves out: published digits on large data, distributions at more sizes and budgets
# make fast     linters, and the tests that fail first, in a minute
# make check    linters, formatting, spelling, types, layering
# make quick    every reproduction that needs no data, with few runs, in a minute
# make answers    how often intervals of means, totals, quantiles and differences contain the truth, on real data; docs/results/answers.json
# make intervals  how often intervals contain the truth, by the exact distribution of the counts and for settings of few reports (minutes); results/intervals.json, docs/results/intervals.json
# make mutants  60 small faults, drawn by SEED=1, and whether a test notices each of them; half an hour; results/mutants-1.json
# make soak     300 short runs of the command line, most of them errors, none of which may crash; results/soak.json
# make crash-files   kill -9 at 30 random moments of every command that writes (minutes)
# make crash    kill -9 and database stops under load, 20 and 10 at random moments, both databases (minutes); results/crash.json
# make crash-invited  the same with 10,000 invitations, 30 kills and 10 stops: no link counts twice, none is lost; results/crash-invited.json
# make e2e      6,366 women answer through the public port, 500 of them in browsers, at two budgets; results/e2e.json
# make e2e-rounds  the same women in two rounds by invitations, Corr-RR second, 60 of them in browsers; results/e2e-rounds.json
# make drill    backup, restore, upgrade and rollback with real processes, both databases; results/drill.json
# make load     how many reports a collector takes, and what they cost; results/load.json
# make fuzz     every reader of files against atheris, a minute each, results/fuzz.json
# make call-paths how many modules the call path of a command has, and its upward calls; results/call_paths.json
# make coverage which lines the tests run, compiled kernels left out; results/coverage.json
# make engines  Spark on two workers of this machine (Java 17 or later), DuckDB, and file systems of fsspec
# make stack    packages for other programs, checked by these programs' own tools: R CMD check of r/ (R, from Debian), npm pack
# make docs     the site, from the pages in docs/ and the docstrings; build/site/index.html, read without a network
# make guides   the pictures of the guides, and the report, page and dashboard of the demonstration in Chromium; docs/pictures, docs/screenshots
# make screenshots  the site in Chromium: no page too wide, no network, a search that finds; docs/screenshots
# make client   the browser client's bundle, from client/src, and its tests (node and npm)
# make client-law  100,000 reports of every mechanism in the client against its exact distribution; results/client-law.json
# make vectors  files on which client and library must agree, byte for byte; tests/vectors/wire
# make bench-compare REV=...  whether every mechanism is as fast as it was at another revision, in turns; results/compare.json
# make dist     source archive and wheel from a clean clone, the wheel installed and used once; dist/
# make capacity what one contributor costs device, network and collector, and 10^9; docs/results and docs/capacity.md
# make bench    side by side with peers (their own virtual environment), from file to result, and engines
# The first Python from 3.11 on is used. If there is none, uv fetches one.
FITS := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for one in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	command -v $$one >/dev/null 2>&1 && $$one -c "$(FITS)" >/dev/null 2>&1 && echo $$one && break; done)
SEED ?= 1
FIRST := core/test_bases core/test_names core/test_privacy core/test_thresholds core/test_estimate oracles/test_grr \
	survey/test_encoding survey/test_schema files/formats/test_reports house/test_documents_of_the_project
# These folders have all tests marked "research", so that no others are read. tests/conftest.py marks them.
STUDIED := tests/research src/deniable/research tests/contract tests/golden
PYTEST = $(RUN)/pytest -n 3 --dist worksteal
VENV := .venv
RUN := $(VENV)/bin
# uv needs seconds where pip needs a minute. pip installs if uv cannot, for example from an index that only pip knows.
INSTALL = install() { $(RUN)/uv pip install --quiet --python $(RUN)/python "$$@" || $(RUN)/pip install --quiet "$$@"; }; install

# Byte code is kept. Otherwise each of the tests' workers would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test browser research second long check quick answers intervals mutants soak crash-files crash crash-invited drill e2e e2e-rounds load fuzz call-paths coverage engines docs guides screenshots client client-law vectors stack bench bench-compare fast dist clean

demo: $(VENV)/.installed
	$(RUN)/deniable demo -o demo

test: $(VENV)/.installed-dev
	$(PYTEST) -m "not (long or research or browser)" --ignore=tests/research --ignore=src/deniable/research --ignore=tests/browser

browser: $(VENV)/.installed-dev
	$(PYTEST) -m "browser and not long" tests/browser

research: $(VENV)/.installed-dev
	$(PYTEST) -m "research and not long" $(STUDIED)

second: $(VENV)/.installed-dev
	$(PYTEST) -m "(browser or research) and not long" tests/browser $(STUDIED)

fast: $(VENV)/.installed-dev
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/pytest -n 2 tests/golden $(FIRST:%=tests/unit/%.py) tests/docs/test_links.py tests/docs/test_site.py

long: $(VENV)/.installed-dev
	$(RUN)/pytest -n 2 -m long

check: $(VENV)/.installed-dev
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/codespell src docs client/src experiments/*/README.md *.md
	$(RUN)/mypy
	$(RUN)/lint-imports

quick: $(VENV)/.installed-dev
	$(RUN)/python -m experiments all --quick -o results/quick

answers: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.answers

intervals: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.intervals

mutants: $(VENV)/.installed-dev
	$(RUN)/python -m tests.mutants --seed $(SEED)

soak: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.soak

crash-files: $(VENV)/.installed-dev
	$(RUN)/python -m tests.crash_files --kills 30 -o results/crash-files.json

crash: $(VENV)/.installed-dev
	$(RUN)/python -m tests.crash_collector -o results/crash.json

crash-invited: $(VENV)/.installed-dev
	$(RUN)/python -m tests.crash_collector --invited 10000 --kills 30 --stops 10 -o results/crash-invited.json

e2e: $(VENV)/.installed-dev
	$(RUN)/python -m tests.end_to_end -o results/e2e.json

e2e-rounds: $(VENV)/.installed-dev
	$(RUN)/python -m tests.end_to_end_rounds -o results/e2e-rounds.json

drill: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.drill -o results/drill.json

load: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.load --postgres -o results/load.json

fuzz: $(VENV)/.installed-dev
	@$(INSTALL) --group fuzz
	$(RUN)/python -m tests.fuzz.run --seconds 60 --output results/fuzz.json

call-paths: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.call_paths

coverage: $(VENV)/.installed-dev
	mkdir -p results
	$(RUN)/coverage erase
	$(RUN)/coverage run -m pytest -n 2 -m "long or not long"
	$(RUN)/coverage combine --quiet
	$(RUN)/coverage json --quiet -o results/coverage.json
	$(RUN)/coverage report --skip-covered

docs: $(VENV)/.installed-docs
	$(RUN)/sphinx-build --fail-on-warning --keep-going --quiet --conf-dir docs --doctree-dir build/doctrees . build/site
	$(RUN)/python -m docs.making.offline build/site

guides: $(VENV)/.installed-dev
	$(RUN)/python -m experiments.guides

screenshots: docs $(VENV)/.installed-dev
	$(RUN)/python -m docs.making.looking build/site

client:
	cd client && npm ci && npm run check && npm run build && npm test

client-law: $(VENV)/.installed-dev
	$(RUN)/python -m tests.client_law -o results/client-law.json

vectors: $(VENV)/.installed-dev
	$(RUN)/python -m tests.wire_vectors
	$(RUN)/python -m tests.r_vectors

stack: $(VENV)/.installed-dev
	rm -rf build/r && mkdir -p build/r
	cd build/r && R CMD build --no-build-vignettes ../../r
	cd build/r && _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual deniable_*.tar.gz
	# One note is allowed: Debian has neither rr nor RRreg, which are only suggested.
	grep -qE "^Status: (OK|1 NOTE)" build/r/deniable.Rcheck/00check.log
	! grep -E "[.]{3} (NOTE|WARNING|ERROR)$$" build/r/deniable.Rcheck/00check.log | grep -v "checking package dependencies"
	DENIABLE_R=required $(RUN)/pytest -m "long or not long" tests/stack

engines: $(VENV)/.installed-dev
	@$(INSTALL) --editable ".[spark]" --group engines
	DENIABLE_ENGINES=1 $(RUN)/pytest tests/engines

dist:
	PYTHON=$(PYTHON) .ci/dist

bench-compare: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.compare $(REV)

capacity: $(VENV)/.installed-dev
	$(RUN)/python -m benchmarks.files
	$(RUN)/python -m benchmarks.capacity

bench: $(VENV)/.installed-dev .venv-peers/.installed
	$(RUN)/python -m benchmarks

.venv-peers/.installed:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet multi-freq-ldpy pure-ldp "numpy<2" scikit-learn statsmodels "xxhash<4" joblib
	.venv-peers/bin/pip install --quiet --no-deps ldp-toolbox  # its pages are left out, because they need another numpy
	touch $@

$(VENV)/bin/python:
	@if [ -n "$(PYTHON)" ]; then $(PYTHON) -m venv $(VENV); \
	elif command -v uv >/dev/null 2>&1; then uv venv --quiet --seed --python 3.11 $(VENV); \
	else echo "Python 3.11 or later is needed, and there is none: install it (https://www.python.org), or uv" \
	"(https://docs.astral.sh/uv), or name one with make PYTHON=..." >&2; exit 1; fi
	@$(RUN)/pip install --quiet --disable-pip-version-check --upgrade pip uv

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing into $(VENV), which takes up to a minute"
	@$(INSTALL) --editable ".[demo]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	@$(INSTALL) --editable ".[demo,dataframes,excel,codebooks,models,mpc,pictures,service,postgres]" --group dev
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed pyproject.toml
	@$(INSTALL) --group docs
	touch $@

clean:
	rm -rf $(VENV) .venv-peers demo build
