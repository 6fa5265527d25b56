/* SPDX-License-Identifier: MIT */
#include "run/backend/surroundings.h"

#include "base/fd.h"
#include "wire/mount_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Marks of a container, the most particular first: dev containers and pods run in one of the
 * engines below them. A mark is a variable, a variable with a value, or a file. */
static const struct mark {
	enum koda_container container;
	const char *name;
	const char *variable; /* NAME= or NAME=VALUE; NULL: path */
	const char *path;
} container_marks[] = {
	{ KODA_CONTAINER_DEV, "GitHub Codespaces", "CODESPACES=true", NULL },
	{ KODA_CONTAINER_DEV, "dev container", "REMOTE_CONTAINERS=", NULL },
	{ KODA_CONTAINER_DEV, "dev container", "DEVCONTAINER=", NULL },
	{ KODA_CONTAINER_KUBERNETES, "Kubernetes", "KUBERNETES_SERVICE_HOST=", NULL },
	{ KODA_CONTAINER_KUBERNETES, "Kubernetes", NULL, "/run/secrets/kubernetes.io" },
	{ KODA_CONTAINER_KUBERNETES, "Kubernetes", NULL, "/var/run/secrets/kubernetes.io" },
	{ KODA_CONTAINER_PODMAN, "Podman", "container=podman", NULL },
	{ KODA_CONTAINER_PODMAN, "Podman", NULL, "/run/.containerenv" },
	{ KODA_CONTAINER_DOCKER, "Docker", NULL, "/.dockerenv" },
	{ KODA_CONTAINER_OTHER, "LXC", "container=lxc", NULL },
	{ KODA_CONTAINER_OTHER, "systemd-nspawn", "container=systemd-nspawn", NULL },
	{ KODA_CONTAINER_OTHER, "container", "container=", NULL },
	{ KODA_CONTAINER_OTHER, "container", NULL, "/run/host/container-manager" },
};

static const struct mark ci_marks[] = {
	{ KODA_CONTAINER_NONE, "GitHub Actions", "GITHUB_ACTIONS=true", NULL },
	{ KODA_CONTAINER_NONE, "GitLab CI", "GITLAB_CI=", NULL },
	{ KODA_CONTAINER_NONE, "CircleCI", "CIRCLECI=", NULL },
	{ KODA_CONTAINER_NONE, "Jenkins", "JENKINS_URL=", NULL },
	{ KODA_CONTAINER_NONE, "Buildkite", "BUILDKITE=", NULL },
	{ KODA_CONTAINER_NONE, "continuous integration", "CI=true", NULL },
};

static bool has_variable(const char *const *env, const char *mark)
{
	size_t len = strlen(mark);
	bool name_only = mark[len - 1] == '=';

	for (; env && *env; env++)
		if (strncmp(*env, mark, len) == 0 && (name_only ? (*env)[len] : !(*env)[len]))
			return true;
	return false;
}

/* Returns path below root in buf, or NULL if that is too long. */
static const char *below(const char *root, const char *path, char buf[static 4096])
{
	int n = snprintf(buf, 4096, "%s%s", root, path);

	return n > 0 && n < 4096 ? buf : NULL;
}

static bool is_file(const char *path)
{
	koda_auto_fd int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;

	return fd >= 0;
}

static const struct mark *find_mark(const struct mark *marks, size_t count, const char *root,
				    const char *const *env)
{
	char buf[4096];

	for (size_t i = 0; i < count; i++) {
		if (marks[i].variable ? has_variable(env, marks[i].variable)
				      : is_file(below(root, marks[i].path, buf)))
			return &marks[i];
	}
	return NULL;
}

/* Returns whether a file system is mounted below /proc. That of binfmt_misc is on most machines,
 * and hides nothing. */
