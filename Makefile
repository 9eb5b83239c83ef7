# Two commands on a fresh machine that has Python 3.11 or later: `make demo`, which installs what the
# program runs with and no more, and `make test`.
# `make e2e` also needs Go and a `prometheus` binary; it builds the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNNING := $(VENV)/.running
WRITING := $(VENV)/.writing
RECORDING := tests/recordings/gpu-cluster.snapshot
OUT := out
# One more than there are cores, as some tests wait for processes and servers of theirs; each looks
# through all of the suite first.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# One test after the other in their order, so that what takes long begins first and all end together.
DIST := --dist load --maxschedchunk 1

# Where nothing compiled is kept, each process of a suite compiles all of the program and of its tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: $(shell sed -nE "s/^([a-z0-9-]+):.*\#\# .*/\1/p" $(firstword $(MAKEFILE_LIST)))

help: ## say what there is
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  \1\t/' | expand -t 18

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11. Maybe: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What is never imported is not compiled, which is most of it.
$(RUNNING): requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	@touch $@

$(READY): requirements-dev.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(RUNNING) ## plan on a recorded cluster, and leave a report to look at
	@mkdir -p $(OUT)
	@$(BIN)/python -m rescheduler plan --policies tests/recordings/policies --snapshot $(RECORDING) -o json --out $(OUT)/plan.json
	@$(BIN)/python -m rescheduler render $(OUT)/plan.json -o html --out $(OUT)/report.html
	@$(BIN)/python -m rescheduler render $(OUT)/plan.json -o table
	@echo "The same as a page: $(OUT)/report.html, and as data: $(OUT)/plan.json"

test: $(READY) ## the fast suite: everything but real servers; the same in every run
	$(BIN)/python -m pytest -q -n $(WORKERS) $(DIST)

draw: SEED := $(or $(SEED),$(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(2**31))'))
draw: $(READY) ## the fast suite with newly drawn cases, in a new order; SEED=N repeats a run
# The simulation draws by seeds of its own; `make soak` plays others.
	@echo "SEED=$(SEED)"
	$(BIN)/python -m pytest -q -n $(WORKERS) $(DIST) --hypothesis-profile=free --hypothesis-seed=$(SEED) --randomly-seed=$(SEED) --ignore=tests/simulation --ignore=tests/mutants

check: $(READY) ## format, lint, types, import contracts, YAML
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/yamllint --strict .

chart: $(READY) ## make the files of the chart that follow from deploy/kustomize and the schema of the values
	$(BIN)/python -m tests.deploy.chart_files

install-yaml: $(READY) ## write all objects of a first installation, in Audit, to dist/install.yaml
	$(BIN)/python -m tests.deploy.install_yaml dist/install.yaml

format: $(READY) ## put the code into the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

language: $(READY) ## count what is not said in plain words, and the lines of program and tests
	$(BIN)/python -m tests.language

controlplane: $(READY) ## build the real control plane into the cache, unless it is there
	$(BIN)/python -m tests.e2e.controlplane.build

e2e: $(READY) controlplane ## the suite on a real control plane and a real Prometheus, two of each
# The servers mostly wait, so two suites share the tests, each with servers of its own.
	$(E2E) -n 2 --dist worksteal --durations=25 tests/e2e

E2E := $(BIN)/python -m pytest -q -m e2e -o addopts="--strict-markers --strict-config -ra" -p no:randomly

e2e-again: $(READY) controlplane ## of that suite what failed last time, one test after the other
	$(E2E) --last-failed --last-failed-no-failures none tests/e2e

e2e-backends: $(READY) controlplane ## the metric back ends of that suite, and Mimir and VictoriaMetrics (builds both)
	$(E2E) tests/e2e/test_backends.py tests/e2e/every_backend.py tests/e2e/every_query_on_each_backend.py

e2e-kueue: $(READY) controlplane ## gangs that Kueue runs, stopped and started by it (builds Kueue and JobSet)
	$(E2E) tests/e2e/every_kueue.py

e2e-versions: $(READY) ## landings, steering, rights, gangs and devices on a control plane of each release (builds them; 40 minutes each)
	$(BIN)/python -m tests.e2e.release_table $(VERSIONS)

gains-e2e: $(READY) controlplane ## what NUMA and locality gain on 100 nodes, with and without steering (5 minutes)
	$(E2E) -s tests/e2e/every_steered_gain.py

faults-e2e: $(READY) controlplane ## faults of the wire before the real API server and Prometheus (15 minutes)
	$(E2E) -s tests/e2e/every_fault_on_the_wire.py

crash-points: $(READY) controlplane ## killed around every write of a run, on a real control plane (an hour)
	$(E2E) tests/e2e/every_crash_point.py

soak-e2e: $(READY) controlplane ## 2,000 evictions on a real control plane, with churn and faults (1.5 hours)
	@mkdir -p $(OUT)
	OUT=$(OUT)/soak-e2e.json $(E2E) tests/e2e/long_soak.py

bench: $(READY) ## time and memory at 5,000 nodes and 150,000 pods, and from 500 to 10,000 nodes
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.growth

bench-search: $(READY) ## planning time over 50 drawn clusters: the worst against the median
	$(BIN)/python -m tests.bench.bench_search

bench-better: $(READY) ## what plans of chosen destinations gain by moves that are proposed together
	$(BIN)/python -m tests.bench.bench_better

bench-optimum: $(READY) ## how near plans come to the optimum on drawn clusters, and how near their own bound is (HiGHS; 30 minutes)
	$(BIN)/python -m tests.bench.bench_optimum

bench-scheduler: $(READY) ## how fast landings are predicted at full size
	$(BIN)/python -m tests.bench.bench_landing

bench-published: $(READY) ## locality and fragmentation on published instances (RESCHEDULER_BENCH_DATA)
	$(BIN)/python -m tests.bench.bench_published

bench-landing: $(READY) controlplane ## 5,000 predicted landings against the real kube-scheduler (an hour)
	$(BIN)/python -m tests.e2e.landing --out $(OUT)/landing

drift: $(READY) ## which imitated functions of Kubernetes a release has changed: VERSION=v1.38.0
	$(BIN)/python -m tests.drift $(or $(VERSION),$(error Say which: make drift VERSION=v1.38.0))

numa-kubelet: $(READY) controlplane ## 10,000 random pods before kubelet's own NUMA managers (6 minutes)
	$(BIN)/python -m tests.oracle.kubelet

soak: CYCLES := $(or $(CYCLES),1000000)
soak: $(READY) ## a million simulated cycles, a crash at every call, 30 virtual days at rest (hours)
	@mkdir -p $(OUT)
	$(BIN)/python -m tests.simulation.quiescence --days 30
	$(BIN)/python -m tests.simulation.crash_points
	$(BIN)/python -m tests.simulation.chains
	$(BIN)/python -m tests.simulation.gangs
	$(BIN)/python -m tests.simulation.hostile --storms 100000
	$(BIN)/python -m tests.simulation.soak --cycles $(CYCLES) --out $(OUT)/soak.json

storms: $(READY) ## 13,700 simulated cycles under faults and churn, other ones than the fast suite's, and crashes (2 minutes)
	@mkdir -p $(OUT)
	$(BIN)/python -m tests.simulation.crash_points --step 4
	$(BIN)/python -m tests.simulation.chains --step 24
	$(BIN)/python -m tests.simulation.gangs --step 12
	$(BIN)/python -m tests.simulation.soak --cycles 13700 --first 1000000 --out $(OUT)/storms.json
	$(BIN)/python -m tests.simulation.hostile --storms 200 --first 1000000

faults: $(READY) ## the fault matrix: 138 cells, 20 simulated runs each, as a table
	$(BIN)/python -m tests.simulation.matrix --seeds 20

mutants: $(READY) ## seeded faults, each of which a test must find; SAMPLE=20 takes so many of them, START=7 the same again
	$(BIN)/python -m tests.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(START),--start $(START))

