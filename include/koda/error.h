/* SPDX-License-Identifier: MIT */
/*
 * Errors: every fallible function returns 0 or a positive value on success and a negative
 * enum koda_code on failure. Details go into a struct koda_error that the caller owns; passing
 * NULL is always legal. The struct holds no pointers, so it may be copied, kept, or sent
 * through a pipe.
 */
#ifndef KODA_ERROR_H
#define KODA_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KODA_API   __attribute__((visibility("default")))
#define KODA_CHECK __attribute__((warn_unused_result))
#else
#define KODA_API
#define KODA_CHECK
#endif

/* Name, value, meaning. Values are ABI: never renumbered, never reused. */
#define KODA_CODES(X)                                                                              \
	X(SYS, -1, "a system call failed")                                                         \
	X(NOMEM, -2, "out of memory")                                                              \
	X(INVALID, -3, "the caller passed something impossible")                                   \
	X(POLICY, -4, "the policy text is wrong")                                                  \
	X(UNSUPPORTED, -5, "this kernel or system lacks what is needed")                           \
	X(LIMIT, -6, "something is larger than allowed")                                           \
	X(TIMEOUT, -7, "the deadline passed")                                                      \
	X(DENIED, -8, "the policy refuses it")                                                     \
	X(CHILD, -9, "a helper process failed")                                                    \
	X(INTERNAL, -10, "a defect in koda-sandbox")

enum koda_code {
	KODA_OK = 0,
#define KODA_CODE_ENUM(name, value, text) KODA_E_##name = (value),
	KODA_CODES(KODA_CODE_ENUM)
#undef KODA_CODE_ENUM
};

struct koda_error {
	int code;          /* enum koda_code, the value that was returned */
	int sys_errno;     /* 0 if no system call was involved */
	char field[96];    /* JSON pointer, line:column, option or path that is wrong; may be "" */
	char message[256]; /* one sentence without newline, control bytes escaped */
};

/* Returns "POLICY" for KODA_E_POLICY and so on; never NULL. */
KODA_API const char *koda_code_name(int code);

/* Returns the library's version, "MAJOR.MINOR.PATCH". */
KODA_API const char *koda_version(void);

#ifdef __cplusplus
}
#endif

#endif
