#include "cli/pareto_text.h"
#include "cli/fmt.h"
#include "proto/json.h"

void sw_pareto_text(struct sw_cli *c, const cJSON *pareto)
{
	const cJSON *volume = sw_json_get(pareto, "hypervolume"), *at;
	const char *between = " from ";

	/* The daemon leaves it out where it would take too long. */
	if (!cJSON_IsNumber(volume)) {
		(void)sw_buf_adds(&c->out, sw_json_uint(pareto, "trials") == 0
						   ? "no hypervolume yet\n"
						   : "hypervolume too much work for so many\n");
		return;
	}
	(void)sw_buf_adds(&c->out, "hypervolume ");
	sw_fmt_value(&c->out, volume, false, c->look.utf8);
	cJSON_ArrayForEach (at, sw_json_get(pareto, "reference")) {
		(void)sw_buf_adds(&c->out, between);
		sw_cli_text(c, at->string);
		(void)sw_buf_adds(&c->out, " ");
		sw_fmt_value(&c->out, at, false, c->look.utf8);
		between = ", ";
	}
	(void)sw_buf_adds(&c->out, "\n");
}
