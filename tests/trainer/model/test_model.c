/* tests/trainer/model/test_model.c — layer lists, right and wrong, and where tensors lie. */
#include "kernels/ops.h"
#include "tests/run.h"
#include "trainer/model/layout.h"

static const char params_text[] = "{\"l1\": 24, \"p\": 0.5, \"word\": \"x\", \"half\": 1.5, "
				  "\"act\": \"relu\"}";

#define FLAT   sw_shape_flat(64)
#define IMAGE  sw_shape_image(3, 9, 8)
#define TOKENS sw_shape_tokens(6, 0)

static const struct {
	enum sw_shape_kind input;
	const char *layers;
	const char *ptr, *says;
} bad[] = {
	{SW_SHAPE_FLAT, "null", "",
	 "a trainer needs \"model\": a list of layers, such as [{\"linear\": 64}, \"relu\", "
	 "{\"linear\": 10}]"},
	{SW_SHAPE_FLAT, "[\"relu\"]", "", "the model has no linear layer: nothing to train"},
	{SW_SHAPE_FLAT, "[{\"linear\": 9}]", "/0/linear",
	 "the last layer is 9 wide, but the data has 10 classes"},
	{SW_SHAPE_FLAT, "[{\"linear\": \"l1\"}, \"relu\"]", "/0/linear",
	 "the last layer is 24 wide, but the data has 10 classes"},
	{SW_SHAPE_FLAT, "[{\"linear\": \"l9\"}]", "/0/linear", "there is no parameter \"l9\""},
	{SW_SHAPE_FLAT, "[{\"linear\": \"word\"}]", "/0/linear",
	 "the parameter \"word\" is not a number"},
	{SW_SHAPE_FLAT, "[{\"linear\": \"half\"}]", "/0/linear",
	 "linear is an integer from 1 to 1000000, not 1.5"},
	{SW_SHAPE_FLAT, "[{\"linear\": 0}]", "/0/linear",
	 "linear is an integer from 1 to 1000000, not 0"},
	{SW_SHAPE_FLAT, "[{\"linear\": null}]", "/0/linear",
	 "a layer's number is a number or a parameter's name"},
	{SW_SHAPE_FLAT, "[{\"dropout\": 1}, {\"linear\": 10}]", "/0/dropout",
	 "dropout is a number from 0 to below 1, not 1"},
	{SW_SHAPE_FLAT, "[{\"activation\": 1}]", "/0/activation",
	 "an activation is a word or a parameter's name"},
	{SW_SHAPE_FLAT, "[{\"activation\": \"no\"}]", "/0/activation",
	 "there is no parameter \"no\""},
	{SW_SHAPE_FLAT, "[{\"activation\": {\"kind\": \"word\"}}]", "/0/activation/kind",
	 "the parameter \"word\" names no activation"},
	{SW_SHAPE_FLAT, "[{\"conv2d\": {\"out\": 3, \"kernel\": 3}}]", "/0/conv2d",
	 "conv2d takes images, what comes to it is 64 numbers"},
	{SW_SHAPE_FLAT, "[{\"conv2d\": {\"out\": 3}}]", "/0/conv2d",
	 "conv2d needs \"kernel\": {\"conv2d\": {\"out\": 6, \"kernel\": 5}}"},
	{SW_SHAPE_IMAGE, "[{\"conv2d\": {\"out\": 3, \"kernel\": 9, \"stride\": \"half\"}}]",
	 "/0/conv2d/stride", "stride is an integer from 1 to 10000, not 1.5"},
	{SW_SHAPE_IMAGE, "[{\"conv2d\": {\"out\": 3, \"kernel\": 9}}]", "/0/conv2d",
	 "a window of 9 x 9 does not fit an image of 3 x 9 x 8 with padding 0"},
	{SW_SHAPE_IMAGE, "[{\"maxpool2d\": {\"kernel\": 3, \"padding\": 2}}]", "/0/maxpool2d",
	 "the padding 2 is more than half the window 3"},
	{SW_SHAPE_IMAGE, "[{\"linear\": 10}]", "/0/linear",
	 "linear takes numbers or tokens (put \"flatten\" before it), what comes to it is 3 x 9 x "
	 "8"},
	{SW_SHAPE_IMAGE, "[{\"conv2d\": {\"out\": 10, \"kernel\": 3}}]", "",
	 "the model ends in 10 x 7 x 6, the data has 1 label a row: \"flatten\" and a linear layer "
	 "are missing"},
	{SW_SHAPE_IMAGE, "[{\"residual\": [{\"conv2d\": {\"out\": 4, \"kernel\": 2}}]}]",
	 "/0/residual",
	 "what a residual begins with (3 x 9 x 8) has no projection to its end (4 x 8 x 7)"},
	{SW_SHAPE_IMAGE, "[{\"residual\": []}]", "/0/residual",
	 "\"residual\" holds a list of layers: {\"residual\": [{\"linear\": 64}, \"relu\"]}"},
	{SW_SHAPE_FLAT, "[{\"residual\": [\"flatten\"]}, {\"linear\": 10}]", "/0/residual",
	 "the residual's list does nothing"},
	{SW_SHAPE_FLAT, "[{\"residual\": [{\"linear\": 8}, {\"linear\": \"l9\"}]}]",
	 "/0/residual/1/linear", "there is no parameter \"l9\""},
	{SW_SHAPE_TOKENS, "[{\"linear\": 10}]", "/0/linear",
	 "the data set has tokens: the first layer must be {\"embedding\": N}"},
	{SW_SHAPE_TOKENS, "[{\"embedding\": 8}, {\"attention\": 3}]", "/1/attention",
	 "3 heads do not divide the width 8"},
	{SW_SHAPE_TOKENS, "[{\"embedding\": {\"dim\": 8, \"vocab\": 7}}]", "/0/embedding",
	 "the data set has tokens up to 11, the embedding a vocab of 7"},
	{SW_SHAPE_TOKENS, "[{\"embedding\": 8}, {\"positional\": 5}]", "/1/positional",
	 "a row has 6 tokens, positional has 5 places"},
	{SW_SHAPE_TOKENS, "[{\"embedding\": 8}, \"batchnorm\"]", "/1",
	 "batchnorm takes numbers or images (tokens have layernorm), what comes to it is 6 tokens "
	 "of 8"},
	{SW_SHAPE_TOKENS, "[{\"embedding\": 8}, {\"linear\": 10}]", "/1/linear",
	 "the model ends in 6 tokens of 10, the data has 1 label a row: \"mean_tokens\" is "
	 "missing"},
	{SW_SHAPE_FLAT, "{\"linear\": 10}", "",
	 "\"model\" is a list of layers, or a preset: {\"preset\": \"lenet-cifar\"}"},
};

