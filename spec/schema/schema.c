#include "spec/schema.h"
#include "spec/read/read.h"
#include "spec/schema/write.h"

/* schema.json, embedded by the build. */
extern const char sw_spec_schema_json[];
extern const unsigned long sw_spec_schema_json_len;

/* Every key that a spec may have at its top, and no other. */
static void check_top(struct sw_schema *m, const cJSON *top)
{
	const struct sw_spec_keys *keys = sw_spec_top_keys();
	const cJSON *properties = sw_json_get(top, "properties");
	size_t n = keys->n_known;

	for (size_t i = 0; i < keys->n_known; i++)
		(void)sw_schema_words(m, properties, keys->known[i]);
	for (size_t i = 0; i < keys->n_hints; i++)
		if (keys->hints[i].use == NULL && keys->hints[i].line == NULL) {
			(void)sw_schema_words(m, properties, keys->hints[i].key);
			n++;
		}
	(void)sw_schema_section(m, top, "properties", n);
}

static void write_definitions(struct sw_schema *m, const cJSON *by_hand)
{
	static void (*const made[])(struct sw_schema *) = {
		sw_schema_method,  sw_schema_parameter, sw_schema_early_terminate,
		sw_schema_trainer, sw_schema_dataset,   sw_schema_model,
		sw_schema_layer};

	sw_schema_open(m, "definitions");
	sw_schema_describe(m, by_hand, NULL);
	for (size_t i = 0; i < SW_SPEC_N(made); i++)
		made[i](m);
	sw_jw_obj_end(&m->w);
}

sw_status sw_spec_schema(struct sw_buf *out, struct sw_err *err)
{
	struct sw_schema m = {.err = SW_ERR_INIT};
	cJSON *tree = NULL;

	sw_status rc = sw_json_parse(&tree, sw_spec_schema_json, sw_spec_schema_json_len, err);
	if (rc != SW_OK)
		return rc;
	m.words = sw_json_get(tree, "words");
	sw_jw_init(&m.w, out);
	sw_schema_open(&m, NULL);
	sw_schema_describe(&m, sw_json_get(tree, "schema"), NULL);
	check_top(&m, sw_json_get(tree, "schema"));
	write_definitions(&m, sw_json_get(tree, "definitions"));
	sw_jw_obj_end(&m.w);
	cJSON_Delete(tree);
	if (m.err.code != SW_OK)
		return sw_err_set(err, m.err.code, "%s", m.err.msg);
	return out->failed == SW_OK ? SW_OK : sw_err_set(err, out->failed, "no room for it");
}
