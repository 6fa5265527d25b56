# SPDX-License-Identifier: MIT
# The front door. Everything real is in meson.build and tools/; see `make help`.

# Relative to this directory. A name elsewhere leaves the source tree as it is.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 20
SOAK_COMMANDS ?= 500
# More arguments for the first `meson setup`, e.g. -Dwerror=true.
MESON_ARGS ?=
# More arguments for `meson test`, e.g. --suite unit.
TEST_ARGS ?=

export BUILD FUZZ_SECONDS SOAK_COMMANDS

.DEFAULT_GOAL := build
.PHONY: help setup build run test lint format bench fuzz soak aarch64 install uninstall deb clean

help:
	@echo 'make build      build the product into build/, programs in build/bin/'
	@echo 'make run        build, then a short tour of the tool'
	@echo 'make install    build and install below PREFIX (default /usr/local), staged in DESTDIR if given'
	@echo 'make uninstall  remove what `make install` put there; give the same PREFIX and DESTDIR'
	@echo 'make deb        Debian packages, in build-deb/'
	@echo 'make test       build and run every test; TEST_ARGS for `meson test`'
	@echo 'make lint       formatters, static analysers and the gates of the project'
	@echo 'make format     rewrite the C files the way `make lint` wants them'
	@echo 'make bench      print the speed figures'
	@echo 'make fuzz       fuzz each target for FUZZ_SECONDS (default 20)'
	@echo 'make soak       run SOAK_COMMANDS (500) commands, sanitized, and SOAK_FILE_OPERATIONS (100000) in the file worker'
	@echo 'make aarch64    build for aarch64 and run its unit tests under qemu-user, in build-aarch64/'
	@echo 'make clean      remove every build directory'
	@echo 'make setup      only install the Debian packages that are missing for all of these'
	@echo
	@echo 'Each target installs with apt what it needs and what is missing, so it may need root or sudo once.'
	@echo 'BUILD=DIR builds elsewhere, e.g. where this tree is read-only.'

setup:
	@tools/setup.sh build run test lint fuzz bench deb aarch64

build:
	@tools/setup.sh build
	@tools/build.sh "$$BUILD" product $(MESON_ARGS)

run:
	@tools/setup.sh build run
	@tools/build.sh "$$BUILD" product $(MESON_ARGS)
	@tools/tour.sh "$$BUILD/bin/koda-sandbox"

test:
	@tools/setup.sh build test
	@tools/build.sh "$$BUILD" all $(MESON_ARGS)
	@tools/test.sh "$$BUILD" $(TEST_ARGS)

lint:
	@tools/setup.sh build test lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

bench:
	@tools/setup.sh build test bench
	@tools/build.sh "$$BUILD" all $(MESON_ARGS)
	@meson test -C "$$BUILD" --benchmark --verbose --num-processes 1

fuzz:
	@tools/setup.sh build fuzz
	@tools/fuzz.sh

soak:
	@tools/setup.sh build test
	@tools/soak.sh

aarch64:
	@tools/setup.sh build test aarch64
	@tools/cross.sh aarch64 "$$BUILD-aarch64"

# Its own directory: where programs and library will live is fixed when they are built, and a
# checkout's build/ must keep working after an installation elsewhere.
install:
	@tools/setup.sh build
	@tools/install.sh '$(PREFIX)' '$(DESTDIR)' "$$BUILD-install"

uninstall:
	@tools/uninstall.sh '$(PREFIX)' '$(DESTDIR)'

deb:
	@tools/setup.sh build deb
	@tools/deb.sh "$$BUILD-install" "$$BUILD-deb"

# Elsewhere only directories that meson has made.
clean:
	rm -rf build build-*/
	@for dir in "$$BUILD" "$$BUILD-install" "$$BUILD-clang" "$$BUILD-fuzz" "$$BUILD-asan" "$$BUILD-tsan" \
		"$$BUILD-aarch64"; do \
		[ ! -d "$$dir/meson-private" ] || rm -rf -- "$$dir"; \
	done
