# Two commands matter: `make demo` and `make test`. Both set up what they need in .venv, with the versions pinned in
# constraints.txt; a second call finds it there. PYTHON may name another interpreter (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
PIP_FLAGS := --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check format docs test-slow test-peers bench results clean

demo: .venv/.demo
	$(BIN)/bbo demo --out demo-report --overwrite

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: .venv/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: .venv/.dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The documentation as a site, in site/; a warning is an error. The variable silences the theme's notice of its successor.
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Long statistical runs; their results are committed under results/.
test-slow: .venv/.dev
	$(BIN)/python -m pytest -m slow

# Clients that check us through other people's libraries (scikit-learn, MuJoCo, Stable-Baselines3 with its torch,
# bsuite); each group has an environment of its own.
test-peers: .venv-peers/.ready .venv-sb3/.ready .venv-bsuite/.ready
	.venv-peers/bin/python -m pytest --override-ini addopts="--strict-markers --import-mode=importlib" tests/peers
	.venv-sb3/bin/python -m pytest --override-ini addopts="--strict-markers --import-mode=importlib" \
		--confcutdir=tests/peers_sb3 tests/peers_sb3
	.venv-bsuite/bin/python -m pytest --override-ini addopts="--strict-markers --import-mode=importlib" \
		--confcutdir=tests/peers_bsuite -m "not slow" tests/peers_bsuite

bench: .venv-peers/.ready .venv-sb3/.ready .venv-bsuite/.ready
	.venv-peers/bin/python benchmarks/suite.py
	.venv-peers/bin/python benchmarks/randomised_prior.py --out results/randomised_prior

# What needs no GPU of results/, but for pendulum and bsuite, and the numbers of README and docs with it. The studies
# alone took 19 minutes on two cores; the other commands are in results/README.md.
results: .venv/.dev bench
	$(BIN)/bbo demo --out results/demo --overwrite
	$(BIN)/bbo demo-linear --out results/demo_linear --overwrite
	$(BIN)/bbo reproduce linear --out results/linear --overwrite
	$(BIN)/bbo check linear --results results/linear
	$(BIN)/bbo reproduce tsitsiklis --out results/tsitsiklis --overwrite
	$(BIN)/bbo check tsitsiklis --results results/tsitsiklis
	$(BIN)/bbo reproduce quirks --out results/quirks --overwrite
	$(BIN)/bbo reproduce off_policy --out results/off_policy --overwrite
	for name in widths intervals; do \
		mkdir -p results/$$name; \
		$(BIN)/python examples/$$name.py > results/$$name/$$name.txt; \
		$(BIN)/python -m bayesbellman.runs.provenance python examples/$$name.py > results/$$name/provenance.json; \
	done
	$(BIN)/python docs/refresh.py

# A virtual environment, made with whatever makes one here.
.venv/bin/python .venv-peers/bin/python .venv-sb3/bin/python .venv-bsuite/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, $(PYTHON) is " + sys.version.split()[0] + "; name another: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(@:/bin/python=) || { echo "Could not make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

.venv/.demo: constraints.txt pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[cli,plots]'
	@touch $@

.venv/.dev: constraints.txt pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $@ .venv/.demo

.venv-peers/.ready: constraints.txt pyproject.toml | .venv-peers/bin/python
	.venv-peers/bin/python -m pip install $(PIP_FLAGS) --editable '.[peers]'
	@touch $@

.venv-sb3/.ready: constraints.txt pyproject.toml | .venv-sb3/bin/python
	.venv-sb3/bin/python -m pip install $(PIP_FLAGS) --editable '.[sb3]'
	@touch $@

.venv-bsuite/.ready: constraints.txt pyproject.toml | .venv-bsuite/bin/python
	.venv-bsuite/bin/python -m pip install $(PIP_FLAGS) --editable '.[bsuite]'
	@touch $@

clean:
	rm -rf .venv .venv-peers .venv-sb3 .venv-bsuite demo-report site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
