# Everything a newcomer needs: `make demo` shows it working, `make test` runs every test.
PYTHON ?= python3
LOCK_OPTIONS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check install

.PHONY: help demo test lint types docs check audit licenses bench wheel bundle handbook snapshot lock clean

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(INSTALLED) ## run a client against the server, on the handbook
	@$(BIN)/python examples/demo.py
	@echo "The command is $(CURDIR)/$(BIN)/openzim-mcp; to see what it can do, add --help."

# Three processes keep two cores busy, because many tests wait for timeouts and other processes.
test: $(READY) ## run every test
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile

lint: $(READY) ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## check types
	$(BIN)/mypy

docs: $(READY) ## check that the generated parts of the docs are up to date
	$(BIN)/python scripts/docs.py --check

check: lint types docs ## run lint, types and docs

# In an environment of its own: what it needs is not part of the project, and it asks a database on the network.
audit: ## look for known vulnerabilities in the locked dependencies (needs the network)
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	build/audit/bin/pip-audit --require-hashes --disable-pip --requirement deploy/runtime.lock

licenses: $(READY) ## check the licenses of the locked dependencies
	$(BIN)/python scripts/licenses.py

bench: $(READY) ## measure, and compare with other servers from PyPI
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/passage_index.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/people.py
	$(BIN)/python benchmarks/research.py
	$(BIN)/python benchmarks/kinds.py
	$(BIN)/python benchmarks/graph.py
	$(BIN)/python benchmarks/places.py
	$(BIN)/python benchmarks/many_archives.py 10 100 1000
	$(BIN)/python benchmarks/protocol.py
	$(BIN)/python benchmarks/client_tokens.py
	$(BIN)/python benchmarks/appview.py
	$(BIN)/python benchmarks/terminal.py
	$(BIN)/python benchmarks/download.py

wheel: $(READY) ## make the wheel and the source distribution in dist/
	$(BIN)/python -m hatchling build --target wheel --target sdist --directory dist

bundle: $(READY) ## make dist/openzim-mcp.mcpb for desktop clients, and its registry entry (needs Node)
	$(BIN)/python bundle/gather.py build/bundle
	mkdir -p dist
	npx --yes @anthropic-ai/mcpb@2.1.2 pack build/bundle dist/openzim-mcp.mcpb
	$(BIN)/python scripts/registry_entry.py dist/openzim-mcp.mcpb dist/server.json

handbook: $(READY) ## write the generated parts of the docs, and build the handbook from them
	$(BIN)/python scripts/docs.py
	$(BIN)/python scripts/handbook.py
	$(BIN)/python scripts/record_terminal.py

snapshot: $(READY) ## accept a change of the published tools
	PYTHONPATH=tests $(BIN)/python tests/protocol/test_tools.py

# Not `meaning`: it adds 140 MB to each worker process, so who wants it installs it.
EXTRAS = --extra cluster --extra telemetry
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-annotate --custom-compile-command "make lock" $(LOCK_OPTIONS)

lock: $(READY) ## pin the dependencies (LOCK_OPTIONS=--upgrade: in their newest versions)
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --group dev $(EXTRAS) pyproject.toml --output-file requirements.lock
	$(COMPILE) --constraint requirements.lock --group build --output-file deploy/build.lock
	$(COMPILE) --constraint requirements.lock $(EXTRAS) pyproject.toml --output-file deploy/runtime.lock
	for clients in sdk1 sdk2 schemathesis; do \
	  $(COMPILE) tests/clients/python/$$clients.in --output-file tests/clients/python/$$clients.lock; done
	$(COMPILE) --constraint requirements.lock pyproject.toml tests/clients/python/frameworks.in \
	  --output-file tests/clients/python/frameworks.lock

clean: ## remove the environment and everything built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache src/openzim_mcp/data/handbook.zim

# What the program needs, and nothing else: enough for the demo.
$(INSTALLED): deploy/runtime.lock deploy/build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "OpenZIM MCP needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Creating the environment $(VENV) (about a minute) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes --requirement deploy/runtime.lock
	@$(PIP) --require-hashes --requirement deploy/build.lock
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $(INSTALLED)

$(READY): $(INSTALLED) requirements.lock
	@echo "Installing the tools for development …"
	@$(PIP) --require-hashes --requirement requirements.lock
	@touch $(READY)
