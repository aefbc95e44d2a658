#include "cli/model_text.h"
#include "proto/json.h"
#include "proto/presets.h"

void sw_model_text(struct sw_cli *c, const cJSON *spec)
{
	const cJSON *model = sw_json_get(sw_json_get(spec, "trainer"), "model");
	const cJSON *name = sw_json_get(model, "preset"), *list = NULL;
	cJSON *owned = NULL;

	if (!cJSON_IsString(name) || sw_model_outline(model, &owned, &list, NULL) != SW_OK)
		return;
	(void)sw_buf_adds(&c->out, "layers of ");
	sw_cli_text(c, name->valuestring);
	(void)sw_buf_adds(&c->out, "\n");
	sw_fmt_json(&c->out, list, "  ", c->look.utf8);
	cJSON_Delete(owned);
}
