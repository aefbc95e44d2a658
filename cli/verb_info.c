#include "cli/verb.h"
#include <string.h>

/* "uptime_s  12.5s": whatever the daemon says about itself, one a line. */
static void print_info(struct sw_cli *c, const cJSON *info)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, info) {
		const int room = 12 - (int)strlen(v->string);
		char text[32];

		sw_cli_text(c, v->string);
		(void)sw_buf_addf(&c->out, "%*s", room > 2 ? room : 2, "");
		if (strcmp(v->string, "uptime_s") == 0 && cJSON_IsNumber(v)) {
			sw_fmt_duration(v->valuedouble, text);
			(void)sw_buf_addf(&c->out, "%s\n", text);
		} else {
			sw_cli_put(c, "", v, "\n");
		}
	}
}

int sw_verb_info(struct sw_cli *c)
{
	return sw_cli_answer(c, "daemon.info", NULL, print_info);
}
