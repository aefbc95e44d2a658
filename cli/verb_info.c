#include "cli/verb.h"
#include <string.h>

/* "uptime_s  12.5s": whatever the daemon says about itself, one a line. */
int sw_verb_info(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	const int status = sw_cli_call(c, "daemon.info", NULL, &r);
	const cJSON *v;

	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON))
		cJSON_ArrayForEach (v, r.result) {
			char text[32];

			sw_cli_text(c, v->string);
			(void)sw_buf_addf(&c->out, "%*s",
					  strlen(v->string) < 10 ? 12 - (int)strlen(v->string) : 2,
					  "");
			if (strcmp(v->string, "uptime_s") == 0 && cJSON_IsNumber(v)) {
				sw_fmt_duration(v->valuedouble, text);
				(void)sw_buf_adds(&c->out, text);
			} else {
				sw_fmt_value(&c->out, v, true, c->look.utf8);
			}
			(void)sw_buf_adds(&c->out, "\n");
		}
	sw_client_reply_fini(&r);
	return status;
}