static struct sw_task task_of(enum sw_shape_kind input, size_t outputs, bool classes)
{
	return (struct sw_task){.input = input == SW_SHAPE_FLAT    ? FLAT
					 : input == SW_SHAPE_IMAGE ? IMAGE
								   : TOKENS,
				.vocab = 12,
				.outputs = outputs,
				.labels = 1,
				.classes = classes};
}

TEST_ROWS(model_wrong_gives_its_line, bad)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse(bad[_i].layers), *params = cJSON_Parse(params_text);
	const struct sw_task task = task_of(bad[_i].input, 10, true);
	struct sw_model m;

	ck_assert_int_eq(sw_model_compile(&m, layers, params, &task, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, bad[_i].says);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	cJSON_Delete(layers);
	cJSON_Delete(params);
}

TEST(model_with_too_many_layers_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_CreateArray();
	const struct sw_task task = task_of(SW_SHAPE_FLAT, 10, true);
	struct sw_model m;

	for (int i = 0; i <= SW_MODEL_MAX_OPS; i++)
		cJSON_AddItemToArray(layers, cJSON_CreateString("relu"));
	ck_assert_int_eq(sw_model_compile(&m, layers, NULL, &task, &err), SW_TOO_BIG);
	cJSON_Delete(layers);
}

TEST(model_for_regression_must_end_in_one)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse("[{\"linear\": 3}]");
	const struct sw_task task = task_of(SW_SHAPE_FLAT, 1, false);
	struct sw_model m;

	ck_assert_int_eq(sw_model_compile(&m, layers, NULL, &task, &err), SW_INVALID);
	ck_assert_str_eq(err.msg,
			 "the last layer is 3 wide, but the loss \"mse\" predicts 1 number");
	cJSON_Delete(layers);
}

