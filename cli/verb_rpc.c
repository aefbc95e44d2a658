#include "cli/verb.h"
#include "proto/json.h"
#include <string.h>

/* The result is printed as JSON, with or without --json. */
int sw_verb_rpc(struct sw_cli *c)
{
	const char *params = c->args.n_words > 1 ? c->args.word[1] : NULL;
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	int status;

	if (params != NULL && sw_json_check(params, strlen(params), &err) != SW_OK)
		return sw_cli_usage(c, "rpc: %s", err.msg);
	if (params != NULL && strpbrk(params, "\r\n") != NULL)
		return sw_cli_usage(c, "rpc: the JSON must be on one line");
	c->source.form = SW_PLACE_JSON;
	status = sw_cli_fetch(c, c->args.word[0], params, &r);
	if (status == SW_EXIT_DONE)
		sw_cli_json(c, r.result);
	sw_client_reply_fini(&r);
	return status;
}
