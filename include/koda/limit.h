/* SPDX-License-Identifier: MIT */
/* The limits of a command. The first of them are fields of a policy. */
#ifndef KODA_LIMIT_H
#define KODA_LIMIT_H

/* Enumerator, name in events. Seconds, bytes, or a number of files, processes or repositories. */
#define KODA_LIMITS(X)                                                                             \
	X(CPU_TIME, "cpu_time")                                                                    \
	X(WALL_TIME, "wall_time")                                                                  \
	X(MEMORY, "memory") /* of all processes of a command together */                           \
	X(OPEN_FILES, "open_files")                                                                \
	X(OUTPUT, "output")       /* of each stream */                                             \
	X(PROCESSES, "processes") /* from here on, a policy has no field for it */                 \
	X(FILE_SIZE, "file_size")                                                                  \
	X(REPOSITORIES, "repositories") /* beyond it, git directories are read-only as a whole */

enum koda_limit {
#define KODA_LIMIT_ENUM(name, text) KODA_LIMIT_##name,
	KODA_LIMITS(KODA_LIMIT_ENUM)
#undef KODA_LIMIT_ENUM
	KODA_LIMIT_COUNT
};

/* Limits below this one are fields of a policy. */
#define KODA_LIMIT_POLICY_COUNT (KODA_LIMIT_OUTPUT + 1)

#endif
