# What people and CI type. `make` alone lists the targets.
CARGO = cargo
LOCKED = --locked
# With the features that all crates ask for together, as `make test` builds it: nothing is compiled twice.
PROGRAM = --workspace --bin boardlab

.PHONY: help run test test-full check bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do \
		printf 'make %-10s %s\n' "$$name" "$$text"; \
	done

run: ## set up, build, do the published evaluations again, and say where the report is
	@setup/setup.sh run
	@$(CARGO) build $(LOCKED) $(PROGRAM)
	@if command -v arm-none-eabi-gcc >/dev/null; then $(MAKE) --no-print-directory --silent -C os; \
	else echo "arm-none-eabi-gcc is missing: the evaluation of context switches is left out"; fi
	@status=0; \
	"$${CARGO_TARGET_DIR:-target}/debug/boardlab" reproduce --out report || status=$$?; \
	for page in report/*.html; do \
		if [ -e "$$page" ]; then echo "The report: $(CURDIR)/$$page"; fi; \
	done; \
	exit $$status

test: ## set up and run every test
	@setup/setup.sh test
	@setup/test.py

test-full: ## every test with larger samples, and an hour of fuzzing with all checks on
	@BOARDLAB_FULL=1 $(MAKE) --no-print-directory test
	@fuzz/run.sh all 3600

check: ## quick, before each commit: format, lints, and the rules about source and documents
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	$(CARGO) test $(LOCKED) --quiet --no-fail-fast --package boardlab-checks --lib --test source --test repository

bench: ## measure the speed of the simulator
	@setup/setup.sh run
	$(CARGO) bench $(LOCKED) --workspace

clean: ## remove what was built and the report; what was set up stays
	$(CARGO) clean
	rm -rf report
