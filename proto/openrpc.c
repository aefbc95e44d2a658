/* rpc.discover's answer: methods.json said in the words of OpenRPC 1.2.6. */
#include "proto/json.h"
#include "proto/method_table.h"
#include "proto/methods.h"
#include "proto/rpc.h"
#include "proto/shape.h"
#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	int code;
	const char *message;
} errors[] = {
	{"INVALID_PARAMS", SW_RPC_INVALID_PARAMS, "a parameter, or a field inside it, is wrong"},
	{"NOT_FOUND", SW_RPC_NOT_FOUND, "no such sweep or trial"},
	{"CONFLICT", SW_RPC_CONFLICT, "its state does not allow this"},
	{"BUSY", SW_RPC_BUSY, "too much at once: try again"},
	{"DISK_FULL", SW_RPC_DISK_FULL, "no space to store it"},
	{"LIMIT", SW_RPC_LIMIT, "over a limit"},
	{"DENIED", SW_RPC_DENIED, "not permitted"},
};

static void copy_text(struct sw_jw *w, const cJSON *from, const char *key, const char *as)
{
	const cJSON *v = sw_json_get(from, key);

	if (cJSON_IsString(v))
		sw_jw_kstr(w, as, v->valuestring);
}

static void write_schema(struct sw_jw *w, const struct sw_method_param *p, const cJSON *tree)
{
	const cJSON *otherwise = sw_json_get(tree, "default");

	sw_jw_kobj(w, "schema");
	sw_jw_kstr(w, "type", sw_param_type_names[p->type]);
	if (p->type == PARAM_STRING && isfinite(p->max_bytes))
		sw_jw_knum(w, "maxLength", p->max_bytes);
	if (p->type == PARAM_INTEGER || p->type == PARAM_NUMBER) {
		if (isfinite(p->min))
			sw_jw_knum(w, "minimum", p->min);
		if (isfinite(p->max))
			sw_jw_knum(w, "maximum", p->max);
	}
	if (p->words != NULL) {
		sw_jw_key(w, "enum");
		sw_jw_cjson(w, p->words);
	}
	if (otherwise != NULL) {
		sw_jw_key(w, "default");
		sw_jw_cjson(w, otherwise);
	}
	sw_jw_obj_end(w);
}

static void write_params(struct sw_jw *w, const struct sw_method *m)
{
	const cJSON *tree = sw_json_get(m->tree, "params")->child;

	sw_jw_karr(w, "params");
	for (size_t i = 0; i < m->n_params; i++, tree = tree->next) {
		sw_jw_obj(w);
		sw_jw_kstr(w, "name", m->params[i].name);
		copy_text(w, tree, "doc", "description");
		sw_jw_kbool(w, "required", m->params[i].required);
		write_schema(w, &m->params[i], tree);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}

static void write_result(struct sw_jw *w, const struct sw_method *m, const cJSON *types)
{
	sw_jw_kobj(w, "result");
	sw_jw_kstr(w, "name", "result");
	sw_jw_key(w, "schema");
	sw_shape_write(w, types, sw_json_get(m->tree, "result"));
	sw_jw_obj_end(w);
}

static void write_errors(struct sw_jw *w, const struct sw_method *m)
{
	const cJSON *list = sw_json_get(m->tree, "errors"), *v;

	if (list == NULL)
		return;
	sw_jw_karr(w, "errors");
	cJSON_ArrayForEach (v, list) {
		for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
			if (!cJSON_IsString(v) || strcmp(v->valuestring, errors[i].name) != 0)
				continue;
			sw_jw_obj(w);
			sw_jw_kint(w, "code", errors[i].code);
			sw_jw_kstr(w, "message", errors[i].message);
			sw_jw_obj_end(w);
		}
	}
	sw_jw_arr_end(w);
}

static void write_method(struct sw_jw *w, const struct sw_method *m, const cJSON *types)
{
	sw_jw_obj(w);
	sw_jw_kstr(w, "name", m->name);
	copy_text(w, m->tree, "summary", "summary");
	sw_jw_kstr(w, "paramStructure", "by-name");
	write_params(w, m);
	write_result(w, m, types);
	write_errors(w, m);
	if (cJSON_IsTrue(sw_json_get(m->tree, "internal")))
		sw_jw_kbool(w, "x-internal", true);
	sw_jw_obj_end(w);
}

/* OpenRPC knows no messages from the server; extensions start with x-. */
static void write_notifications(struct sw_jw *w, const cJSON *list, const cJSON *types)
{
	const cJSON *v;

	sw_jw_key(w, "x-notifications");
	sw_jw_arr(w);
	cJSON_ArrayForEach (v, list) {
		sw_jw_obj(w);
		copy_text(w, v, "name", "name");
		copy_text(w, v, "summary", "summary");
		sw_jw_key(w, "params");
		sw_shape_write(w, types, sw_json_get(v, "params"));
		if (cJSON_IsTrue(sw_json_get(v, "internal")))
			sw_jw_kbool(w, "x-internal", true);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}

static void write_types(struct sw_jw *w, const cJSON *types)
{
	const cJSON *v;

	sw_jw_key(w, "components");
	sw_jw_obj(w);
	sw_jw_key(w, "schemas");
	sw_jw_obj(w);
	cJSON_ArrayForEach (v, types) {
		sw_jw_key(w, v->string);
		sw_shape_write(w, types, v);
	}
	sw_jw_obj_end(w);
	sw_jw_obj_end(w);
}

void sw_methods_openrpc(const struct sw_methods *m, struct sw_buf *out)
{
	const cJSON *types = sw_json_get(m->doc, "types");
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kstr(&w, "openrpc", "1.2.6");
	sw_jw_kobj(&w, "info");
	copy_text(&w, m->doc, "title", "title");
	copy_text(&w, m->doc, "version", "version");
	copy_text(&w, m->doc, "about", "description");
	sw_jw_obj_end(&w);
	sw_jw_karr(&w, "methods");
	for (size_t i = 0; i < m->n; i++)
		write_method(&w, &m->all[i], types);
	sw_jw_arr_end(&w);
	write_notifications(&w, sw_json_get(m->doc, "notifications"), types);
	write_types(&w, types);
	sw_jw_obj_end(&w);
}
