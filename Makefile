# Everything that is done with this checkout. `make help` lists it.
# Any Python from 3.10 to 3.13 will do; 3.11 first, for which DGL has wheels. A shim that names a Python it has not is no Python.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.10 python3; do \
  $$name -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2>/dev/null && { echo $$name; exit; }; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
TORCH := torch==2.13.0
# Three at a time, for many wait for processes of their own; a file of tests to each: tests of a file share what is slow to make. One thread each, or they fight.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist loadfile
# What fails while two others run beside it is run once more, alone: that parts a fault from a busy machine. Both are printed.
ALONE := OMP_NUM_THREADS=1 $(BIN)/pytest --last-failed --last-failed-no-failures none
N ?= 100000
SEED ?= 0
CASES ?= ../shared/cases
COUNT ?= 0
CHECKOUT ?=
SECONDS ?= 3600
BY ?= run,watch,install
TARGETS ?=
CHECKOUTS ?=

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(RUNS): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	echo $(TORCH) > $(VENV)/constraints.txt  # so that nothing below brings another torch
	$(BIN)/pip install --quiet $(TORCH) numpy  # without numpy, torch warns in every program
	$(BIN)/pip install --quiet -e .
	touch $(RUNS)

$(READY): $(RUNS)
	locked=$$($(BIN)/python -c 'import sys; print("-c constraints-dev.txt" * (sys.version_info[:2] == (3, 11)))'); \
	  $(BIN)/pip install --quiet -c $(VENV)/constraints.txt $$locked -e '.[dev,docs,dgl,pyg]'
	touch $(READY)

demo: $(RUNS)  ## run the shipped example under afterward: it fails, and is explained
	@echo "$$ afterward run examples/carried_state.py"
	@$(BIN)/afterward run examples/carried_state.py || true  # it fails, and that is what is shown
	@echo "More examples: $(BIN)/afterward demo"

# Tests of the report page drive it in a browser. Without one they are skipped, and say so.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	  if command -v apt-get >/dev/null; then \
	    apt-get install -qq -y chromium >/dev/null 2>&1 || \
	    { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y chromium >/dev/null 2>&1; } && exit 0; \
	  fi; echo "no Chromium, and none could be installed: the report page is tested without a browser"

# Likewise those of the playground: Python in the browser, from npm.
pyodide:
	@test -d web/playground/node_modules/pyodide || \
	  { command -v npm >/dev/null && (cd web/playground && npm ci --no-audit --no-fund --silent >/dev/null 2>&1); } || \
	  echo "no Pyodide, and npm could not bring it: the playground is tested without a browser"

# And that of the notebook: JupyterLab, which nothing else needs.
lab: $(READY)
	@$(BIN)/python -c 'import jupyterlab' 2>/dev/null || $(BIN)/pip install --quiet -c $(VENV)/constraints.txt jupyterlab >/dev/null 2>&1 || \
	  echo "no JupyterLab, and pip could not bring it: notebooks are tested with a kernel alone"

# And those of the editor extension: the extension packed, and the server of VS Code with the Node that it wants, all from
# npm. Nothing is compiled, for it goes without what would have to be.
SERVER := editors/vscode/server
extension:
	@{ command -v npm >/dev/null && \
	  (cd editors/vscode && { test -d node_modules || npm ci --no-audit --no-fund --silent; } && npm run --silent package) && \
	  { test -d $(SERVER)/node_modules/code-server/lib/vscode/node_modules || \
	    (cd $(SERVER) && npm ci --ignore-scripts --no-audit --no-fund --silent && npm rebuild --silent node && \
	     cd node_modules/code-server/lib/vscode && npm install --omit=dev --ignore-scripts --no-audit --no-fund --silent); }; \
	} >/dev/null 2>&1 || echo "no VS Code, and npm could not bring it: the extension is not tested"

test: $(READY) browser pyodide lab extension  ## what CI runs: lint, types and the fast tests
	$(BIN)/ruff format --check src tests tools examples
	$(BIN)/ruff check src tests tools examples
	$(BIN)/mypy
	$(PYTEST) || $(ALONE)

