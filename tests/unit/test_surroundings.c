/* SPDX-License-Identifier: MIT */
/* What doctor tells about containers that exist only as files and variables. */
#include "koda_test.h"

#include "run/backend/surroundings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct koda_machine free_machine = { .userns = KODA_USERNS_FREE };

/* Makes a file and the directories above it below root. */
static void make_file(const char *root, const char *path, const char *text)
{
	char buf[512];
	int fd;

	(void)snprintf(buf, sizeof(buf), "%s%s", root, path);
	for (char *slash = strchr(buf + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(buf, 0755);
		*slash = '/';
	}
	fd = open(buf, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static struct koda_surroundings look(const char *root, const char *variable)
{
	const char *const env[] = { "PATH=/bin", variable, NULL };
	struct koda_surroundings surroundings;

	koda_surroundings_look(root, env, &surroundings);
	return surroundings;
}

static void engines_are_known_by_their_marks(void **state)
{
	static const struct {
		const char *file;
		const char *variable;
		const char *name;
		const char *ci;
	} rows[] = {
		{ NULL, NULL, "", "" },
		{ "/.dockerenv", NULL, "Docker", "" },
		{ "/run/.containerenv", NULL, "Podman", "" },
		{ NULL, "container=podman", "Podman", "" },
		{ NULL, "container=lxc", "LXC", "" },
		{ NULL, "container=else", "container", "" },
		{ NULL, "container=", "", "" },
		{ "/.dockerenv", "KUBERNETES_SERVICE_HOST=10.0.0.1", "Kubernetes", "" },
		{ "/run/secrets/kubernetes.io/serviceaccount/token", NULL, "Kubernetes", "" },
		{ "/.dockerenv", "CODESPACES=true", "GitHub Codespaces", "" },
		{ "/.dockerenv", "CODESPACES=true1", "Docker", "" },
		{ "/.dockerenv", "REMOTE_CONTAINERS=1", "dev container", "" },
		{ "/.dockerenv", "GITHUB_ACTIONS=true", "Docker", "GitHub Actions" },
		{ NULL, "GITLAB_CI=true", "", "GitLab CI" },
		{ NULL, "CI=true", "", "continuous integration" },
		{ NULL, "CI=", "", "" },
		{ NULL, "XCI=true", "", "" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		char root[] = "/tmp/koda-surroundings.XXXXXX";
		char command[64];
		struct koda_surroundings s;

		assert_non_null(mkdtemp(root));
		if (row->file)
			make_file(root, row->file, "");
		s = look(root, row->variable);
		assert_string_equal(s.name, row->name);
		assert_string_equal(s.ci, row->ci);
		assert_int_equal(s.container == KODA_CONTAINER_NONE, row->name[0] == '\0');
		(void)snprintf(command, sizeof(command), "rm -rf %s", root);
		assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): our own name */
	}
}

static void restrictions_are_read(void **state)
{
	static const char masked[] = "20 1 0:3 / /proc rw - proc proc rw\n"
				     "21 20 0:4 / /proc/acpi ro - tmpfs tmpfs ro\n";
	static const char usual[] = "20 1 0:3 / /proc rw - proc proc rw\nodd line\n\n"
				    "21 20 0:4 / /proc/sys/fs/binfmt_misc rw - autofs a rw\n"
				    "22 20 0:4 / /process/x rw - tmpfs tmpfs rw\n";
	char root[] = "/tmp/koda-surroundings.XXXXXX";
	char command[64];
	struct koda_surroundings s;

	(void)state;
	assert_non_null(mkdtemp(root));
	s = look(root, NULL);
	assert_false(s.masked_proc);
	assert_true(s.no_temporary); /* there is none */
	assert_string_equal(s.apparmor, "");
	make_file(root, "/tmp/x", "");
	make_file(root, "/proc/self/attr/current", "docker-default (enforce)\n");
	make_file(root, "/proc/self/mountinfo", usual);
	s = look(root, NULL);
	assert_false(s.masked_proc);
	assert_false(s.no_temporary);
	assert_string_equal(s.apparmor, "docker-default");
	make_file(root, "/proc/self/mountinfo", masked);
	make_file(root, "/proc/self/attr/current", "unconfined\n");
	s = look(root, NULL);
	assert_true(s.masked_proc);
	assert_string_equal(s.apparmor, "");
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): our own name */
}

/* Every restriction, in every engine: a setting that lifts it where it matters, and none where the
 * native backend works. */
static void each_engine_has_a_setting_for_each_restriction(void **state)
{
	const struct koda_machine filtered = { .userns = KODA_USERNS_FILTERED };
	struct koda_surroundings s = { .name = "x",
				       .ci = "",
				       .seccomp = true,
				       .no_new_privs = true,
				       .masked_proc = true,
				       .read_only_root = true,
				       .no_temporary = true,
				       .apparmor = "x" };

	(void)state;
	for (int container = 0; container < KODA_CONTAINER_COUNT; container++) {
		struct koda_diagnosis stuck = { .count = 0 };
		struct koda_diagnosis works = { .count = 0 };

		s.container = (enum koda_container)container;
		koda_surroundings_judge(&s, false, &filtered, &stuck);
		koda_surroundings_judge(&s, true, &free_machine, &works);
		assert_int_equal(stuck.restriction_count, 5);
		assert_int_equal(works.restriction_count, 5);
		for (size_t i = 0; i < stuck.restriction_count; i++) {
			const struct koda_restriction *r = &stuck.restrictions[i];
			bool privileges = strcmp(r->name, "no_new_privileges") == 0;

			KODA_EXPECT(r->name, r->matters == !privileges);
			KODA_EXPECT(r->name, r->effect[0] != '\0');
			KODA_EXPECT(r->name, (r->remedy[0] != '\0') == r->matters);
			KODA_EXPECT(r->name, (r->cost[0] != '\0') == r->matters);
			r = &works.restrictions[i];
			KODA_EXPECT(r->name,
				    r->matters == (strcmp(r->name, "read_only_root") == 0));
		}
	}
}

/* A filter that leaves user namespaces alone is not what is in the way. */
static void a_filter_that_allows_namespaces_does_not_matter(void **state)
{
	const struct koda_surroundings s = {
		.container = KODA_CONTAINER_PODMAN, .name = "Podman", .ci = "", .seccomp = true
	};
	struct koda_diagnosis d = { .count = 0 };

	(void)state;
	koda_surroundings_judge(&s, false, &free_machine, &d);
	assert_int_equal(d.restriction_count, 1);
	assert_false(d.restrictions[0].matters);
	assert_string_equal(d.container, "Podman");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_are_known_by_their_marks),
		cmocka_unit_test(restrictions_are_read),
		cmocka_unit_test(each_engine_has_a_setting_for_each_restriction),
		cmocka_unit_test(a_filter_that_allows_namespaces_does_not_matter),
	};

	return KODA_TEST_RUN(tests);
}
