/* SPDX-License-Identifier: MIT */
/*
 * Functions this project never calls. The build force-includes this file ahead of everything in
 * src/, cli/ and libexec/; a call becomes a compile error that says what to use instead.
 *
 * The headers that declare (and, fortified, define) the banned names come first, so that the
 * macros below meet only our own code. Undoing a ban inside a source file fails `make lint`; should
 * a file ever need an exception, meson.build grants it, where it is seen.
 */
#ifndef KODA_BASE_BANNED_H
#define KODA_BASE_BANNED_H

#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* Only calls are caught: a struct member or variable of that name stays possible. */
#define KODA_BANNED(name, instead)                                                                 \
	({                                                                                         \
		_Static_assert(0, #name "() is banned: " instead);                                 \
		0;                                                                                 \
	})

/* NOLINTBEGIN(readability-identifier-naming): the names are libc's */

/* No bound on what is written. */
#undef strcpy
#define strcpy(...) KODA_BANNED(strcpy, "use koda_buf or memcpy with a checked length")
#undef strcat
#define strcat(...) KODA_BANNED(strcat, "use koda_buf")
#undef strncpy
#define strncpy(...) KODA_BANNED(strncpy, "it may leave no terminator; use snprintf or memcpy")
#undef strncat
#define strncat(...) KODA_BANNED(strncat, "use koda_buf")
#undef sprintf
#define sprintf(...) KODA_BANNED(sprintf, "use snprintf")
#undef vsprintf
#define vsprintf(...) KODA_BANNED(vsprintf, "use vsnprintf")
#undef gets
#define gets(...) KODA_BANNED(gets, "use koda_fd_read_all")
#undef alloca
#define alloca(...) KODA_BANNED(alloca, "use malloc or a fixed array")

/* Parsers that accept garbage or overflow in silence. */
#undef strtok
#define strtok(...) KODA_BANNED(strtok, "use spans")
#undef strtok_r
#define strtok_r(...) KODA_BANNED(strtok_r, "use spans")
#undef atoi
#define atoi(...) KODA_BANNED(atoi, "use the checked parsers of base/parse.h")
#undef atol
#define atol(...) KODA_BANNED(atol, "use the checked parsers of base/parse.h")
#undef atof
#define atof(...) KODA_BANNED(atof, "use the checked parsers of base/parse.h")
#undef sscanf
#define sscanf(...) KODA_BANNED(sscanf, "use the checked parsers of base/parse.h")

/* Static buffers and process-wide state: not for a library that may be called from threads. */
#undef strerror
#define strerror(...) KODA_BANNED(strerror, "pass errno to koda_fail, or use strerror_r")
#undef gmtime
#define gmtime(...) KODA_BANNED(gmtime, "use gmtime_r")
#undef localtime
#define localtime(...) KODA_BANNED(localtime, "use localtime_r")
#undef ctime
#define ctime(...) KODA_BANNED(ctime, "use strftime")
#undef asctime
#define asctime(...) KODA_BANNED(asctime, "use strftime")
#undef rand
#define rand(...) KODA_BANNED(rand, "use getrandom")
#undef signal
#define signal(...) KODA_BANNED(signal, "use sigaction")

/* Races and surprises. */
#undef mktemp
#define mktemp(...) KODA_BANNED(mktemp, "use mkostemp or O_TMPFILE")
#undef tmpnam
#define tmpnam(...) KODA_BANNED(tmpnam, "use mkostemp or O_TMPFILE")
#undef access
#define access(...) KODA_BANNED(access, "open it and look at the error")
#undef dup
#define dup(...) KODA_BANNED(dup, "it drops CLOEXEC; use fcntl F_DUPFD_CLOEXEC")
#undef vfork
#define vfork(...) KODA_BANNED(vfork, "use base/proc.h")

#undef realpath
#define realpath(...) KODA_BANNED(realpath, "use koda_path_resolve")

/* A shell between us and the program. */
#undef system
#define system(...) KODA_BANNED(system, "use base/proc.h")
#undef popen
#define popen(...) KODA_BANNED(popen, "use base/proc.h")

/* The environment is an argument: what a function depends on is visible in its prototype. */
#undef getenv
#define getenv(...) KODA_BANNED(getenv, "take the environment as a parameter")
#undef secure_getenv
#define secure_getenv(...) KODA_BANNED(secure_getenv, "take the environment as a parameter")

/* A library does not end its host; a program returns from main. */
#undef exit
#define exit(...) KODA_BANNED(exit, "return an error")

/* NOLINTEND(readability-identifier-naming) */

#endif
