/* SPDX-License-Identifier: MIT */
/* T-17. /proc/net/unix has the path that each socket was bound to. It proves nothing: it may be
 * relative to an unknown directory, and the socket may have been moved or linked since. With the
 * inode, which NETLINK_SOCK_DIAG has too, paths are checked, and moved sockets searched for. */
#include "run/project/host_sockets.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/set.h"
#include "run/project/inode_search.h"
#include "run/project/remedy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAMES_BYTES_MAX ((size_t)64 << 20)

/* A bound socket: inode and device as sock_diag reports them (32 bits each), then the path. */
struct bound {
	uint32_t ino; /* 0: not known */
	uint32_t dev;
	char name[];
};

struct finder {
	const char *root;
	const struct koda_host_sockets_bounds *bounds;
	struct stat root_st;
	bool root_plain;
	bool blind;             /* the kernel reports no inodes */
	bool unsure;            /* the search is incomplete */
	struct koda_set bound;  /* entries are struct bound with the name's NUL */
	struct koda_set wanted; /* inodes of bound that are searched for (uint32_t) */
	struct koda_set paths;  /* paths that were found */
	struct koda_strv *closed;
	struct koda_error *err;
};

static int note_bound(struct finder *f, uint32_t ino, uint32_t dev, const char *name, size_t len)
{
	koda_auto_buf struct koda_buf entry = KODA_BUF_INIT(KODA_PATH_MAX + 64);
	const struct bound head = { .ino = ino, .dev = dev };
	int r = koda_buf_add(&entry, &head, sizeof(head));

	if (r == KODA_OK)
		r = koda_buf_add(&entry, name, strnlen(name, len));
	if (r == KODA_OK)
		r = koda_set_add(&f->bound, koda_buf_span(&entry), NULL);
	return r < 0 ? koda_fail_room(f->err, r, "the list of sockets") : KODA_OK;
}

/* Returns an entry, copied because the set does not align it. */
static const char *get_bound(const struct finder *f, size_t i, struct bound *ret_head)
{
	struct koda_span entry = koda_set_get(&f->bound, i);

	memcpy(ret_head, entry.ptr, sizeof(*ret_head));
	return entry.ptr + sizeof(*ret_head);
}

/* --- the kernel's tables --- */

/* Takes one message: a socket and its attributes. */
static int take_answer(struct finder *f, const char *message, size_t len)
{
	const char *at = message + NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	const char *end = message + len;
	const char *name = NULL;
	size_t name_len = 0;
	struct unix_diag_vfs vfs = { 0 };

	while (end - at >= (ptrdiff_t)sizeof(struct nlattr)) {
		struct nlattr attr;

		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > end - at)
			break;
		if (attr.nla_type == UNIX_DIAG_NAME) {
			name = at + sizeof(attr);
			name_len = attr.nla_len - sizeof(attr);
		} else if (attr.nla_type == UNIX_DIAG_VFS &&
			   attr.nla_len >= sizeof(attr) + sizeof(vfs)) {
			memcpy(&vfs, at + sizeof(attr), sizeof(vfs));
		}
		at += NLA_ALIGN(attr.nla_len) < end - at ? NLA_ALIGN(attr.nla_len) : end - at;
	}
	/* An unnamed or abstract socket has no path. */
	if (name_len == 0 || name[0] == '\0')
		return KODA_OK;
	return note_bound(f, vfs.udiag_vfs_ino, vfs.udiag_vfs_dev, name, name_len);
}

/* Takes the messages of one recv(); 1 at the end of the dump, -1 if the kernel has none. */
static int take_answers(struct finder *f, const char *bytes, size_t len)
{
	size_t at = 0;
	int r = KODA_OK;

	while (r == KODA_OK && at + sizeof(struct nlmsghdr) <= len) {
		struct nlmsghdr m;

		memcpy(&m, bytes + at, sizeof(m));
		if (m.nlmsg_len < sizeof(m) || m.nlmsg_len > len - at)
			break;
		if (m.nlmsg_type == NLMSG_DONE)
			return 1;
		if (m.nlmsg_type == NLMSG_ERROR)
			return koda_fail(f->err, KODA_E_UNSUPPORTED, 0, "no table of sockets");
		if (m.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    m.nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
			r = take_answer(f, bytes + at, m.nlmsg_len);
		at += NLMSG_ALIGN(m.nlmsg_len);
	}
	return r;
}

/* Dumps all sockets with sock_diag. Fails: UNSUPPORTED if the kernel has no sock_diag. */
static int ask_kernel(struct finder *f)
{
	const struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} request = { .head = { .nlmsg_len = sizeof(request),
				.nlmsg_type = SOCK_DIAG_BY_FAMILY,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .ask = { .sdiag_family = AF_UNIX,
			       .udiag_states = UINT32_MAX,
			       .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS } };
	koda_auto_fd int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	char bytes[8192];
	int r = KODA_OK;

	if (fd < 0 || send(fd, &request, sizeof(request), 0) != (ssize_t)sizeof(request))
		return koda_fail(f->err, KODA_E_UNSUPPORTED, errno, "no table of sockets");
	while (r == KODA_OK) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_TRUNC);

		/* The kernel queues the next part before recv() returns, so this does not block. */
		if (n <= 0 || (size_t)n > sizeof(bytes))
			return koda_fail(f->err, KODA_E_UNSUPPORTED, errno, "no table of sockets");
		r = take_answers(f, bytes, (size_t)n);
	}
	return r < 0 ? r : KODA_OK;
}

