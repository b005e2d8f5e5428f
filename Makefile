# `make` lists the targets. Those that build install what is missing first (.ci/setup) and say so.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Arguments for the program behind a target:  make demo ARGS="--directory ."   make test ARGS="--filter Wire"
ARGS ?=
# The load programs that `make bench` runs, in this order.
LOADS ?= wire memory codec disk batch herd propagation churn
# Where `make install` puts the command line.
PREFIX ?= /usr/local
# The documented targets, lowest first.
DOCUMENTED ?= StrataCBOR Strata StrataRedis StrataDisk StrataHTTP StrataHummingbird StrataCompression StrataConfiguration StrataCrypto StrataObservability StrataTesting

# Homebrew's folders are not on the compiler's default path.
ifeq ($(shell uname -s),Darwin)
BREW ?= $(or $(HOMEBREW_PREFIX),$(if $(filter arm64,$(shell uname -m)),/opt/homebrew,/usr/local))
STRATA_SWIFT_FLAGS ?= -Xcc -I$(BREW)/include -Xlinker -L$(BREW)/lib \
	-Xcc -I$(BREW)/opt/openssl@3/include -Xlinker -L$(BREW)/opt/openssl@3/lib
endif
export STRATA_SWIFT_FLAGS

.PHONY: help setup demo example test compat bench build-benchmarks plan-benchmarks soak snippets lint sanitize fuzz model mutants faults docs install clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing (hiredis, OpenSSL and SQLite headers, redis-server)
	@.ci/setup

demo: setup ## four processes share one Redis and fetch every document once
	swift run -c release --package-path Examples/Fleet $(STRATA_SWIFT_FLAGS) fleet $(ARGS)

example: setup ## a shop of three instances and the dashboard, under load; kills one, and Redis
	swift run -c release --package-path Examples/Shop $(STRATA_SWIFT_FLAGS) shop $(ARGS)

test: setup ## build and run the tests (STRICT=1: warnings are errors)
	@.ci/test $(if $(STRICT),--strict) $(ARGS)

compat: setup ## the tests on Redis and Valkey, with hiredis 0.14 and 1.2 (ARGS="--filter Wire")
	@.ci/compat $(ARGS)

bench: setup plan-benchmarks ## run the load programs, one JSON object a line (LOADS="herd …")
	@set -e; for load in $(LOADS); do \
		swift run -c release --package-path Benchmarks $(STRATA_SWIFT_FLAGS) load $$load $(ARGS); \
	done

# SwiftPM plans anew only when the files of the package in hand have changed: an old plan does not know Strata's new ones.
plan-benchmarks:
	@rm -f Benchmarks/.build/debug.yaml Benchmarks/.build/release.yaml

build-benchmarks: setup plan-benchmarks
	swift build --package-path Benchmarks $(STRATA_SWIFT_FLAGS)

soak: setup plan-benchmarks ## a fleet at work while things fail, then the verdict (ARGS="--seconds 3600 --seed 1")
	@echo "soak: building"
	@swift build --package-path Benchmarks $(STRATA_SWIFT_FLAGS)
	@echo "soak: running"
	@swift run --skip-build --package-path Benchmarks $(STRATA_SWIFT_FLAGS) load soak $(ARGS)

snippets: setup ## compile the samples of the documentation
	@swift build --enable-all-traits $(STRATA_SWIFT_FLAGS) $(if $(STRICT),-Xswiftc -warnings-as-errors)

lint: ## check format and house rules
	@.ci/lint

sanitize: setup ## run the tests under ThreadSanitizer, in .build-tsan
	@.ci/test --sanitize thread $(ARGS)

fuzz: setup ## feed bytes that nobody would send to what reads them (ARGS="--seconds 3600")
	@.ci/fuzz $(ARGS)

model: ## check the protocol's model with Spin, and that it finds each fault planted in it
	@.ci/model

mutants: setup ## plant defects and see whether the tests find each (ARGS="'lease-*'")
	@.ci/mutants $(ARGS)

faults: setup ## run the catalogue of faults and write its table (ARGS="--print 39 40")
	@.ci/faults $(ARGS)

docs: setup ## build the documentation into docs/build/site; a dead link is an error
	@.ci/docs $(DOCUMENTED)

install: setup ## stratactl with completions and man page, below PREFIX (/usr/local)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" .ci/install

clean: ## remove everything built
	rm -rf .build .build-* Benchmarks/.build Fuzzing/.build Examples/*/.build docs/build