TEST(model_counts_places_and_names_its_parts)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse("[{\"linear\": \"l1\"}, {\"activation\": \"act\"}, "
				    "{\"dropout\": \"p\"}, {\"activation\": \"tanh\"}, "
				    "{\"linear\": 10}]");
	cJSON *params = cJSON_Parse(params_text);
	const struct sw_trainer t = {.batch_size = 1000, .momentum = 0.9};
	const struct sw_task task = task_of(SW_SHAPE_FLAT, 10, true);
	struct sw_model m;
	struct sw_layout at;

	ck_assert_int_eq(sw_model_compile(&m, layers, params, &task, &err), SW_OK);
	ck_assert_uint_eq(m.parameters, 65 * 24 + 25 * 10);
	ck_assert_str_eq(m.summary, "64-24-relu-dropout(0.5)-tanh-10");
	/* relu is the product's own, dropout and tanh write over what nobody else reads */
	ck_assert(m.op[1].fused && m.op[0].act == SW_ACT_RELU);
	ck_assert_uint_eq(m.train.value[2], m.train.value[1]);
	ck_assert_uint_ne(m.train.value[3], m.train.value[2]);
	ck_assert_uint_eq(m.train.value[4], m.train.value[3]);
	ck_assert_int_eq(sw_layout_make(&at, &m, &t, 77, 20, &sw_ops_cpu, &err), SW_OK);
	ck_assert_uint_eq(at.batch, 77);
	ck_assert_uint_eq(at.micro, 77);
	ck_assert_uint_eq(at.eval_batch, 20);
	ck_assert_uint_eq(at.states_n, 1);
	for (size_t i = 0; i < m.ops_n; i++) {
		ck_assert_uint_eq(m.op[i].w * sizeof(float) % SW_OPS_ALIGN, 0);
		ck_assert_uint_eq(m.op[i].b * sizeof(float) % SW_OPS_ALIGN, 0);
	}
	cJSON_Delete(layers);
	cJSON_Delete(params);
}

/* Nets whose plans share buffers in every way that there is. */
static const struct {
	enum sw_shape_kind input;
	const char *layers;
} nets[] = {
	{SW_SHAPE_FLAT,
	 "[{\"linear\": 30}, \"tanh\", {\"residual\": [\"relu\", {\"linear\": 30}]}, "
	 "{\"residual\": [{\"residual\": [{\"linear\": 30}]}]}, {\"linear\": 10}]"},
	{SW_SHAPE_FLAT, "{\"preset\": \"mlp\", \"outputs\": 10, \"dropout\": 0.5}"},
	{SW_SHAPE_IMAGE, "{\"preset\": \"mlp\", \"outputs\": 10}"},
	{SW_SHAPE_IMAGE, "{\"preset\": \"resnet18-cifar\", \"width\": 4}"},
	{SW_SHAPE_IMAGE, "{\"preset\": \"resnet50\", \"width\": 4, \"outputs\": 10}"},
	{SW_SHAPE_TOKENS, "{\"preset\": \"transformer-encoder\", \"outputs\": 10, \"width\": 32}"},
	{SW_SHAPE_TOKENS, "{\"preset\": \"transformer-encoder\", \"outputs\": 10, \"layers\": 24}"},
};

static void apart(const struct sw_plan *p, const size_t *at, size_t rows, size_t end)
{
	for (size_t i = 0; i < p->buffers_n; i++) {
		const struct sw_buffer *a = &p->buffer[i];
		const size_t a_end = at[i] + 4 * (a->row * rows + a->fixed);

		ck_assert_uint_eq(at[i] % SW_OPS_ALIGN, 0);
		ck_assert_uint_le(a_end, end);
		for (size_t k = 0; k < i; k++) {
			const struct sw_buffer *b = &p->buffer[k];
			const size_t b_end = at[k] + 4 * (b->row * rows + b->fixed);

			if (a->from <= b->to && b->from <= a->to)
				ck_assert_msg(a_end <= at[k] || b_end <= at[i],
					      "buffers %zu and %zu share bytes", i, k);
		}
	}
}

