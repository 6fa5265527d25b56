/* SPDX-License-Identifier: MIT */
#include "fs_options.h"

#include "base/error.h"

enum {
	OPT_INCLUDE = CLI_REQUEST_OWN,
	OPT_FLAG = 1 << 16 /* and a bit of enum koda_fs_flag beside it */
};

/* clang-format off */
#define OWN_OPTIONS                                                                                \
	{ "json", no_argument, NULL, CLI_REQUEST_JSON },                                           \
	{ "all", no_argument, NULL, OPT_FLAG | KODA_FS_ALL },                                      \
	{ "follow", no_argument, NULL, OPT_FLAG | KODA_FS_FOLLOW },                                \
	{ "hidden", no_argument, NULL, OPT_FLAG | KODA_FS_HIDDEN },                                \
	{ "ignore-case", no_argument, NULL, OPT_FLAG | KODA_FS_IGNORE_CASE },                      \
	{ "in-place", no_argument, NULL, OPT_FLAG | KODA_FS_IN_PLACE },                            \
	{ "include", required_argument, NULL, OPT_INCLUDE },                                       \
	{ "literal", no_argument, NULL, OPT_FLAG | KODA_FS_LITERAL },                              \
	{ "new", no_argument, NULL, OPT_FLAG | KODA_FS_NEW },                                      \
	{ "no-ignore", no_argument, NULL, OPT_FLAG | KODA_FS_NO_IGNORE },                          \
	{ "parents", no_argument, NULL, OPT_FLAG | KODA_FS_PARENTS },                              \
	{ "recursive", no_argument, NULL, OPT_FLAG | KODA_FS_RECURSIVE },                          \
	CLI_HELP_OPTION,                                                                           \
	{ 0 }
/* clang-format on */

static const struct option all_options[] = { CLI_REQUEST_OPTIONS, OWN_OPTIONS };
static const struct option own_options[] = { OWN_OPTIONS };
static const struct cli_syntax before_operation = { "+:h", all_options };
static const struct cli_syntax after_operation = { "+:h", own_options };

/* clang-format off */
static const struct operation {
	const char *name;
	enum koda_fs_op op;
	int operands;
	const char *names;
	uint32_t flags; /* that it accepts */
} operations[] = {
	{ "read", KODA_FS_OP_READ, 1, "PATH", 0 },
	{ "write", KODA_FS_OP_WRITE, 1, "PATH", KODA_FS_NEW | KODA_FS_IN_PLACE },
	{ "edit", KODA_FS_OP_EDIT, 3, "PATH OLD NEW", KODA_FS_ALL | KODA_FS_IN_PLACE },
	{ "glob", KODA_FS_OP_GLOB, 1, "PATTERN", KODA_FS_WALK },
	{ "grep", KODA_FS_OP_GREP, 1, "PATTERN",
	  KODA_FS_WALK | KODA_FS_LITERAL | KODA_FS_IGNORE_CASE },
	{ "stat", KODA_FS_OP_STAT, 1, "PATH", KODA_FS_FOLLOW },
	{ "list", KODA_FS_OP_LIST, 1, "PATH", 0 },
	{ "mkdir", KODA_FS_OP_MKDIR, 1, "PATH", KODA_FS_PARENTS },
	{ "remove", KODA_FS_OP_REMOVE, 1, "PATH", KODA_FS_RECURSIVE },
	{ "rename", KODA_FS_OP_RENAME, 2, "FROM TO", KODA_FS_NEW },
};
/* clang-format on */

static int take(const struct cli_call *call, void *ctx, int option, struct koda_error *err)
{
	struct cli_fs *fs = ctx;

	if (option & OPT_FLAG) {
		fs->flags |= (uint32_t)option & ~(uint32_t)OPT_FLAG;
		return KODA_OK;
	}
	if (option != OPT_INCLUDE)
		return cli_request_take(call, &fs->request, option, err);
	if (fs->include)
		return cli_args_fail(call, err, "--include can be given only once");
	fs->include = optarg;
	return KODA_OK;
}

static const struct operation *find(const struct cli_call *call, const char *word,
				    struct koda_error *err)
{
	const char *names[KODA_ARRAY_LEN(operations) + 1];

	for (size_t i = 0; i < KODA_ARRAY_LEN(operations); i++) {
		names[i] = operations[i].name;
		if (strcmp(word, names[i]) == 0)
			return &operations[i];
	}
	names[KODA_ARRAY_LEN(operations)] = NULL;
	(void)cli_args_fail_unknown(call, "operation", word, names, err);
	return NULL;
}

/* Refuses an option of another operation. */
static int check(const struct cli_call *call, const struct cli_fs *fs,
		 const struct operation *operation, struct koda_error *err)
{
	const uint32_t wrong = fs->flags & ~operation->flags;

	if (fs->include && fs->op != KODA_FS_OP_GREP)
		return cli_args_fail(call, err, "%s does not take --include", operation->name);
	for (const struct option *o = own_options; wrong && o->name; o++)
		if (o->val & OPT_FLAG && (uint32_t)o->val & wrong)
			return cli_args_fail(call, err, "%s does not take --%s", operation->name,
					     o->name);
	return cli_args_need_operands(call, operation->operands, operation->names, err);
}

int cli_fs_options_read(const struct cli_call *call, struct cli_fs *fs, struct koda_error *err)
{
	struct cli_call rest = *call;
	const struct operation *operation;
	int r = cli_args_read(call, &before_operation, take, fs, err);

	if (r <= 0)
		return r;
	if (optind >= call->argc)
		return cli_args_fail(call, err, "needs an operation");
	rest.argc -= optind;
	rest.argv += optind;
	operation = find(call, rest.argv[0], err);
	if (!operation)
		return KODA_E_INVALID;
	fs->op = operation->op;
	r = cli_args_read(&rest, &after_operation, take, fs, err);
	if (r <= 0)
		return r;
	r = check(&rest, fs, operation, err);
	if (r == KODA_OK)
		r = cli_waivers_check(&fs->request.waivers, &fs->request.policy, call, err);
	if (r == KODA_OK && fs->request.waivers.no_sandbox &&
	    fs->request.backend != KODA_BACKEND_AUTO)
		r = cli_args_fail(call, err, "--no-sandbox and --backend exclude each other");
	fs->operand = rest.argv + optind;
	return r < 0 ? r : 1;
}
