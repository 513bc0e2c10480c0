# Every target works in a fresh clone: the first one that needs Python packages installs the pinned ones into .venv.
# The lines that begin with two signs are what `make help` prints.

## make quickstart          train on the embedded digits and draw results/figures/quickstart.png
## make figures             every figure and table of the papers that is there so far
## make figures-<paper>     those of one paper: make figures-icml2013, figures-icml2016, figures-review
## make fig-<paper>-<k>     one figure: make fig-icml2013-1
## make table-<paper>-<k>   one table: make table-icml2013-1
## make auto-icml2016       the solver auto next to the methods of that paper; also orders-icml2016
## make original-<paper>    the published code of a paper and ours on the same examples: original-icml2013, original-icml2016
## make overlays-horses     what was learned, drawn over test images; also overlays-pose
## make claims              what stored runs say of the papers' claims
## make report              figures, claims and runs as pages: results/report/index.html
## make reproduce           everything of all papers: what is left to run, figures, claims, report; interrupt and repeat it
## make publish             small copies of that for the repository: results/published
## make redraw              draw the published figures again from results/runs.tar.xz
## make docs                build the documentation: docs/_build/html/index.html
## make bench               measure speed: start, passes, gaps, oracles in Python; ARGS=--record keeps it in results/bench
## make bench-growth        how time and memory grow with n, T, K and p, of every family: a table in results/bench
## make bench-rule          auto beside fixed settings of bcfw, on data sets that its rule is fitted on and others: results/bench
## make bench-path          whole regularisation paths next to grids of 31 values with the same certified gap
## make bench-few           block methods and batch methods on few long sequences, which the rule of auto chooses between
## make bench-crf           the log-loss next to CRFsuite and scikit-learn, with equal features and objectives: a table
## make bench-multiclass  generated multiclass problems next to LIBLINEAR; ARGS="--half test" for those that nothing is tuned on
## make bench-calls         calls of an oracle in Python next to dlib's; ARGS="--half test" for problems that nothing is tuned on
## make bench-scale         how training grows with workers: measured with 1 to 8, simulated to 10,000; results/bench/scale.csv
## make bench-tagger        train taggers of fwexp and CRFsuite on CoNLL-2000 and generated texts, lam chosen by validation
## make bench-serving       time and memory of taggers of fwexp and CRFsuite in training and in service; ARGS=200000 for more sentences
## make bench-peers         train the same problems with LIBLINEAR, dlib and CRFsuite: results/peers
## make test                run the tests, on up to 4 cores; those on real data need FWEXP_DATA
## make test-slow           run the others, which start processes or compile a lot, and take more than seconds
## make faults              kill, stop and signal sweeps at random instants, and see that nothing is lost
## make lint                check the style, words of texts, types of the public API and layers; make format mends the style
## make venv                install the pinned packages into .venv (all targets do so where needed); make venv-dev those of tests, too
## make lock                renew requirements.lock and requirements-dev.lock, and check that all systems have their wheels
## make release             build wheel and source archive of the last commit in dist/, check and try them: all but the upload
## make clean               remove the environments, pages and caches of these targets; results and files of others stay
##
## make figures-icml2016 ARGS="--preset smoke"   more arguments for the command behind a target
## make test ARGS="-k viterbi"                   likewise
## make test ARGS="--random-order"               in another order every time; it prints the seed that repeats it
## make test WORKERS=0                           in one process, for a debugger
## make test PYTHON=python3.12 VENV=.venv-3.12   another Python, in an environment of its own

VENV := .venv
ifneq ($(words $(VENV)),1)
$(error VENV must be one path without spaces, got "$(VENV)")
endif
BIN := $(VENV)/bin
ARGS :=
WORKERS := auto

SUPPORTED := 3.11 3.12 3.13 3.14
# Succeeds where the version of the Python that runs it is among the arguments.
CHECK := import sys; sys.exit("%d.%d" % sys.version_info[:2] not in sys.argv[1:])

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
    $$python -c '$(CHECK)' $(SUPPORTED) 2>/dev/null && echo $$python && break; done)
# An environment that is there is kept, unless its Python is not the one asked for.
WANTED := $(if $(filter file,$(origin PYTHON)),$(SUPPORTED),$(shell \
    $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null))
KEEP = $(BIN)/python -c '$(CHECK)' $(WANTED) 2>/dev/null

.DEFAULT_GOAL := help
.PHONY: help venv venv-dev lock release quickstart test test-slow faults lint format docs figures claims report reproduce publish redraw bench bench-growth bench-rule bench-few bench-path bench-crf bench-multiclass bench-calls bench-scale bench-peers bench-tagger bench-serving clean FORCE

help:
	@sed -n 's/^## *//p' Makefile

