#include "cli/model_text.h"
#include "proto/json.h"
#include "spec/presets.h"

void sw_model_text(struct sw_cli *c, const cJSON *spec)
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
