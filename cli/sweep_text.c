#include "cli/sweep_text.h"
#include "cli/beside.h"
#include "cli/fmt.h"
#include "proto/frame.h"
#include "proto/json.h"

void sw_sweep_text_pareto(struct sw_cli *c, const cJSON *pareto)
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

void sw_sweep_text_model(struct sw_cli *c, const cJSON *spec)
{
	static const char *const words[] = {"layers", NULL};
	const cJSON *model = sw_json_get(sw_json_get(spec, "trainer"), "model");
	const char *name = sw_json_text(model, "preset", NULL);
	struct sw_buf text, layers;
	cJSON *list = NULL;
	struct sw_jw w;

	if (name == NULL)
		return;
	sw_buf_init(&text, SW_FRAME_MAX);
	sw_buf_init(&layers, SW_FRAME_MAX);
	sw_jw_init(&w, &text);
	sw_jw_cjson(&w, spec);
	/* Which layers these are only the trainer knows. */
	if (text.failed == SW_OK &&
	    sw_beside_worker(c, words, text.data, &layers) == SW_EXIT_DONE &&
	    sw_json_parse(&list, layers.data, layers.len, NULL) == SW_OK) {
		(void)sw_buf_adds(&c->out, "layers of ");
		sw_cli_text(c, name);
		(void)sw_buf_adds(&c->out, "\n");
		sw_fmt_json(&c->out, list, "  ", c->look.utf8);
	}
	cJSON_Delete(list);
	sw_buf_fini(&layers);
	sw_buf_fini(&text);
}
