# The front door: every command a person or a pipeline needs. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# A recipe is read from top to bottom, and two cargo commands would only wait for each other.
.NOTPARALLEL:

# The tool cache, said once here so that every program looks in the same place.
export RAMPARTS_TOOLS := $(shell scripts/setup where)
export PATH := $(RAMPARTS_TOOLS)/bin:$(PATH)

# Files that `make gen` writes and that are committed, so that a reader needs no build to see them.
GENERATED := deploy/crd

# The operator with a crash point before and after every effect; only tests run it.
CHAOS := cargo build --locked --package ramparts --features chaos --bin ramparts-chaos

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: programs ## Start the whole stack on this machine and watch what the operator never does
	@scripts/demo

.PHONY: test
test: build ## Run every test, against real servers started for the purpose
	cargo test --locked --workspace

.PHONY: lint
lint: ## Check everything that needs no running server: format, lints, architecture, licences, scripts, generated files
	@scripts/setup lint
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
	scripts/check-tree
	scripts/check-text
	scripts/check-docs
	cargo deny --locked --log-level error check bans licenses sources
	shellcheck .ci/run $$(git ls-files scripts)
	@$(MAKE) --no-print-directory gen
	git diff --exit-code -- $(GENERATED)
	@! git ls-files --others --exclude-standard -- $(GENERATED) | sed 's/$$/: generated, but not committed/' | grep .

.PHONY: gen
gen: ## Write the generated files anew: the custom resource definition
	@mkdir -p deploy/crd
	cargo run --locked --quiet --package ramparts -- crd > target/crd.yaml
	@mv target/crd.yaml deploy/crd/tenants.ramparts.com.yaml

.PHONY: build
build: programs
	$(CHAOS)

.PHONY: programs
programs: stack
	cargo build --locked --package ramparts --package sandbox

.PHONY: stack
stack:
	@scripts/setup stack
