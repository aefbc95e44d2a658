#include "cli/verb.h"
#include "proto/json.h"
#include "spec/schema.h"

/* In lines, or with --json in one. */
int sw_verb_schema(struct sw_cli *c)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL;
	const sw_status rc = sw_json_parse(&tree, sw_spec_schema, sw_spec_schema_len, &err);

	if (rc != SW_OK)
		sw_cli_say(c, "%s", err.msg);
	else if (c->args.given & SW_OPT_JSON)
		(void)sw_buf_addf(&c->out, "%s", sw_spec_schema);
	else
		sw_fmt_json(&c->out, tree, "", c->look.utf8);
	cJSON_Delete(tree);
	return rc == SW_OK ? SW_EXIT_DONE : SW_EXIT_REFUSED;
}