check: $(READY)  ## format, lint, check types, test
	$(BIN)/ruff format src tests tools examples
	$(BIN)/ruff check --fix src tests tools examples
	$(BIN)/mypy
	$(PYTEST)

bless: $(READY)  ## rewrite the golden files; read that diff as code
	$(BIN)/pytest tests/render --bless

score: $(READY)  ## score `run` on the shared cases and on our own
	$(BIN)/python $(CASES)/score.py --mode run --cmd $(abspath $(BIN))/afterward --python $(BIN)/python $(CASES)
	$(BIN)/python $(CASES)/score.py --mode run --cmd $(abspath $(BIN))/afterward --python $(BIN)/python tests/cases

bench: $(READY)  ## what watching costs, side by side with plain PyTorch, anomaly mode and settrace
	$(BIN)/python tools/bench_watch.py
	$(BIN)/python tools/bench_plain.py
	$(MAKE) bench-check

# TorchFix wants another LibCST than `fix` does: it gets an environment of its own.
build/torchfix/bin/torchfix:
	$(PYTHON) -m venv build/torchfix
	build/torchfix/bin/pip install --quiet torchfix

bench-check: $(READY) build/torchfix/bin/torchfix  ## files a second of check, TorchFix and ruff on one tree, CHECKOUT=...
	$(BIN)/python tools/bench_check.py $(CHECKOUT) --torchfix build/torchfix/bin/torchfix --ruff $(BIN)/ruff

survive: $(READY)  ## check every file of the standard library and of site-packages
	$(BIN)/python tools/check_survives.py

fuzz-check: $(READY)  ## 20,000 mutated real files: no crash, none over its budget; N=..., CHECKOUTS="DIR ..." for other files
	$(BIN)/python tools/fuzz_check.py $(if $(filter 100000,$(N)),20000,$(N)) $(CHECKOUTS) --seed $(SEED)

fuzz: $(READY)  ## an hour (SECONDS=...) of damaged files and messages for all that reads them, led by what they reach; TARGETS="history ..."
	$(BIN)/python tools/fuzz.py $(TARGETS) --seconds $(SECONDS) --seed $(SEED)

# The same to each of them by atheris, where it can be installed: its wheels are for some Pythons only.
fuzz-atheris: $(READY)  ## an hour of the same by libFuzzer, for TARGETS="notebook"
	$(BIN)/pip install --quiet atheris
	$(BIN)/python tools/fuzz.py $(TARGETS) --atheris --seconds $(SECONDS) --seed $(SEED)

soak: $(READY)  ## a million steps: the recorder's memory stays bounded
	$(BIN)/python tools/soak_memory.py

limits: $(READY)  ## 2,000 caught errors, 10,000 call sites, reloads, deep recursion, a deep graph: plain and under `run`
	$(BIN)/python tools/bench_limits.py

faults: $(READY)  ## each hook and each step of the post-mortem raises, one after the other: the program must go on
	$(BIN)/pytest tests/observe/test_faults.py -v

invisible: $(READY)  ## programs that look at themselves, plain against `run`, `watch()` and `install()`: what differs; BY=run, COUNT=100
	$(BIN)/python tools/invisible.py --by $(BY) --sample $(COUNT) --seed $(SEED)

lock: $(READY)  ## write the versions of what development needs, as installed: constraints-dev.txt (Python 3.11)
	mkdir -p build && $(BIN)/python tools/lock.py > build/constraints-dev.txt && mv build/constraints-dev.txt constraints-dev.txt

sbom: $(READY)  ## the software bill of materials of what is installed to run afterward (CycloneDX)
	@$(BIN)/python tools/sbom.py

properties: $(READY)  ## every kind of edit on thousands of files: none may be broken; CHECKOUTS="DIR ..." adds folders
	$(BIN)/python tools/edit_properties.py $(CHECKOUTS)

prove: $(READY)  ## `fix` over the shared cases and our own: is the right remedy proven?
	$(BIN)/python tools/prove_cases.py $(CASES) tests/cases

