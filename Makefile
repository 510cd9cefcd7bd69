# What people and CI type. `make` alone lists the targets.
CARGO = cargo
LOCKED = --locked

.PHONY: help run test test-full check bench wheel dist clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do \
		printf 'make %-10s %s\n' "$$name" "$$text"; \
	done

run: ## build, reproduce the published evaluations, and say where the report is
	@setup/setup.sh run
	@setup/run.sh

test: ## set up and run every test
	@setup/setup.sh test
	@setup/test.py

test-full: ## every test with larger samples, and 90 minutes of fuzzing with all checks on
	@BOARDLAB_FULL=1 $(MAKE) --no-print-directory test
	@fuzz/run.sh all 5400

check: ## quick, before each commit: format, lints, and the rules about source and documents
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	$(CARGO) test $(LOCKED) --quiet --no-fail-fast --package boardlab-checks --lib --test source --test repository

bench: ## measure the speed of the simulator
	@setup/setup.sh run
	$(CARGO) bench $(LOCKED) --workspace

wheel: ## build the wheel of the Python package into dist/
	@setup/setup.sh python
	@setup/wheel.sh

dist: ## pack static programs for x86-64 and arm64, as archives and Debian packages, into dist/
	@setup/dist.sh

clean: ## remove what was built, packed and reported; what was set up stays
	$(CARGO) clean
	rm -rf report dist