monitoring: $(READY) ## make rules, monitors, dashboards and their tables again from the catalogue of metrics
	$(BIN)/python -m tests.deploy.monitoring

lock: $(READY) ## resolve the dependencies again
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --universal --generate-hashes --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --extra aws --extra azure --extra google --universal --generate-hashes --custom-compile-command "make lock" -o requirements-clouds.lock
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --group dev --universal --generate-hashes --custom-compile-command "make lock" -o requirements-dev.lock
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --group release --constraint requirements.lock --universal --generate-hashes --custom-compile-command "make lock" -o requirements-release.lock
	$(BIN)/uv pip compile --quiet --upgrade --group docs --constraint requirements-dev.lock --universal --generate-hashes --custom-compile-command "make lock" -o requirements-docs.lock

$(WRITING): requirements-docs.lock $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

site: $(WRITING) ## build the documentation site into out/site, and see that its links lead somewhere and nothing is loaded from elsewhere
	$(BIN)/python -m tests.docsite

screenshot: $(READY) ## draw the demo's page again for the README, docs/images/plan.png (Chromium)
	$(BIN)/python -m tests.docsite.screenshot

release-dry-run: $(READY) ## make all of a release in dist/ and verify it, publishing nothing; WITHOUT=image leaves a part out, IMAGE=FILE is the tested image
	$(BIN)/python -m tests.release $(addprefix --without ,$(WITHOUT)) $(addprefix --image ,$(IMAGE))

image: $(READY) ## build the image without a registry, twice and the same: out/image.tar (root, mmdebstrap, buildah)
	@mkdir -p $(OUT)
	$(BIN)/python -m tests.e2e.image.built $(OUT)/image.tar

clean: ## remove what the other targets made in the tree
	rm -rf $(VENV) $(OUT) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