retain-table: $(READY)  ## the same, and write docs/retain_graph.md from the proofs
	$(BIN)/python tools/prove_cases.py --table docs/retain_graph.md $(CASES) tests/cases

plant: $(READY)  ## plant faults in correct programs, ask run, check and fix; COUNT=300 for a sample; goes on where it was stopped
	$(BIN)/python tools/plant.py --cases $(CASES) --count $(COUNT) --page docs/planted.md

costs: $(READY)  ## what a proof costs on the shipped examples: the table in docs/fix.md
	$(BIN)/python tools/cost_fix.py --page docs/fix.md

kills: $(READY)  ## kill `fix --write` 200 times at random moments: nothing may be left over
	$(BIN)/python tools/kill_fix.py 200 --seed $(SEED)

nonsense: $(READY)  ## run, check and fix over all cases, with every sentence replaced by nonsense: only text may change
	$(BIN)/python tools/nonsense.py $(CASES) tests/cases

agree: $(READY)  ## N random programs on the model and on PyTorch: they must agree
	$(BIN)/python tools/agree.py $(N) --seed $(SEED) --jobs 2

agree-check: $(READY)  ## N random programs as Python: what `check` says of them happens
	$(BIN)/python tools/agree_check.py $(N) --seed $(SEED)

agree-engines: $(READY)  ## run and check on the same programs: where do they differ, and does what they say of retain_graph=True happen?
	$(BIN)/python tools/agree_engines.py --jobs 2 --examples --count $(COUNT) --seed $(SEED) $(CASES) tests/cases

effects: $(READY)  ## do what each remedy says, on the cases, the examples and COUNT programs: are the gradients what it says of them?
	$(BIN)/python tools/agree_engines.py --effects --examples --count $(COUNT) --seed $(SEED) $(CASES) tests/cases

mutate: $(READY)  ## break the model on purpose; every break must be noticed
	$(BIN)/python tools/mutate_model.py --jobs 2

bench-model: $(READY)  ## node events a second of the model
	$(BIN)/python tools/bench_model.py

bench-postmortem: $(READY)  ## how long the look at a failing graph of 100,000 nodes takes
	$(BIN)/python tools/bench_postmortem.py

saves: $(READY)  ## read again from torch what operations save
	$(BIN)/python tools/generate_saves.py

pictures: $(READY)  ## draw docs/images/life-*.svg from the model, the others from watched programs
	$(BIN)/python tools/draw_life.py
	$(BIN)/python tools/draw_lifelines.py
	$(BIN)/python tools/gallery_pages.py

gallery: $(READY)  ## run the shipped examples and write their pages and pictures (NAMES="gan lightgcn" for some)
	$(BIN)/python tools/gallery_pages.py $(NAMES)

docs: $(READY)  ## build the site into site/, without a warning
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

playground:  ## bring Pyodide for the site's playground (needs npm); then `make docs`
	cd web/playground && npm ci --no-audit --no-fund

web:  ## build the report page's script and style from web/ (needs npm)
	cd web && npm ci --no-audit --no-fund && npm run build

# Heavy packages, in the same environment but by no other target; docs/frameworks.md says which versions were seen.
frameworks: $(READY)  ## wrong and right programs of every framework and launcher, through run and fix (installs them)
	$(BIN)/pip install --quiet -c $(VENV)/constraints.txt -e '.[frameworks,loggers]'
	AFTERWARD_FRAMEWORKS=1 OMP_NUM_THREADS=1 $(BIN)/pytest tests/frameworks tests/integrations

python-next: $(READY) playground  ## what needs no torch, on the Python that npm's pyodide brings (3.14)
	mkdir -p build && $(BIN)/python tools/torch_free.py > build/torch_free.json
	node tools/torch_free.mjs web/playground/node_modules/pyodide build/torch_free.json

vscode: $(READY) browser extension  ## pack the extension and drive it in a real VS Code, with a picture: build/vscode.png
	mkdir -p build && $(BIN)/python tools/drive_vscode.py editors/vscode/afterward.vsix build/vscode.png

clean:  ## remove what can be rebuilt
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache

.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d ':')
