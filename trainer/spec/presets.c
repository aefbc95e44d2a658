#include "trainer/spec/presets.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/param_value.h"
#include "spec/spec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N(a)      (sizeof(a) / sizeof *(a))
#define TEXT_MOST ((size_t)1 << 20)

/* The preset's object, and the writer of its list. named: the list is for people, and has a
 * parameter's name where one sets a number. */
struct writer {
	const struct sw_layer_form *form;
	const cJSON *object, *params;
	enum sw_dataset_image images; /* what the data's rows are */
	bool named;
	struct sw_jw w;
};

sw_status sw_preset_find(const cJSON *model, const struct sw_layer_form **out, struct sw_err *err)
{
	const cJSON *name = sw_json_get(model, "preset");
	const char *names[SW_PRESETS_MAX], *near;

	for (size_t i = 0; i < sw_presets_n; i++)
		names[i] = sw_presets[i].name;
	if (!cJSON_IsObject(model) || name == NULL)
		return sw_err_set(err, SW_INVALID,
				  "\"model\" is a list of layers, or a preset: "
				  "{\"preset\": \"lenet-cifar\"}");
	for (size_t i = 0; cJSON_IsString(name) && i < sw_presets_n; i++)
		if (strcmp(name->valuestring, names[i]) == 0) {
			*out = &sw_presets[i];
			return SW_OK;
		}
	near = cJSON_IsString(name) ? sw_nearest(name->valuestring, names, sw_presets_n) : NULL;
	if (near != NULL)
		return sw_err_at(err, SW_INVALID, "/preset",
				 "no preset is called \"%s\"; did you mean \"%s\"?",
				 name->valuestring, near);
	return sw_err_at(err, SW_INVALID, "/preset",
			 "\"preset\" is mlp, lenet-cifar, resnet18-cifar, resnet50 or "
			 "transformer-encoder");
}

/* --- values --- */

/* An option's number, for where it says how often something is written, or is multiplied. */
static double number_of(const struct writer *p, const char *name)
{
	const cJSON *v = sw_json_get(p->object, name);
	size_t k = 0;

	if (cJSON_IsString(v))
		v = sw_param_value(p->params, v->valuestring);
	if (cJSON_IsNumber(v))
		return v->valuedouble;
	while (strcmp(p->form->key[k].name, name) != 0)
		k++;
	return p->form->key[k].fallback;
}

/* Writes an option as it stands, be it a name; else its default. */
static void value(struct writer *p, const char *name)
{
	const cJSON *v = sw_json_get(p->object, name);

	if (v != NULL)
		sw_jw_cjson(&p->w, v);
	else
		sw_jw_num(&p->w, number_of(p, name));
}

static void with(struct writer *p, const char *layer, const char *name)
{
	sw_jw_obj(&p->w);
	sw_jw_key(&p->w, layer);
	value(p, name);
	sw_jw_obj_end(&p->w);
}

/* The name of the parameter that gives an option, in a list for people; else NULL. */
static const char *named(const struct writer *p, const char *name)
{
	const cJSON *v = sw_json_get(p->object, name);

	return p->named && cJSON_IsString(v) ? v->valuestring : NULL;
}

/* Writes a multiple of an option: "4 * width" if a name stands for it. */
static void multiple(struct writer *p, const char *name, double factor)
{
	const char *param = named(p, name);
	char text[SW_SPEC_MAX_PARAM_NAME + 16];

	if (param == NULL) {
		sw_jw_num(&p->w, factor * number_of(p, name));
	} else if (factor == 1) {
		sw_jw_str(&p->w, param);
	} else {
		(void)snprintf(text, sizeof text, "%.0f * %s", factor, param);
		sw_jw_str(&p->w, text);
	}
}

/* How often the caller writes what follows. If a name says how often: once, in {"depth times":
 * [...]}. */
static size_t begin_times(struct writer *p, const char *name)
{
	const char *param = named(p, name);
	char text[SW_SPEC_MAX_PARAM_NAME + 16];

	/* Each time adds to a text that has room for no more: an unchecked number must not keep
	 * `sweep-worker layers` busy for ever. */
	if (param == NULL)
		return (size_t)fmin(fmax(number_of(p, name), 0), TEXT_MOST);
	(void)snprintf(text, sizeof text, "%s times", param);
	sw_jw_obj(&p->w);
	sw_jw_karr(&p->w, text);
	return 1;
}