static bool has_mounts_below_proc(const char *root)
{
	static const char below_proc[] = "/proc/";
	char buf[4096];
	const char *path = below(root, KODA_MOUNT_TABLE_PATH, buf);
	FILE *file = path ? fopen(path, "re") : NULL;
	struct koda_mount_line mount;
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (file && !found && getline(&line, &size, file) > 0)
		found = koda_mount_parse(line, &mount) &&
			strncmp(mount.point, below_proc, sizeof(below_proc) - 1) == 0 &&
			strcmp(mount.point, "/proc/sys/fs/binfmt_misc") != 0;
	free(line);
	if (file)
		(void)fclose(file);
	return found;
}

/* Reads the name of the AppArmor profile, without its mode. */
static void read_profile(const char *root, char *profile, size_t size)
{
	static const char *const places[] = { "/proc/self/attr/apparmor/current",
					      "/proc/self/attr/current" };
	char buf[4096];

	profile[0] = '\0';
	for (size_t i = 0; i < KODA_ARRAY_LEN(places) && !profile[0]; i++) {
		const char *path = below(root, places[i], buf);
		koda_auto_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
		ssize_t n = fd < 0 ? -1 : read(fd, profile, size - 1);

		profile[n > 0 ? (size_t)n : 0] = '\0';
		profile[strcspn(profile, " \n")] = '\0';
	}
	if (strcmp(profile, "unconfined") == 0)
		profile[0] = '\0';
}

void koda_surroundings_look(const char *root, const char *const *host_env,
			    struct koda_surroundings *ret_surroundings)
{
	const struct mark *container =
		find_mark(container_marks, KODA_ARRAY_LEN(container_marks), root, host_env);
	const struct mark *ci = find_mark(ci_marks, KODA_ARRAY_LEN(ci_marks), root, host_env);
	struct koda_surroundings s = {
		.container = container ? container->container : KODA_CONTAINER_NONE,
		.name = container ? container->name : "",
		.ci = ci ? ci->name : "",
		.seccomp = prctl(PR_GET_SECCOMP) > 0,
		.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
		.masked_proc = has_mounts_below_proc(root),
	};
	struct statvfs fs;
	char buf[4096];
	const char *tmp = below(root, "/tmp", buf);

	s.read_only_root = statvfs(*root ? root : "/", &fs) == 0 && (fs.f_flag & ST_RDONLY);
	s.no_temporary = tmp && faccessat(AT_FDCWD, tmp, W_OK | X_OK, AT_EACCESS) < 0;
	read_profile(root, s.apparmor, sizeof(s.apparmor));
	*ret_surroundings = s;
}

enum restriction {
	SECCOMP,
	APPARMOR,
	MASKED_PROC,
	READ_ONLY_ROOT,
	NO_NEW_PRIVS,
	RESTRICTION_COUNT
};

