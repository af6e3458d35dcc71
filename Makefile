.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A test that does not even end when its time is over is ended from outside, with what each of its threads was doing.
# Its worker is not started anew: pytest-xdist (3.8) then waits for ever with --dist loadfile.
ENDED_AFTER = -o faulthandler_timeout=$(1) -o faulthandler_exit_on_timeout=true

help: ## Show what can be done here
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

install: $(VENV)/installed ## Install everything into .venv, and fetch the jars (once)

$(VENV)/installed: requirements.lock pyproject.toml deploy/require-system
	@bash deploy/require-system
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/waterline lab jars
	@touch $@

demo: install ## The whole story in a page that looks like Slack: a real Flink job damages a real table
	$(BIN)/waterline demo

walk: install ## The same story with scripted people, printed as a transcript
	$(BIN)/waterline demo --walk

# What takes longest comes first, and a file's tests stay together.
SHARED = --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test: install ## Run the tests of the inner loop (less than five minutes)
	$(BIN)/pytest -m "not full" --numprocesses auto $(SHARED) $(call ENDED_AFTER,400)

test-all: install ## Run the other tests: on Spark, the whole bot, real Flink clusters (half an hour)
	WATERLINE_EXAMPLES=400 $(BIN)/pytest -m "(full or made_up) and not slow and not long and not chaos" --numprocesses auto $(SHARED) $(call ENDED_AFTER,400)
	$(BIN)/pytest -m "slow and not long" --timeout=600 --numprocesses 3 $(SHARED) $(call ENDED_AFTER,900)

test-long: install ## Run what takes its turn on other days, and one more repair and action of each kind on Flink (an hour)
	$(BIN)/pytest -m long --timeout=900 --numprocesses 3 $(SHARED)

hunt: install ## Make up very many histories from a new seed, which is printed (hours): EXAMPLES=20000
	seed=$${WATERLINE_SEED:-$$RANDOM}; WATERLINE_SEED=$$seed WATERLINE_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -m made_up \
		--hypothesis-seed=$$seed --timeout=0 --numprocesses auto $(SHARED)

test-operator: install ## Try the Flink operator's resources on a real Kubernetes API server (needs Go; built once, minutes)
	WATERLINE_BUILD_API_SERVER=1 $(BIN)/pytest tests/adapters/test_flink_operator*.py -m slow --timeout=1800

test-deploy: install ## Build the image and the chart, and run them: needs Go, and root with buildah, mmdebstrap, umoci, runc, podman, podman-compose, netavark, aardvark-dns and iptables
	WATERLINE_BUILD_IMAGE=1 WATERLINE_BUILD_API_SERVER=1 $(BIN)/pytest tests/deploy -m "" --timeout=1800

check: install ## Format, lint, types, floors, runbooks and messages
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target checked-types checked-style checked-content

checked-types:
	$(BIN)/mypy

checked-style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

checked-content:
	$(BIN)/waterline lint

fix: install ## Format, and fix what the linter can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install ## Measure up to a million files and a hundred million rows (many minutes): does cost follow the window?
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.scale

bench-short: install ## The same up to a hundred thousand files and ten million rows
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.scale --short

matrix: install ## Every story on a real Flink, and what the bot says of it: writes docs/matrix.md (an hour)
	$(BIN)/python -m tests.matrix

EXAMPLES ?= 20000
KILLS ?= 1000
SEED ?= 1
RECORD ?= sqlite
BOTS ?= 1

chaos: install ## Kill the bot at random under clicks and commits, and check the rules: KILLS=1000 SEED=1 RECORD=sqlite BOTS=1
	$(BIN)/python -m tests.chaos --kills $(KILLS) --seed $(SEED) --record $(RECORD) --bots $(BOTS)

chaos-short: install ## The same with six kills, on both databases, and with a bot that stands by
	$(BIN)/pytest tests/chaos -m chaos -q

RACES ?= 500

races: install ## Race approvals against the job's commits and strangers: RACES=500 SEED=1
	$(BIN)/python -m tests.chaos.racing --races $(RACES) --seed $(SEED)

reference: install ## Write the generated pages anew from the code: settings, commands, API, catalogue, notices
	$(BIN)/waterline catalogue > docs/catalogue.md.new && mv docs/catalogue.md.new docs/catalogue.md
	$(BIN)/python -c 'from bot.settings import Settings; print(Settings.reference(), end="")' > deploy/settings.md.new
	mv deploy/settings.md.new deploy/settings.md
	$(BIN)/python -m bot.notices.reference
	$(BIN)/python -c 'import json; from bot.adapters.notify import NoticePayload as N; print(json.dumps(N.model_json_schema(), indent=2))' > docs/notice.schema.json.new
	mv docs/notice.schema.json.new docs/notice.schema.json
	$(BIN)/python -m tests.docs.reference

docs: install ## Build the documentation site into artifacts/site, without a network; a broken link fails
	$(BIN)/python -m tests.docs

PICTURES ?= docs/pictures

pictures: install ## Make the pictures and the film of the documentation from the running product: PICTURES=docs/pictures
	$(BIN)/python -m tests.docs.pictures $(PICTURES)

IMAGE_LOCK = --constraints requirements.lock --generate-hashes --no-annotate --no-emit-index-url --no-header --python-version 3.11 -q

lock: ## Pin every package anew (needs uv)
	uv pip compile pyproject.toml --extra dev --generate-hashes --no-emit-index-url --no-header --python-version 3.11 -q -o requirements.lock
	uv pip compile pyproject.toml --extra traces $(IMAGE_LOCK) -o deploy/requirements.lock
	printf 'hatchling\npip\nsetuptools\nwheel\n' | uv pip compile - $(IMAGE_LOCK) -o deploy/build.lock

clean: ## Remove what was installed and built here
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .cache artifacts

.PHONY: help install demo walk test test-all test-long hunt test-operator test-deploy check checked-types checked-style checked-content fix bench bench-short matrix chaos chaos-short races reference docs pictures lock clean