static void end_times(struct writer *p, const char *name)
{
	if (named(p, name) == NULL)
		return;
	sw_jw_arr_end(&p->w);
	sw_jw_obj_end(&p->w);
}

static void dropout(struct writer *p)
{
	const cJSON *v = sw_json_get(p->object, "dropout");

	if (cJSON_IsString(v) || number_of(p, "dropout") > 0)
		with(p, "dropout", "dropout");
}

static void begin_residual(struct writer *p)
{
	sw_jw_obj(&p->w);
	sw_jw_karr(&p->w, "residual");
}

static void end_residual(struct writer *p)
{
	sw_jw_arr_end(&p->w);
	sw_jw_obj_end(&p->w);
}

/* --- the networks --- */

static void write_mlp(struct writer *p)
{
	if (p->images == SW_IMAGES_YES)
		sw_jw_str(&p->w, "flatten");
	if (p->images == SW_IMAGES_PERHAPS)
		sw_jw_raw(&p->w, "{\"for images\": \"flatten\"}");
	for (size_t n = begin_times(p, "depth"); n > 0; n--) {
		with(p, "linear", "width");
		sw_jw_str(&p->w, "relu");
		dropout(p);
	}
	end_times(p, "depth");
	with(p, "linear", "outputs");
}

/* width NULL: `out` channels; else `out` times the option of that name. */
static void conv(struct writer *p, const char *width, double out, double kernel, double stride,
		 bool bias)
{
	sw_jw_obj(&p->w);
	sw_jw_kobj(&p->w, "conv2d");
	sw_jw_key(&p->w, "out");
	if (width != NULL)
		multiple(p, width, out);
	else
		sw_jw_num(&p->w, out);
	sw_jw_knum(&p->w, "kernel", kernel);
	if (!bias) {
		sw_jw_knum(&p->w, "stride", stride);
		sw_jw_knum(&p->w, "padding", floor(kernel / 2));
		sw_jw_kbool(&p->w, "bias", false);
	}
	sw_jw_obj_end(&p->w);
	sw_jw_obj_end(&p->w);
}

static void write_lenet(struct writer *p)
{
	static const double widths[] = {6, 16};

	for (size_t i = 0; i < N(widths); i++) {
		conv(p, NULL, widths[i], 5, 1, true);
		sw_jw_str(&p->w, "relu");
		sw_jw_raw(&p->w, "{\"maxpool2d\": 2}");
	}
	sw_jw_str(&p->w, "flatten");
	with(p, "linear", "l1");
	sw_jw_str(&p->w, "relu");
	with(p, "linear", "l2");
	sw_jw_str(&p->w, "relu");
	with(p, "linear", "outputs");
}

/* A convolution to `times` the width without bias, its norm, and relu behind it where last is
 * false. */
static void conv_norm(struct writer *p, double times, double kernel, double stride, bool last)
{
	conv(p, "width", times, kernel, stride, false);
	sw_jw_str(&p->w, "batchnorm");
	if (!last)
		sw_jw_str(&p->w, "relu");
}

/* Four stages of blocks, each stage twice as wide and half as high. */
static void write_resnet(struct writer *p, const int blocks[4], bool bottleneck)
{
	for (int stage = 0; stage < 4; stage++)
		for (int i = 0; i < blocks[stage]; i++) {
			const double width = 1 << stage; /* times the first */
			const double stride = stage > 0 && i == 0 ? 2 : 1;

			begin_residual(p);
			if (bottleneck) {
				conv_norm(p, width, 1, 1, false);
				conv_norm(p, width, 3, stride, false);
				conv_norm(p, 4 * width, 1, 1, true);
			} else {
				conv_norm(p, width, 3, stride, false);
				conv_norm(p, width, 3, 1, true);
			}
			end_residual(p);
			sw_jw_str(&p->w, "relu");
		}
	sw_jw_str(&p->w, "global_avgpool");
	sw_jw_str(&p->w, "flatten");
	with(p, "linear", "outputs");
}