static const struct {
	const char *name;
	const char *effect;                       /* where it matters */
	const char *harmless;                     /* where it does not */
	const char *remedy[KODA_CONTAINER_COUNT]; /* in the order of enum koda_container */
	const char *cost;
} restrictions[RESTRICTION_COUNT] = {
	[SECCOMP] = {
		"seccomp",
		"the container's system-call filter forbids user namespaces, which native and bwrap need",
		"the container's system-call filter allows what the sandbox needs",
		{ "run this process without that filter, or with one that allows clone3, unshare and mount",
		  "docker run --security-opt seccomp=unconfined",
		  "podman run --security-opt seccomp=unconfined",
		  "securityContext: {seccompProfile: {type: Unconfined}}",
		  "devcontainer.json: \"runArgs\": [\"--security-opt\", \"seccomp=unconfined\"]",
		  "run the container without its system-call filter" },
		"programs of the container that run outside koda's sandbox can make every system call; those "
		"inside have koda's own filter. Worth it where the container runs nothing but the agent",
	},
	[APPARMOR] = {
		"apparmor",
		"the container's AppArmor profile forbids mounts, which native and bwrap make",
		"the AppArmor profile allows what the sandbox needs",
		{ "run this process without that profile",
		  "docker run --security-opt apparmor=unconfined",
		  "podman run --security-opt apparmor=unconfined",
		  "securityContext: {appArmorProfile: {type: Unconfined}}",
		  "devcontainer.json: \"runArgs\": [\"--security-opt\", \"apparmor=unconfined\"]",
		  "run the container without its AppArmor profile" },
		"root of the container can mount file systems and write more of /proc and /sys. Worth it where "
		"the agent is not root of the container",
	},
	[MASKED_PROC] = {
		"masked_proc",
		"parts of /proc are covered, and then the kernel allows no new /proc in a user namespace, which "
		"native and bwrap mount",
		"parts of /proc are covered; the sandbox could mount its own /proc all the same",
		{ "remove the mounts below /proc",
		  "docker run --security-opt systempaths=unconfined",
		  "podman run --security-opt unmask=ALL",
		  "hostUsers: false, and securityContext: {procMount: Unmasked}",
		  "devcontainer.json: \"runArgs\": [\"--security-opt\", \"systempaths=unconfined\"]",
		  "run the container without masked paths" },
		"root of the container can change settings of the kernel below /proc/sys. Worth it where root of "
		"the container is an ordinary user of the host, or where the agent is not root",
	},
	[READ_ONLY_ROOT] = {
		"read_only_root",
		"/tmp cannot be written, and the sandbox keeps its own files there",
		"the root file system is read-only, and /tmp can be written: nothing else is needed",
		{ "mount a file system on /tmp that this user can write",
		  "docker run --tmpfs /tmp:mode=1777",
		  "podman run --tmpfs /tmp:mode=1777",
		  "an emptyDir volume, mounted at /tmp",
		  "devcontainer.json: \"runArgs\": [\"--tmpfs\", \"/tmp:mode=1777\"]",
		  "mount a tmpfs on /tmp" },
		"the memory that files in /tmp take",
	},
	[NO_NEW_PRIVS] = {
		"no_new_privileges",
		"",
		"set-user-id programs gain nothing; the sandbox needs none, and forbids them itself",
		{ "", "", "", "", "", "" },
		"",
	},
};

static void tell(struct koda_diagnosis *diagnosis, enum restriction which, bool matters,
		 enum koda_container container)
{
	diagnosis->restrictions[diagnosis->restriction_count++] = (struct koda_restriction){
		.name = restrictions[which].name,
		.matters = matters,
		.effect = matters ? restrictions[which].effect : restrictions[which].harmless,
		.remedy = matters ? restrictions[which].remedy[container] : "",
		.cost = matters ? restrictions[which].cost : "",
	};
}

void koda_surroundings_judge(const struct koda_surroundings *surroundings, bool native_works,
			     const struct koda_machine *machine, struct koda_diagnosis *diagnosis)
{
	bool filtered =
		!native_works && surroundings->seccomp &&
		(machine->userns == KODA_USERNS_FILTERED || machine->calls == KODA_CALLS_FILTERED);

	diagnosis->container = surroundings->name;
	diagnosis->ci = surroundings->ci;
	/* AppArmor and the masked paths count behind the filter, too: once that is lifted, they are
	 * next. */
	if (surroundings->seccomp)
		tell(diagnosis, SECCOMP, filtered, surroundings->container);
	if (surroundings->apparmor[0])
		tell(diagnosis, APPARMOR, !native_works, surroundings->container);
	if (surroundings->masked_proc)
		tell(diagnosis, MASKED_PROC, !native_works, surroundings->container);
	if (surroundings->read_only_root || surroundings->no_temporary)
		tell(diagnosis, READ_ONLY_ROOT, surroundings->no_temporary,
		     surroundings->container);
	if (surroundings->no_new_privs)
		tell(diagnosis, NO_NEW_PRIVS, false, surroundings->container);
}
