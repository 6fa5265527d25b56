/* SPDX-License-Identifier: MIT */
/*
 * T-119. Everything is denied by default, so each allowance here is for tools that developers run.
 * What is missing on purpose: LaunchServices, Apple Events and launchd, which start programs
 * outside the sandbox; the keychain; the pasteboard; mDNSResponder, which would carry data out in
 * names; the preferences daemon; sockets of the host; the arguments and environment of other
 * processes; hard links and clones, which give a protected file another name.
 */
#include "plan/seatbelt_base.h"

#include <stdio.h>

/* Services of the system that do nothing for a command beyond what is said here. */
static const char *const services[] = {
	"com.apple.bsd.dirhelper",                    /* names of temporary directories */
	"com.apple.logd",                             /* os_log(3) */
	"com.apple.system.logger",                    /* syslog(3) */
	"com.apple.system.notification_center",       /* notify(3) */
	"com.apple.system.opendirectoryd.libinfo",    /* getpwuid(3) and friends */
	"com.apple.system.opendirectoryd.membership", /* groups of a user */
};

/* net.weaker_macos_isolation: verifies certificates, and may talk to the network for that. */
static const char *const trust_services[] = { "com.apple.trustd", "com.apple.trustd.agent" };

/* Names, or beginnings of names if they end with a dot. "kern.procargs2", which has the environment
 * of every process of the user, is not among them. */
static const char *const sysctls[] = {
	"hw.",
	"machdep.cpu.",
	"sysctl.",
	"vm.",
	"kern.argmax",
	"kern.boottime",
	"kern.bootargs",
	"kern.hostname",
	"kern.iossupportversion",
	"kern.maxfiles",
	"kern.maxfilesperproc",
	"kern.maxproc",
	"kern.ngroups",
	"kern.osproductversion",
	"kern.osrelease",
	"kern.ostype",
	"kern.osvariant_status",
	"kern.osversion",
	"kern.secure_kernel",
	"kern.usrstack64",
	"kern.version",
};

/* Can be written, whatever the policy says of files. */
static const char *const devices[] = { "/dev/null",   "/dev/zero", "/dev/stdout",
				       "/dev/stderr", "/dev/fd/1", "/dev/fd/2" };

/* Programs that ask others to act outside the sandbox. The services they need are denied anyway. */
static const char *const go_betweens[] = { "/bin/launchctl", "/usr/bin/automator", "/usr/bin/open",
					   "/usr/bin/osascript", "/usr/bin/shortcuts" };

static void list(struct koda_seatbelt_writer *w, bool allow, const char *operations,
		 const char *filter, const char *const *names, size_t count)
{
	koda_seatbelt_begin(w, allow, operations);
	for (size_t i = 0; i < count; i++) {
		koda_seatbelt_put(w, "\n ");
		koda_seatbelt_filter(w, filter, koda_span_of(names[i]));
	}
	koda_seatbelt_end(w, NULL);
}

void koda_seatbelt_base(struct koda_seatbelt_writer *w)
{
	koda_seatbelt_put(w, "(version 1)\n");
	koda_seatbelt_begin(w, false, "default");
	koda_seatbelt_end(w, NULL);
	koda_seatbelt_begin(w, true, KODA_SEATBELT_READ);
	koda_seatbelt_end(w, NULL);
	list(w, true, "file-write-data", "literal", devices, KODA_ARRAY_LEN(devices));
}

void koda_seatbelt_services(struct koda_seatbelt_writer *w, bool trust_service)
{
	koda_seatbelt_put(w, "\n; processes and services\n"
			     "(allow process-fork)\n"
			     "(allow process-info* signal (target same-sandbox))\n"
			     "(allow ipc-posix-sem)\n"
			     "(allow ipc-posix-shm-read-data"
			     " (ipc-posix-name \"apple.shm.notification_center\"))\n");
	koda_seatbelt_begin(w, true, "sysctl-read");
	for (size_t i = 0; i < KODA_ARRAY_LEN(sysctls); i++) {
		bool begins = sysctls[i][strlen(sysctls[i]) - 1] == '.';

		koda_seatbelt_put(w, "\n ");
		koda_seatbelt_filter(w, begins ? "sysctl-name-prefix" : "sysctl-name",
				     koda_span_of(sysctls[i]));
	}
	koda_seatbelt_end(w, NULL);
	list(w, true, "mach-lookup", "global-name", services, KODA_ARRAY_LEN(services));
	if (!trust_service)
		return;
	koda_seatbelt_put(w, "; net.weaker_macos_isolation\n");
	list(w, true, "mach-lookup", "global-name", trust_services, KODA_ARRAY_LEN(trust_services));
}

void koda_seatbelt_go_betweens(struct koda_seatbelt_writer *w)
{
	list(w, false, "process-exec*", "literal", go_betweens, KODA_ARRAY_LEN(go_betweens));
}

/* Sockets with a path in the command's own temporary directory. Others belong to the host. */
static void put_sockets(struct koda_seatbelt_writer *w, struct koda_span dir)
{
	static const struct {
		const char *operation;
		const char *side;
	} uses[] = { { "network-outbound", "remote" },
		     { "network-bind", "local" },
		     { "network-inbound", "local" } };

	for (size_t i = 0; i < KODA_ARRAY_LEN(uses); i++) {
		koda_seatbelt_begin(w, true, uses[i].operation);
		koda_seatbelt_put(w, " (");
		koda_seatbelt_put(w, uses[i].side);
		koda_seatbelt_put(w, " unix-socket");
		koda_seatbelt_filter(w, "subpath", dir);
		koda_seatbelt_put(w, ")");
		koda_seatbelt_end(w, NULL);
	}
}

void koda_seatbelt_network(struct koda_seatbelt_writer *w, const struct koda_seatbelt *seatbelt,
			   bool binding)
{
	char rule[96];

	switch (seatbelt->net) {
	case KODA_SEATBELT_CLOSED:
		koda_seatbelt_put(w, "\n; network: none\n");
		break;
	case KODA_SEATBELT_PROXIED:
		/* The host has to be "localhost": sandbox-exec refuses an address. */
		(void)snprintf(rule, sizeof(rule),
			       "(allow network-outbound (remote tcp \"localhost:%u\"))\n",
			       seatbelt->port);
		koda_seatbelt_put(w, "\n; network: the egress proxy alone\n");
		koda_seatbelt_put(w, rule);
		break;
	case KODA_SEATBELT_OPEN:
		koda_seatbelt_put(w, "\n; network: open, no rule about hosts is held\n"
				     "(allow network-outbound (remote ip \"*:*\"))\n"
				     "(allow network-outbound"
				     " (literal \"/private/var/run/mDNSResponder\"))\n");
		break;
	}
	/* Servers of the command, which every process of this machine can reach. */
	if (binding)
		koda_seatbelt_put(w, "; net.allow_local_binding\n"
				     "(allow network-bind (local ip \"localhost:*\"))\n"
				     "(allow network-inbound (local ip \"localhost:*\"))\n");
	if (seatbelt->tmpdir)
		put_sockets(w, koda_span_of(seatbelt->tmpdir));
}