static void write_resnet18(struct writer *p)
{
	static const int blocks[] = {2, 2, 2, 2};

	conv_norm(p, 1, 3, 1, false);
	write_resnet(p, blocks, false);
}

static void write_resnet50(struct writer *p)
{
	static const int blocks[] = {3, 4, 6, 3};

	conv_norm(p, 1, 7, 2, false);
	sw_jw_raw(&p->w, "{\"maxpool2d\": {\"kernel\": 3, \"stride\": 2, \"padding\": 1}}");
	write_resnet(p, blocks, true);
}

static void write_transformer(struct writer *p)
{
	with(p, "embedding", "width");
	sw_jw_str(&p->w, "positional");
	sw_jw_str(&p->w, "layernorm");
	dropout(p);
	for (size_t n = begin_times(p, "layers"); n > 0; n--) {
		begin_residual(p);
		with(p, "attention", "heads");
		dropout(p);
		end_residual(p);
		sw_jw_str(&p->w, "layernorm");
		begin_residual(p);
		with(p, "linear", "hidden");
		sw_jw_str(&p->w, "gelu");
		with(p, "linear", "width");
		dropout(p);
		end_residual(p);
		sw_jw_str(&p->w, "layernorm");
	}
	end_times(p, "layers");
	sw_jw_str(&p->w, "mean_tokens");
	with(p, "linear", "outputs");
}

static sw_status make_list(struct writer *p, cJSON **owned, const cJSON **list, struct sw_err *err)
{
	static const struct {
		const char *name;
		void (*write)(struct writer *);
	} writers[] = {
		{"mlp", write_mlp},
		{"lenet-cifar", write_lenet},
		{"resnet18-cifar", write_resnet18},
		{"resnet50", write_resnet50},
		{"transformer-encoder", write_transformer},
	};
	const cJSON *model = p->object;
	struct sw_buf text;
	sw_status rc;

	*owned = NULL;
	*list = model;
	/* It is a list already. */
	if (cJSON_IsArray(model))
		return SW_OK;
	rc = sw_preset_find(model, &p->form, err);
	if (rc != SW_OK)
		return rc;
	sw_buf_init(&text, TEXT_MOST);
	sw_jw_init(&p->w, &text);
	sw_jw_arr(&p->w);
	for (size_t i = 0; i < N(writers); i++)
		if (strcmp(writers[i].name, p->form->name) == 0)
			writers[i].write(p);
	sw_jw_arr_end(&p->w);
	if (text.failed != SW_OK)
		rc = sw_err_set(err, text.failed, "no memory for the layers of %s", p->form->name);
	else
		rc = sw_json_parse(owned, text.data, text.len, err);
	sw_buf_fini(&text);
	*list = *owned;
	return rc;
}

sw_status sw_model_list(const cJSON *model, const cJSON *params, bool images, cJSON **owned,
			const cJSON **list, struct sw_err *err)
{
	struct writer p = {
		.object = model, .params = params, .images = images ? SW_IMAGES_YES : SW_IMAGES_NO};

	return make_list(&p, owned, list, err);
}

sw_status sw_model_outline(const cJSON *model, enum sw_dataset_image images, cJSON **owned,
			   const cJSON **list, struct sw_err *err)
{
	struct writer p = {.object = model, .images = images, .named = true};

	return make_list(&p, owned, list, err);
}

void sw_model_show(const char *spec, size_t len, struct sw_buf *out)
{
	enum sw_dataset_image images = SW_IMAGES_NO;
	cJSON *tree = NULL, *owned = NULL;
	const cJSON *list = NULL;
	struct sw_dataset set;
	struct sw_jw w;

	if (sw_json_parse(&tree, spec, len, NULL) != SW_OK)
		return;
	const cJSON *trainer = sw_json_get(tree, "trainer");
	if (sw_dataset_read(&set, sw_json_get(trainer, "dataset"), NULL) == SW_OK)
		images = sw_dataset_images(&set);
	sw_jw_init(&w, out);
	if (sw_model_outline(sw_json_get(trainer, "model"), images, &owned, &list, NULL) == SW_OK)
		sw_jw_cjson(&w, list);
	cJSON_Delete(owned);
	cJSON_Delete(tree);
}