/* Returns the path in a line "Num: RefCount Protocol Flags Type St Inode Path"; NULL if it has none
 * or an abstract one ("@"). */
static const char *name_in(const char *line)
{
	const int columns = 7;
	const char *at = line;

	for (int i = 0; i < columns; i++) {
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	return at[0] == ' ' && at[1] != '@' && at[1] != '\0' ? at + 1 : NULL;
}

/* Reads /proc/net/unix: paths only, as text, and a path may contain a newline. */
static int read_table(struct finder *f)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(NAMES_BYTES_MAX);
	koda_auto_fd int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
	int r = KODA_OK;

	if (fd >= 0 && (r = koda_fd_read_all(fd, &text, f->err)) < 0)
		return r;
	/* A socket that is not known cannot be hidden. There is always a header line. */
	if (!text.ptr) {
		r = koda_fail_at(f->err, KODA_E_SYS, fd < 0 ? errno : 0, "/proc/net/unix",
				 "the host's sockets cannot be hidden");
		koda_remedy_add_for(f->err, KODA_FAILURE_SOCKET_TABLE);
	}
	/* A relative path does not even tell where the socket was bound. */
	f->blind = true;
	for (char *rest = text.ptr, *line; (line = strsep(&rest, "\n")) && r == KODA_OK;) {
		const char *name = name_in(line);

		if (name)
			r = note_bound(f, 0, 0, name, strlen(name));
	}
	return r;
}

/* --- where they are --- */

static int add_path(struct finder *f, const char *path)
{
	int r = koda_set_add(&f->paths, koda_span_of(path), NULL);

	return r < 0 ? koda_fail_room(f->err, r, "the list of sockets") : KODA_OK;
}

static int add_in(struct finder *f, const char *dir, const char *name)
{
	koda_auto_free char *path = NULL;
	koda_auto_free char *resolved = NULL;
	struct koda_error why = { 0 };
	int r = koda_path_join(dir, name, &path, &why);

	if (r == KODA_OK)
		r = koda_path_resolve(path, &resolved, &why);
	if (r == KODA_OK)
		return add_path(f, resolved);
	if (r == KODA_E_SYS && (why.sys_errno == EACCES || why.sys_errno == ELOOP))
		return KODA_OK; /* without a target it cannot be connected to either */
	if (f->err)
		*f->err = why;
	return r;
}

static bool is_socket(const struct stat *st, uint32_t ino)
{
	return S_ISSOCK(st->st_mode) && (ino == 0 || (uint32_t)st->st_ino == ino);
}

/* Tells whether the socket may be on the project's file system; true if unknown. */
static bool may_be_in_project(const struct finder *f, const struct bound *head)
{
	uint32_t dev = (uint32_t)(major(f->root_st.st_dev) << 20 | minor(f->root_st.st_dev));

	return f->root_st.st_nlink > 0 && (!f->root_plain || head->dev == dev);
}

static int want(struct finder *f, const struct bound *head)
{
	struct koda_span ino = { (const char *)&head->ino, sizeof(head->ino) };

	if (head->ino == 0 || !may_be_in_project(f, head))
		return KODA_OK;
	return koda_set_add(&f->wanted, ino, NULL) < 0 ? koda_fail_nomem(f->err) : KODA_OK;
}

static int see_socket(void *ctx, const char *dir, const char *name, dev_t dev, uint64_t ino,
		      struct koda_error *err)
{
	struct finder *f = ctx;
	uint32_t low = (uint32_t)ino;

	(void)dev;
	(void)err;
	if (!f->blind &&
	    koda_set_find(&f->wanted, (struct koda_span){ (const char *)&low, sizeof(low) }) ==
		    KODA_SET_NONE)
		return KODA_OK;
	return add_in(f, dir, name);
}

static int search_in(struct finder *f, struct koda_inode_search *search, const char *dir)
{
	int r = koda_inode_search_run(search, dir, f->err);

	if (search->left == 0)
		f->unsure = true;
	return r;
}

