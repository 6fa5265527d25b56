/* SPDX-License-Identifier: MIT */
/* Project roots that would hand over the machine, each with a neighbour that is fine. */
#include "koda_test.h"

#include "policy/root.h"

static int check(const char *root, struct koda_error *err)
{
	const struct koda_place place = {
		.size = sizeof(place),
		.root = root,
		.home = "/home/u",
		.config_home = "/cfg",
		.state_home = "/state",
		.runtime_dir = "/run/user/1000",
	};

	*err = (struct koda_error){ 0 };
	return koda_root_check(&place, err);
}

/* T-09 */
static void dangerous_roots_are_refused_and_their_twins_are_not(void **state)
{
	static const struct {
		const char *refused;
		const char *twin;
	} rows[] = {
		{ "/", "/project" },
		{ "/home", "/home/v" },
		{ "/home/u", "/home/u/project" },
		{ "/root", "/root/project" },
		{ "/Users", "/Users/u/project" },
		{ "/tmp", "/tmp/project" },
		{ "/var/tmp", "/var/tmp/project" },
		{ "/private/tmp", "/private/tmp/project" },
		{ "/private", "/privateer" },
		{ "/var", "/var/www/site" },
		{ "/run", "/runner" },
		{ "/opt", "/opt/project" },
		{ "/srv", "/srv/project" },
		{ "/mnt", "/mnt/disk/project" },
		{ "/media", "/media/disk/project" },
		{ "/Volumes", "/Volumes/disk/project" },
		{ "/usr", "/usr/src/project" },
		{ "/usr/src", "/usr/src/linux" },
		{ "/usr/local", "/usr/local/src/project" },
		{ "/usr/local/src", "/usr/local/srcs" },
		{ "/etc", "/etcetera" },
		{ "/etc/nginx", "/srv/etc/nginx" },
		{ "/bin", "/binary" },
		{ "/sbin", "/srv/sbin" },
		{ "/lib", "/library" },
		{ "/lib64", "/lib65" },
		{ "/boot", "/boots" },
		{ "/dev", "/devel" },
		{ "/dev/shm", "/devel/shm" },
		{ "/dev/shm/project", "/devel/project" },
		{ "/proc", "/procs" },
		{ "/proc/self/cwd", "/srv/proc" },
		{ "/sys", "/system" },
		{ "/sys/fs/cgroup", "/srv/sys" },
		{ "/usr/bin", "/home/u/usr/bin" },
		{ "/usr/lib/python3", "/home/u/lib/python3" },
		{ "/usr/share/doc", "/home/u/share/doc" },
		{ "/usr/libexec", "/home/u/libexec" },
		{ "/usr/local/bin", "/home/u/bin" },
		{ "/System/Library", "/Systems" },
		{ "/Library", "/Libraries" },
		/* koda's own state, and what contains it */
		{ "/home/u/.config", "/home/u/.configs" },
		{ "/home/u/.config/koda", "/home/u/.config/other" },
		{ "/home/u/.config/koda/db", "/home/u/.config/koda/dbx" },
		{ "/home/u/.local/state", "/home/u/.local/src" },
		{ "/home/u/.local/state/koda", "/home/u/.local/state/kodak" },
		{ "/home/u/.local", "/home/u/local" },
		{ "/cfg", "/cfgs" },
		{ "/cfg/koda", "/cfg/other" },
		{ "/state", "/states" },
		{ "/state/koda", "/state/other" },
		{ "/run/user/1000", "/run/user/1000/other" },
		{ "/run/user", "/run/users" },
		{ "/run/user/1000/koda", "/run/user/1000/kodak" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err;

		if (check(row->refused, &err) != KODA_E_DENIED)
			fail_msg("%s is accepted as a root", row->refused);
		assert_int_equal(err.code, KODA_E_DENIED);
		assert_string_equal(err.field, row->refused);
		assert_true(err.message[0] != '\0');
		if (check(row->twin, &err) != KODA_OK)
			fail_msg("%s is refused as a root: %s", row->twin, err.message);
	}
}

static void a_root_must_be_absolute(void **state)
{
	static const char *const roots[] = { "", ".", "p", "./p", "~" };

	(void)state;
	KODA_EACH(root, roots) {
		struct koda_error err;

		KODA_ASSERT_FAILS(KODA_E_POLICY, check(*root, &err), err);
	}
}

/* A home that is somewhere else protects that place, and nothing else. */
static void home_is_where_the_place_says(void **state)
{
	static const struct {
		const char *home;
		const char *root;
		int code;
	} rows[] = {
		{ "/data/people/u", "/data/people/u", KODA_E_DENIED },
		{ "/data/people/u", "/data/people", KODA_E_DENIED },
		{ "/data/people/u", "/data", KODA_E_DENIED },
		{ "/data/people/u", "/data/people/u/p", KODA_OK },
		{ "/data/people/u", "/data/people/uu", KODA_OK },
		{ "/data/people/u/", "/data/people/u", KODA_E_DENIED },
		{ "//data/./people//u", "/data/people/u", KODA_E_DENIED },
		{ "/", "/p", KODA_OK },
		{ NULL, "/data/people/u", KODA_OK },
		/* Malformed: refusing is the safe answer. */
		{ "relative", "/p", KODA_E_DENIED },
		{ "/a/../b", "/p", KODA_E_DENIED },
	};

	(void)state;
	KODA_EACH(row, rows) {
		const struct koda_place place = { .size = sizeof(place),
						  .root = row->root,
						  .home = row->home };
		struct koda_error err = { 0 };

		if (koda_root_check(&place, &err) != row->code || err.code != row->code)
			fail_msg("%s with home %s: %d, expected %d", row->root,
				 row->home ? row->home : "unknown", err.code, row->code);
		assert_int_equal(koda_root_check(&place, NULL), row->code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dangerous_roots_are_refused_and_their_twins_are_not),
		cmocka_unit_test(a_root_must_be_absolute),
		cmocka_unit_test(home_is_where_the_place_says),
	};

	return KODA_TEST_RUN(tests);
}
