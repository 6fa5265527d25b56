/* SPDX-License-Identifier: MIT */
/* What a user of the installed library compiles: public headers and pkg-config, nothing else. */
#include <koda/koda.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char *text = NULL;
	int r;

	r = koda_policy_for_trust(KODA_TRUST_SAFE, "/srv/project", &policy, &err);
	if (r == KODA_OK)
		r = koda_policy_emit(policy, &text, &err);
	if (r == KODA_OK)
		(void)printf("koda-sandbox %s\n%s", koda_version(), text);
	else
		(void)fprintf(stderr, "%s: %s\n", koda_code_name(r), err.message);
	free(text);
	koda_policy_free(policy);
	return r == KODA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