/* Searches the directory of its path: servers often bind() and then rename() in one directory. */
static int search_dir_of(struct finder *f, const char *name)
{
	struct koda_inode_search search = {
		.type = DT_SOCK, .left = f->bounds->dir, .see = see_socket, .ctx = f
	};
	koda_auto_free char *dir =
		strndup(name, strrchr(name, '/') > name ? (size_t)(strrchr(name, '/') - name) : 1);

	return dir ? search_in(f, &search, dir) : koda_fail_nomem(f->err);
}

/* Checks the path of one socket; *ret_lost if the socket is not there. */
static int check_name(struct finder *f, size_t i, bool *ret_lost)
{
	struct bound head;
	const char *name = get_bound(f, i, &head);
	struct stat st = { 0 };
	int r = name[0] == '/' ? add_in(f, "/", name) : KODA_OK;
	bool there = name[0] == '/' && stat(name, &st) == 0 && is_socket(&st, head.ino);

	*ret_lost = !there && head.ino != 0;
	if (r == KODA_OK && (*ret_lost || st.st_nlink > 1))
		r = want(f, &head);
	if (r == KODA_OK && *ret_lost && name[0] == '/' && may_be_in_project(f, &head))
		r = search_dir_of(f, name);
	return r;
}

/* Resolves the relative paths from one directory. */
static int try_from(struct finder *f, const char *dir)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	koda_auto_free char *real = NULL;
	int r = KODA_OK;

	for (size_t i = 0; fd >= 0 && i < f->bound.count && r == KODA_OK; i++) {
		struct bound head;
		const char *name = get_bound(f, i, &head);
		struct stat st;

		if (name[0] == '/' || fstatat(fd, name, &st, 0) < 0 || !is_socket(&st, head.ino))
			continue;
		/* dir may be /proc/PID/cwd; readlink() gives its path. */
		r = real ? KODA_OK : koda_path_resolve(dir, &real, f->err);
		if (r < 0)
			return r == KODA_E_NOMEM ? r : KODA_OK;
		r = add_in(f, real, name);
	}
	return r;
}

/* Tries the working directories of all processes that can be examined, because one of them bound
 * the socket. */
static int try_working_dirs(struct finder *f)
{
	const struct dirent *entry;
	char cwd[sizeof("/proc//cwd") + KODA_NAME_MAX];
	int r = try_from(f, f->root);
	DIR *proc = r == KODA_OK ? opendir("/proc") : NULL;

	if (!proc && errno == ENOMEM && r == KODA_OK)
		r = koda_fail_nomem(f->err);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own */
	while (proc && r == KODA_OK && (entry = readdir(proc))) {
		if (!koda_ascii_is_digit(entry->d_name[0]))
			continue;
		(void)snprintf(cwd, sizeof(cwd), "/proc/%s/cwd", entry->d_name);
		r = try_from(f, cwd);
	}
	if (proc)
		(void)closedir(proc);
	return r;
}

static int find_all(struct finder *f)
{
	struct koda_inode_search search = {
		.type = DT_SOCK, .deep = true, .left = f->bounds->tree, .see = see_socket, .ctx = f
	};
	bool relative = false;
	int r = KODA_OK;

	for (size_t i = 0; i < f->bound.count && r == KODA_OK; i++) {
		struct bound head;
		bool lost;

		relative = relative || get_bound(f, i, &head)[0] != '/';
		r = check_name(f, i, &lost);
	}
	if (r == KODA_OK && relative)
		r = try_working_dirs(f);
	search.closed = f->closed;
	if (r == KODA_OK && (f->wanted.count > 0 || f->blind))
		r = search_in(f, &search, f->root);
	return r;
}

int koda_host_sockets_find(const char *root, const struct koda_host_sockets_bounds *bounds,
			   struct koda_strv *paths, struct koda_strv *closed, bool *ret_unsure,
			   struct koda_error *err)
{
	struct finder f = { .root = root,
			    .bounds = bounds,
			    .closed = closed,
			    .bound = KODA_SET_INIT(NAMES_BYTES_MAX),
			    .wanted = KODA_SET_INIT(NAMES_BYTES_MAX),
			    .paths = KODA_SET_INIT(NAMES_BYTES_MAX),
			    .err = err };
	koda_auto_fd int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd >= 0 && fstat(fd, &f.root_st) == 0)
		f.root_plain = koda_inode_search_is_plain(fd);
	r = ask_kernel(&f);
	if (r == KODA_E_UNSUPPORTED)
		r = read_table(&f);
	if (r == KODA_OK)
		r = find_all(&f);
	for (size_t i = 0; i < f.paths.count && r == KODA_OK; i++)
		r = koda_strv_add_span(paths, koda_set_get(&f.paths, i), err);
	if (r == KODA_OK)
		*ret_unsure = f.unsure;
	if (r == KODA_E_LIMIT)
		koda_remedy_add_for(err, KODA_FAILURE_SOCKET_LIST);
	koda_set_clear(&f.bound);
	koda_set_clear(&f.wanted);
	koda_set_clear(&f.paths);
	return r;
}
