# SPDX-License-Identifier: MIT
# The front door. Everything real is in meson.build and tools/; see `make help`.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 20
# More arguments for the first `meson setup build`, e.g. -Dwerror=true.
MESON_ARGS ?=

export FUZZ_SECONDS

.DEFAULT_GOAL := build
.PHONY: help setup build run test lint format bench fuzz install clean

help:
	@echo 'make build     install what is missing (apt), build into build/, programs in build/bin/'
	@echo 'make run       build, then a short tour of the tool'
	@echo 'make test      build and run every test'
	@echo 'make lint      formatters, static analysers and the gates of the project'
	@echo 'make format    rewrite the C files the way `make lint` wants them'
	@echo 'make bench     print the speed figures'
	@echo 'make fuzz      fuzz each target for FUZZ_SECONDS (default 20)'
	@echo 'make install   install below PREFIX (default /usr/local), staged in DESTDIR if given'
	@echo 'make clean     remove every build directory'
	@echo 'make setup     only install the Debian packages that are missing'

setup:
	@tools/setup.sh

build: setup build/build.ninja
	@ninja -C build

build/build.ninja: | setup
	@meson setup build $(MESON_ARGS)

run: build
	@tools/tour.sh build/bin/koda-sandbox

test: build
	@tools/test.sh build

lint: setup
	@tools/lint.sh

format:
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

bench: build
	@meson test -C build --benchmark --verbose --num-processes 1

fuzz: setup
	@tools/fuzz.sh

# Its own directory: where programs and library will live is fixed when they are built, and a
# checkout's build/ must keep working after an installation elsewhere.
install: setup
	@tools/install.sh '$(PREFIX)' '$(DESTDIR)'

clean:
	rm -rf build build-*/
