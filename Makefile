# One line per target: `make` prints them.
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc)
TIDY ?= all
ROUNDS ?= 100

.DEFAULT_GOAL := help
.PHONY: help build run test test-vm bench install style format fuzz faults clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the release preset: build/release/cloche
	@tools/setup build test
	@tools/build release -j $(JOBS)

run: ## build and run the demo: a report made by an untrusted script
	@tools/setup build test
	@tools/build release -j $(JOBS) -t cloche
	@tools/demo

test: ## build and test the release and the sanitizer preset, look for leftovers
	@tools/setup build test
	@tools/build release -j $(JOBS)
	@tools/build asan-ubsan -j $(JOBS)
	@tools/run-tests -j $(JOBS) release asan-ubsan

test-vm: ## boot a 6.1 kernel with cgroup v2 in an emulator and test the release build there
	@tools/setup build test vm
	@tools/build release -j $(JOBS)
	@tests/vm/run build/release

bench: ## build and run the benchmarks, ROUNDS=100: build/bench/results.json, launch.svg
	@tools/setup build bench
	@tools/build bench -j $(JOBS)
	@tools/bench --rounds $(ROUNDS)

install: ## install below PREFIX=/usr/local (DESTDIR= is put in front)
	@tools/setup build
	@tools/build install -j $(JOBS) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	DESTDIR=$(DESTDIR) cmake --install build/install --strip

style: ## check format, lint (TIDY=changed for changed files) and the rules of the house
	@tools/setup build test bench fuzz style
	@tools/style check --tidy $(TIDY) -j $(JOBS)

format: ## let clang-format rewrite the sources
	@tools/setup style
	@tools/style format

fuzz: ## build the fuzz targets and run each for FUZZ_SECONDS=60; takes 40 minutes
	@tools/setup build fuzz
	@tools/build fuzz -j $(JOBS)
	@tools/fuzz $(FUZZ_SECONDS)

faults: ## let every system call of a launch fail, and kill -9 everything 500 times; takes half an hour
	@tools/setup build test
	@tools/build release -j $(JOBS)
	@tests/faults/run faults --all
	@tests/faults/run faults --all --as ordinary
	@tests/faults/run kill --all
	@tests/faults/run kill --all --as ordinary

clean: ## remove build/
	rm -rf build
