/* SPDX-License-Identifier: MIT */
/* T-88 the table of mounts, and the names that a place has by it. */
#include "koda_test.h"

#include "run/project/mount_alias.h"

static int parse(struct koda_mount_table *mounts, const char *text, struct koda_error *err)
{
	assert_int_equal(koda_buf_add(&mounts->text, text, strlen(text)), 0);
	return koda_mount_table_parse(mounts, err);
}

/* A disk with its root, a home that is a directory of it, and a view of the whole; a Btrfs with two
 * subvolumes and its top; a private file system that a tree for another system has, too. */
static const char table[] = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
			    "21 20 8:1 /data/home /home rw shared:1 - ext4 /dev/sda1 rw\n"
			    "22 20 8:1 / /mnt/whole ro - ext4 /dev/sda1 rw\n"
			    "30 20 0:40 /@srv /srv rw - btrfs /dev/sdb rw\n"
			    "31 20 0:40 / /mnt/top rw - btrfs /dev/sdb rw\n"
			    "32 30 0:40 /@sub /srv/sub rw - btrfs /dev/sdb rw\n"
			    "40 20 0:25 / /run rw - tmpfs tmpfs rw\n"
			    "41 30 0:25 / /srv/with\\040space/run rw - tmpfs tmpfs rw\n"
			    "42 40 0:4 net:[4026531840] /run/netns/a rw - nsfs nsfs rw\n"
			    "43 40 0:4 net:[4026531841] /run/netns/b rw - nsfs nsfs rw\n"
			    "44 20 8:1 /etc/key /etc/other\\134key rw - ext4 /dev/sda1 rw\n"
			    "50 20 0:50 / /covered rw - tmpfs none rw\n"
			    "51 50 0:51 / /covered rw - tmpfs none rw\n"
			    "52 20 0:50 / /seen rw - tmpfs none rw\n"
			    "60 20 8:1 /gone//deleted /deleted rw - ext4 /dev/sda1 rw\n"
			    /* Beneath what was mounted over /late afterwards. */
			    "70 20 8:1 /opt /late/opt rw - ext4 /dev/sda1 rw\n"
			    "71 20 0:71 / /late rw - tmpfs none rw\n";

static const struct {
	const char *name;
	const char *path;
	const char *want[4];
} rows[] = {
	{ "a directory of the disk", "/etc/secret", { "/mnt/whole/etc/secret" } },
	{ "in what is mounted once more", "/home/u", { "/data/home/u", "/mnt/whole/data/home/u" } },
	{ "the mount itself", "/home", { "/data/home", "/mnt/whole/data/home" } },
	{ "from the other side", "/data/home/u", { "/home/u", "/mnt/whole/data/home/u" } },
	{ "from the view", "/mnt/whole/data/home/u", { "/data/home/u", "/home/u" } },
	{ "the view", "/mnt/whole", { "/" } },
	{ "the root", "/", { "/mnt/whole" } },
	{ "a part is no name of the whole", "/data", { "/mnt/whole/data" } },
	{ "only by components", "/data/homes", { "/mnt/whole/data/homes" } },
	{ "a subvolume", "/srv/x", { "/mnt/top/@srv/x" } },
	{ "a subvolume in a subvolume", "/srv/sub/x", { "/mnt/top/@sub/x" } },
	{ "the top of a disk", "/mnt/top/@srv/x", { "/srv/x" } },
	{ "what a mount covers has no name", "/mnt/top/@srv/sub/x", { NULL } },
	{ "a name with a space", "/run/s", { "/srv/with space/run/s" } },
	{ "a file", "/etc/key", { "/etc/other\\key", "/mnt/whole/etc/key" } },
	{ "not what is covered", "/seen/x", { NULL } },
	{ "nor what covers it", "/covered/x", { NULL } },
	{ "not below what came later", "/opt/x", { "/mnt/whole/opt/x" } },
	{ "that is elsewhere", "/late/opt/x", { NULL } },
	{ "missing names, too", "/etc/no/such", { "/mnt/whole/etc/no/such" } },
};

static void names_are_found(void **state)
{
	koda_auto_mounts struct koda_mount_table mounts = KODA_MOUNT_TABLE_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(parse(&mounts, table, &err), err);
	assert_true(mounts.is_shared);
	KODA_EACH(row, rows) {
		koda_auto_strv struct koda_strv names = KODA_STRV_INIT;
		size_t count = 0;

		KODA_ASSERT_OK(koda_mount_table_find(&mounts, row->path, &names, &err), err);
		for (; row->want[count]; count++)
			KODA_EXPECT(row->name, koda_strv_has(&names, row->want[count]));
		KODA_EXPECT(row->name, names.len == count);
	}
}

static void one_name_is_the_rule(void **state)
{
	static const char plain[] = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				    "21 20 0:4 net:[1] /run/a rw - nsfs nsfs rw\n"
				    "22 20 0:4 net:[2] /run/b rw - nsfs nsfs rw\n"
				    "23 20 0:21 / /proc rw - proc proc rw\n";
	koda_auto_mounts struct koda_mount_table mounts = KODA_MOUNT_TABLE_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(parse(&mounts, plain, &err), err);
	assert_false(mounts.is_shared);
}

/* In a chroot the file system around it is not told. */
static void a_table_without_a_root(void **state)
{
	static const char some[] = "30 20 0:40 / /a rw - tmpfs none rw\n"
				   "31 20 0:40 / /b rw - tmpfs none rw\n";
	koda_auto_mounts struct koda_mount_table mounts = KODA_MOUNT_TABLE_INIT;
	koda_auto_strv struct koda_strv names = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(parse(&mounts, some, &err), err);
	KODA_ASSERT_OK(koda_mount_table_find(&mounts, "/etc", &names, &err), err);
	assert_int_equal(names.len, 0);
	KODA_ASSERT_OK(koda_mount_table_find(&mounts, "/a/x", &names, &err), err);
	assert_int_equal(names.len, 1);
	assert_string_equal(names.items[0], "/b/x");
}

static void what_is_no_table_is_refused(void **state)
{
	static const char *const texts[] = { "", "20 1 8:1 / / rw", "20 1 8:1 /\n", "nonsense\n",
					     "20 1 8:1 / / rw - x y z\n21" };

	(void)state;
	KODA_EACH(text, texts) {
		koda_auto_mounts struct koda_mount_table mounts = KODA_MOUNT_TABLE_INIT;
		struct koda_error err = { 0 };

		KODA_EXPECT(*text, parse(&mounts, *text, &err) == KODA_E_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(one_name_is_the_rule),
		cmocka_unit_test(a_table_without_a_root),
		cmocka_unit_test(what_is_no_table_is_refused),
	};

	return KODA_TEST_RUN(tests);
}
