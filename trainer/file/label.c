#include "trainer/file/label.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include "spec/spec.h"
#include "trainer/spec/presets.h"

/* The object, and the text of the value that is written now. */
struct label {
	struct sw_buf all, one;
	struct sw_jw w, v;
};

/* Begins the text of a value. */
static struct sw_jw *label_begin(struct label *c)
{
	sw_buf_clear(&c->one);
	sw_jw_init(&c->v, &c->one);
	return &c->v;
}

/* Ends it, as the string of a key. */
static void end(struct label *c, const char *key)
{
	/* One value that is too long makes all of it too long: a label is whole, or left out. */
	if (c->one.failed != SW_OK)
		c->all.failed = c->one.failed;
	else
		sw_jw_kstr(&c->w, key, c->one.data);
}

/* A value, or what the parameter of that name has. */
static void write_value(struct sw_jw *w, const cJSON *v, const cJSON *params)
{
	const cJSON *param = cJSON_IsString(v) ? sw_param_value(params, v->valuestring) : NULL;

	sw_jw_cjson(w, param ? param : v);
}

/* Writes a list of layers; a residual one holds a list itself. */
static void write_list(struct sw_jw *w, const cJSON *list, const cJSON *params)
{
	const cJSON *layer, *option;

	sw_jw_arr(w);
	/* Parameters are named by strings in the places of numbers: written are what they have in
	 * this trial. */
	cJSON_ArrayForEach (layer, list) {
		if (!cJSON_IsObject(layer) || !layer->child) {
			sw_jw_cjson(w, layer); /* a word */
			continue;
		}
		sw_jw_obj(w);
		sw_jw_key(w, layer->child->string);
		if (cJSON_IsArray(layer->child)) {
			write_list(w, layer->child, params);
		} else if (cJSON_IsObject(layer->child)) {
			sw_jw_obj(w);
			cJSON_ArrayForEach (option, layer->child) {
				sw_jw_key(w, option->string);
				write_value(w, option, params);
			}
			sw_jw_obj_end(w);
		} else {
			write_value(w, layer->child, params);
		}
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}

/* Writes the list of layers, as a preset unfolds and parameters say. */
static sw_status write_model(struct label *c, const cJSON *model, const cJSON *params, bool images,
			     struct sw_err *err)
{
	const cJSON *list = NULL;
	cJSON *owned = NULL;
	const sw_status rc = sw_model_list(model, params, images, &owned, &list, err);

	if (rc == SW_OK) {
		write_list(label_begin(c), list, params);
		end(c, "model");
	}
	cJSON_Delete(owned);
	return rc;
}

/* Writes the form of a row as the model takes it. */
static void write_input(struct label *c, const struct sw_data *data, const struct sw_dataset *set)
{
	static const char *const kinds[] = {[SW_SHAPE_FLAT] = "numbers",
					    [SW_SHAPE_IMAGE] = "image",
					    [SW_SHAPE_TOKENS] = "tokens"};
	const struct sw_shape *s = &data->input;
	struct sw_jw *w = label_begin(c);

	sw_jw_obj(w);
	sw_jw_kstr(w, "kind", kinds[s->kind]);
	sw_jw_key(w, "shape");
	sw_jw_arr(w);
	sw_jw_int(w, (int64_t)(s->kind == SW_SHAPE_TOKENS ? s->t : s->c));
	if (s->kind == SW_SHAPE_IMAGE) {
		sw_jw_int(w, (int64_t)s->h);
		sw_jw_int(w, (int64_t)s->w);
	}
	sw_jw_arr_end(w);
	if (s->kind == SW_SHAPE_IMAGE)
		sw_jw_kbool(w, "bytes", data->train.u8 != NULL);
	if (s->kind == SW_SHAPE_TOKENS) {
		sw_jw_kint(w, "vocab", (int64_t)data->vocab);
		sw_jw_kstr(w, "dtype", set->wide ? "uint32" : "uint16");
		if (set->pad >= 0)
			sw_jw_kint(w, "pad", set->pad);
	}
	sw_jw_obj_end(w);
	end(c, "input");
}

/* Writes what the model predicts. */
static void write_output(struct label *c, const struct sw_data *data)
{
	struct sw_jw *w = label_begin(c);

	sw_jw_obj(w);
	sw_jw_kstr(w, "loss", data->classes ? "cross_entropy" : "mse");
	sw_jw_kint(w, "outputs", data->classes ? (int64_t)data->classes : 1);
	sw_jw_kint(w, "labels", (int64_t)data->labels);
	if (data->target_unit != 0) {
		sw_jw_knum(w, "shift", data->target_shift);
		sw_jw_knum(w, "scale", data->target_unit);
	}
	sw_jw_obj_end(w);
	end(c, "output");
}

/* Writes the options of the data set that a prediction needs. */
static void write_dataset(struct label *c, const struct sw_dataset *set)
{
	struct sw_jw *w = label_begin(c);

	sw_jw_obj(w);
	sw_jw_kstr(w, "format", sw_dataset_formats[set->format]);
	sw_jw_obj_end(w);
	end(c, "dataset");
}

/* Writes the lists that the data set has. */
static void write_about(struct label *c, const struct sw_data_about *about)
{
	const struct {
		const char *key, *text;
	} lists[] = {{"table", about->table},
		     {"classes", about->classes},
		     {"mean", about->mean},
		     {"std", about->std}};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (lists[i].text)
			sw_jw_kstr(&c->w, lists[i].key, lists[i].text);
}

sw_status sw_label_make(char **out, const cJSON *trainer, const cJSON *params,
			const struct sw_data *data, struct sw_err *err)
{
	struct sw_data_source source;
	struct label c;
	size_t len;
	sw_status rc = sw_data_source_read(&source, sw_json_get(trainer, "dataset"), err);

	*out = NULL;
	if (rc != SW_OK || data->about.too_big)
		return rc; /* too long: the model is written without a label */
	sw_buf_init(&c.all, SW_LABEL_MOST);
	sw_buf_init(&c.one, SW_LABEL_MOST);
	sw_jw_init_obj(&c.w, &c.all);
	sw_jw_int(label_begin(&c), SW_LABEL_VERSION);
	end(&c, "sweepd");
	rc = write_model(&c, sw_json_get(trainer, "model"), params,
			 data->input.kind == SW_SHAPE_IMAGE, err);
	write_input(&c, data, &source.set);
	write_output(&c, data);
	write_dataset(&c, &source.set);
	write_about(&c, &data->about);
	sw_jw_obj_end(&c.w);
	if (rc == SW_OK && c.all.failed == SW_NOMEM)
		rc = sw_err_set(err, SW_NOMEM, "no memory for what the model is for");
	if (rc == SW_OK && c.all.failed == SW_OK)
		*out = sw_buf_take(&c.all, &len);
	sw_buf_fini(&c.one);
	sw_buf_fini(&c.all);
	return rc;
}