# The stamp is written last, so that an interrupted installation starts again.
INSTALLED := $(VENV)/.installed
# This one is written first: make removes no other environments.
MADE := $(VENV)/.made-by-make
ifneq ($(shell $(KEEP) || echo missing),)
$(INSTALLED): FORCE
endif
$(INSTALLED): pyproject.toml requirements.lock
	@$(or $(PYTHON),false) -c '$(CHECK)' $(SUPPORTED) 2>/dev/null || { \
	    echo "fwexp needs Python 3.11, 3.12, 3.13 or 3.14, got $(or $(PYTHON),none); say where it is: make PYTHON=..." >&2; exit 2; }
	@$(KEEP) || { if [ -L $(VENV) ] || { [ -n "$$(ls -A $(VENV) 2>/dev/null)" ] && [ ! -f $(MADE) ]; }; then \
	        echo "VENV must be a folder that make creates, got $(VENV), which is there already; move it away" >&2; exit 2; fi; \
	    $(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "Python must have the module venv, which $(PYTHON) lacks; on Debian: apt install python3-venv" >&2; exit 2; }; \
	    echo "making $(VENV)"; rm -rf $(VENV); mkdir $(VENV) && touch $(MADE) && $(PYTHON) -m venv $(VENV); }
	@echo "installing the packages of requirements.lock into $(VENV)"
	@# Bytecode of what is used is written when it is imported: to compile all takes five times as long as to install.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --editable .
	@touch $@

# Tests, pages and comparisons need more packages, which are installed on top.
INSTALLED_DEV := $(VENV)/.installed-dev
$(INSTALLED_DEV): requirements-dev.lock $(INSTALLED)
	@echo "installing the packages of requirements-dev.lock into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement requirements-dev.lock
	@touch $@

venv: $(INSTALLED)

venv-dev: $(INSTALLED_DEV)

lock: $(INSTALLED_DEV)
	$(BIN)/python -m tools.lock $(ARGS)

release: $(INSTALLED_DEV)
	$(BIN)/python -m tools.release $(ARGS)

quickstart: $(INSTALLED)
	$(BIN)/fwexp figure quickstart $(ARGS)

figures: $(INSTALLED_DEV)
	$(BIN)/fwexp figure $$($(BIN)/python -c 'from fwexp.experiments import FIGURES; print(*FIGURES)') $(ARGS)

figures-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $*/ $(ARGS)

fig-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $(subst -,/fig,$*) $(ARGS)

table-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $(subst -,/table,$*) $(ARGS)

overlays-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $*/overlays $(ARGS)

auto-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $*/auto $(ARGS)

orders-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $*/orders $(ARGS)

original-%: $(INSTALLED_DEV) FORCE
	$(BIN)/fwexp figure $*/original $(ARGS)

claims report reproduce: $(INSTALLED_DEV)
	$(BIN)/fwexp $@ $(ARGS)

publish: $(INSTALLED_DEV)
	$(BIN)/python -m tools.publish $(ARGS)

redraw: $(INSTALLED_DEV)
	$(BIN)/python -m tools.redraw $(ARGS)

# Bytecode is kept even where that is turned off: tests start many processes, each of which would compile all sources again.
test test-slow: export PYTHONDONTWRITEBYTECODE :=
test: CHOSEN := not slow
test-slow: CHOSEN := slow
test test-slow: $(INSTALLED_DEV)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 4 --dist worksteal --durations 12 --ignore tests/texts -m "$(CHOSEN)" $(ARGS)

faults: $(INSTALLED_DEV)
	$(BIN)/python -m tests.faults $(ARGS)

lint: $(INSTALLED_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy
	$(BIN)/pyright --project tests/typed --pythonpath $(BIN)/python
	$(BIN)/python -m pytest --quiet -p no:cacheprovider tests/texts

format: $(INSTALLED_DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED_DEV)
	$(BIN)/python docs/build.py $(ARGS)

bench: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.svm $(ARGS)

bench-growth: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.growth $(ARGS)

bench-rule: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.rule $(ARGS)

bench-few: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.few $(ARGS)

bench-path: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.svm paths $(ARGS)

bench-crf: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.log_loss $(ARGS)

bench-multiclass: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.unseen $(ARGS)

bench-calls: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.peers.calls $(ARGS)

bench-scale: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.scale $(ARGS)

bench-peers: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.peers.compare $(ARGS)

bench-tagger: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.peers.tagger $(ARGS)

bench-serving: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks.peers.serving $(ARGS)

PAGES = $(wildcard docs/_build/html docs/generated)
CLEANER = $(or $(wildcard $(BIN)/python),$(PYTHON),python3)
# Whole folders go if they have the mark of the tool that made them, others as far as their record or the names of files tell.
clean:
	@[ -z "$(PAGES)" ] || $(CLEANER) -c 'import psutil' 2>/dev/null || { \
	    echo "make clean needs a Python with psutil to remove $(PAGES), got $(CLEANER); say make venv, or remove them yourself" >&2; exit 2; }
	@[ -z "$(PAGES)" ] || PYTHONDONTWRITEBYTECODE=1 $(CLEANER) -m fwexp.files.owned $(PAGES)
	@for folder in $(VENV) .venv-*; do \
	    if [ -f $$folder/$(notdir $(MADE)) ] && [ ! -L $$folder ]; then echo "removing $$folder"; rm -rf $$folder; \
	    elif [ -e $$folder ]; then echo "kept $$folder, which has no mark of make; remove it yourself"; fi; done
	@for folder in .mypy_cache .pytest_cache .ruff_cache; do \
	    if [ -f $$folder/CACHEDIR.TAG ] && [ ! -L $$folder ]; then rm -rf $$folder; fi; done
	@find conf docs experiments fwexp plots tests -path '*/__pycache__/*.pyc' -type f -delete
	@find conf docs experiments fwexp plots tests -name __pycache__ -type d -empty -delete
