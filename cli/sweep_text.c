#include "cli/sweep_text.h"
#include "cli/fmt.h"
#include "proto/json.h"
#include "spec/presets.h"

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
	const cJSON *model = sw_json_get(sw_json_get(spec, "trainer"), "model");
	const cJSON *name = sw_json_get(model, "preset"), *list = NULL;
	const cJSON *dataset = sw_json_get(sw_json_get(spec, "trainer"), "dataset");
	enum sw_dataset_image images = SW_IMAGES_NO;
	struct sw_dataset set;
	cJSON *owned = NULL;

	if (sw_dataset_read(&set, dataset, NULL) == SW_OK)
		images = sw_dataset_images(&set);
	if (!cJSON_IsString(name) || sw_model_outline(model, images, &owned, &list, NULL) != SW_OK)
		return;
	(void)sw_buf_adds(&c->out, "layers of ");
	sw_cli_text(c, name->valuestring);
	(void)sw_buf_adds(&c->out, "\n");
	sw_fmt_json(&c->out, list, "  ", c->look.utf8);
	cJSON_Delete(owned);
}
