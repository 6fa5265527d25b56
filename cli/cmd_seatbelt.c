/* SPDX-License-Identifier: MIT */
/* koda-sandbox seatbelt: the policy as a profile of macOS. */
#include "setup.h"

#include "base/error.h"
#include "base/parse.h"

#include <koda/seatbelt.h>
#include <unistd.h>

enum {
	OPT_PROXY_PORT = CLI_OPT_OWN,
	OPT_OPEN_NETWORK,
	OPT_TMPDIR,
	OPT_TAG
};

struct seatbelt_request {
	struct cli_policy_options policy;
	struct koda_seatbelt_options profile; /* strings borrowed from argv */
};

static int take_port(const struct cli_call *call, struct seatbelt_request *request,
		     struct koda_error *err)
{
	uint64_t port;
	int r = koda_parse_u64(optarg, UINT16_MAX, &port, err);

	if (request->profile.proxy_port)
		return cli_args_fail(call, err, "--proxy-port can be given only once");
	if (r == KODA_OK && port == 0)
		r = koda_fail(err, KODA_E_INVALID, 0, "must not be 0");
	if (r < 0)
		cli_error_place(err, "--proxy-port");
	else
		request->profile.proxy_port = (uint16_t)port;
	return r;
}

static int take_option(const struct cli_call *call, void *ctx, int option, struct koda_error *err)
{
	struct seatbelt_request *request = ctx;

	switch (option) {
	case OPT_PROXY_PORT:
		return take_port(call, request, err);
	case OPT_OPEN_NETWORK:
		request->profile.open_network = true;
		return KODA_OK;
	case OPT_TMPDIR:
		if (request->profile.tmpdir)
			return cli_args_fail(call, err, "--tmpdir can be given only once");
		request->profile.tmpdir = optarg;
		return KODA_OK;
	case OPT_TAG:
		if (request->profile.tag)
			return cli_args_fail(call, err, "--tag can be given only once");
		request->profile.tag = optarg;
		return KODA_OK;
	default:
		return cli_policy_options_take(&request->policy, option, optarg, err);
	}
}

static int read_request(const struct cli_call *call, struct seatbelt_request *request,
			struct koda_error *err)
{
	static const struct option longs[] = {
		CLI_NETWORK_OPTIONS,
		{ "deny-read", required_argument, NULL, CLI_OPT_DENY_READ },
		{ "deny-write", required_argument, NULL, CLI_OPT_DENY_WRITE },
		{ "hide-credentials", no_argument, NULL, CLI_OPT_HIDE_CREDENTIALS },
		{ "read-only", no_argument, NULL, CLI_OPT_READ_ONLY },
		{ "proxy-port", required_argument, NULL, OPT_PROXY_PORT },
		{ "open-network", no_argument, NULL, OPT_OPEN_NETWORK },
		{ "tmpdir", required_argument, NULL, OPT_TMPDIR },
		{ "tag", required_argument, NULL, OPT_TAG },
		CLI_HELP_OPTION,
		{ 0 }
	};
	static const struct cli_syntax syntax = { ":h", longs };
	int r = cli_args_read(call, &syntax, take_option, request, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 0, "", err);
	if (r == KODA_OK)
		r = cli_policy_options_check_source(&request->policy, call, err);
	if (r == KODA_OK && request->profile.open_network && request->profile.proxy_port)
		r = cli_args_fail(call, err, "--open-network and --proxy-port exclude each other");
	return r < 0 ? r : 1;
}

int cli_seatbelt_print(const struct cli_setup *setup, const struct koda_seatbelt_options *options,
		       struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = koda_project_seatbelt(setup->project, options, &text, err);

	return r < 0 ? r : cli_output_print(text, strlen(text), err);
}

int cli_cmd_seatbelt(const struct cli_call *call, struct koda_error *err)
{
	struct seatbelt_request request = { .policy = CLI_POLICY_OPTIONS_INIT,
					    .profile = { .size = sizeof(request.profile) } };
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	int r = read_request(call, &request, err);

	if (r > 0)
		r = cli_setup_make(&request.policy, call->env, &setup, err);
	if (r == KODA_OK && setup.project)
		r = cli_seatbelt_print(&setup, &request.profile, err);
	cli_policy_options_clear(&request.policy);
	return r;
}