TEST_ROWS(layout_buffers_that_meet_in_time_lie_apart, nets)
{
	const struct sw_trainer t = {.batch_size = 33, .optimizer = SW_ADAM};
	const struct sw_task task = task_of(nets[_i].input, 10, true);
	struct sw_trainer part = t;
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse(nets[_i].layers);
	struct sw_layout at, small;
	struct sw_model m;
	size_t sum = 0, first = SIZE_MAX, last = 0;

	ck_assert_msg(sw_model_compile(&m, layers, NULL, &task, &err) == SW_OK, "%s: %s", err.ptr,
		      err.msg);
	ck_assert_int_eq(sw_layout_make(&at, &m, &t, 100, 40, &sw_ops_cpu, &err), SW_OK);
	apart(&m.train, at.train, at.micro, at.bytes);
	apart(&m.eval, at.eval, at.eval_batch, at.bytes);
	for (size_t i = 0; i < m.train.buffers_n; i++) {
		const size_t bytes =
			4 * (m.train.buffer[i].row * at.micro + m.train.buffer[i].fixed);

		sum += bytes;
		first = at.train[i] < first ? at.train[i] : first;
		last = at.train[i] + bytes > last ? at.train[i] + bytes : last;
	}
	ck_assert_uint_lt(last - first, sum); /* some bytes are used twice */
	/* a smaller part of the batch takes less memory and as many parameters */
	part.micro_batch = 4;
	ck_assert_int_eq(sw_layout_make(&small, &m, &part, 100, 4, &sw_ops_cpu, &err), SW_OK);
	ck_assert_uint_eq(small.batch, 33);
	ck_assert_uint_eq(small.micro, 4);
	ck_assert_uint_eq(small.running, at.running);
	ck_assert_uint_lt(small.bytes - small.work, at.bytes - at.work);
	cJSON_Delete(layers);
}

/* As PyTorch's torchvision and transformers count them. */
TEST_LOOP(model_of_a_preset_has_its_parameters, 0, 4)
{
	static const struct {
		struct sw_shape input;
		const char *preset;
		size_t outputs, parameters;
	} presets[] = {
		{{SW_SHAPE_IMAGE, 3, 32, 32, 0, 0}, "{\"preset\": \"lenet-cifar\"}", 10, 62006},
		{{SW_SHAPE_IMAGE, 3, 32, 32, 0, 0},
		 "{\"preset\": \"resnet18-cifar\"}",
		 10,
		 11173962},
		{{SW_SHAPE_IMAGE, 3, 224, 224, 0, 0}, "{\"preset\": \"resnet50\"}", 1000, 25557032},
		{{SW_SHAPE_TOKENS, 0, 0, 0, 128, 0},
		 "{\"preset\": \"transformer-encoder\", \"outputs\": 2, \"width\": 768, \"heads\": "
		 "12, \"hidden\": 3072, \"layers\": 12}",
		 2,
		 85054464 + 768 * (12 + 128) + 2 * 768 + 2 * 769},
	};
	const struct sw_task task = {.input = presets[_i].input,
				     .vocab = 12,
				     .outputs = presets[_i].outputs,
				     .labels = 1,
				     .classes = true};
	struct sw_err err = SW_ERR_INIT;
	cJSON *preset = cJSON_Parse(presets[_i].preset);
	struct sw_model m;

	ck_assert_msg(sw_model_compile(&m, preset, NULL, &task, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(m.parameters, presets[_i].parameters);
	cJSON_Delete(preset);
}

TEST(model_summary_of_many_layers_is_cut)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_CreateArray();
	const struct sw_task task = task_of(SW_SHAPE_FLAT, 10, true);
	struct sw_model m;

	for (int i = 0; i < SW_MODEL_MAX_OPS; i++)
		cJSON_AddItemToArray(layers, cJSON_Parse("{\"linear\": 10}"));
	ck_assert_int_eq(sw_model_compile(&m, layers, NULL, &task, &err), SW_OK);
	ck_assert_uint_lt(strlen(m.summary), sizeof m.summary);
	ck_assert_str_eq(m.summary + strlen(m.summary) - 4, "-...");
	cJSON_Delete(layers);
}

RUN_TESTS(NULL, NULL)
