/* tests/trainer/model/test_stages.c — where a model is cut into stages, and what each stage is. */
#include "tests/run.h"
#include "trainer/model/layout.h"
#include "trainer/model/stages.h"
#include <cjson/cJSON.h>

static struct sw_model model;

static void model_make(const char *layers, struct sw_shape input, size_t outputs)
{
	const struct sw_task task = {.input = input,
				     .outputs = outputs,
				     .labels = 1,
				     .vocab = 20,
				     .classes = true,
				     .gathered = input.kind == SW_SHAPE_IMAGE};
	struct sw_err err = SW_ERR_INIT;
	cJSON *list = cJSON_Parse(layers);

	ck_assert_ptr_nonnull(list);
	ck_assert_msg(sw_model_compile(&model, list, NULL, &task, &err) == SW_OK, "%s: %s", err.ptr,
		      err.msg);
	cJSON_Delete(list);
}

/* The kinds of a list's operations: a cut lies in front of those that are listed. */
static const struct {
	const char *layers;
	bool image;
	unsigned stages;
	size_t first[4]; /* of each stage but the first; 0: no more. All 0: there is no such cut */
} cuts[] = {
	/* linear with its relu is one call: 0 1f 2 3f 4 */
	{.layers = "[{\"linear\": 8}, \"relu\", {\"linear\": 8}, \"relu\", {\"linear\": 3}]",
	 .stages = 3,
	 .first = {2, 4}},
	{.layers = "[{\"linear\": 8}, \"relu\", {\"linear\": 8}, \"relu\", {\"linear\": 3}]",
	 .stages = 4},
	/* an open residual: linear(0), body(1), add(2), linear(3) */
	{.layers = "[{\"linear\": 8}, {\"residual\": [{\"linear\": 8}]}, {\"linear\": 3}]",
	 .stages = 3,
	 .first = {1, 3}},
	{.layers =
		 "[{\"linear\": 8}, {\"residual\": [{\"linear\": 8}, \"tanh\", {\"linear\": 8}]}, "
		 "{\"linear\": 3}]",
	 .stages = 4},
	/* one call makes the convolution and its pooling: 0 1 | 2 3 4 */
	{.layers = "[{\"conv2d\": {\"out\": 4, \"kernel\": 3}}, {\"maxpool2d\": 2}, \"flatten\", "
		   "{\"linear\": 8}, {\"linear\": 3}]",
	 .image = true,
	 .stages = 4},
	/* a stage without parameters is none: 0 | 1 2 3 */
	{.layers = "[{\"linear\": 8}, \"tanh\", \"sigmoid\", {\"linear\": 3}]", .stages = 3},
	/* the first product is as heavy as the two others */
	{.layers = "[{\"linear\": 64}, {\"linear\": 32}, {\"linear\": 3}]",
	 .stages = 2,
	 .first = {1}},
	{.layers = "[{\"linear\": 4}, {\"linear\": 512}, {\"linear\": 3}]",
	 .stages = 2,
	 .first = {2}},
};

TEST_LOOP(model_is_cut_where_one_value_crosses, 0, (int)ROWS(cuts))
{
	const struct sw_trainer t = {
		.stages = cuts[_i].stages, .microbatches = 4, .batch_size = 16, .classes = true};
	size_t first[SW_STAGES_MAX + 1];
	struct sw_err err = SW_ERR_INIT;
	sw_status rc;

	model_make(cuts[_i].layers, cuts[_i].image ? sw_shape_image(2, 8, 8) : sw_shape_flat(30),
		   3);
	rc = sw_stages_cut(&model, &t, first, &err);
	if (cuts[_i].first[0] == 0) {
		ck_assert_int_eq(rc, SW_INVALID);
		ck_assert_msg(strstr(err.msg, "cannot be cut into") != NULL, "%s", err.msg);
		return;
	}
	ck_assert_msg(rc == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(first[0], 0);
	ck_assert_uint_eq(first[t.stages], model.ops_n);
	for (size_t s = 1; s < t.stages; s++)
		ck_assert_msg(first[s] == cuts[_i].first[s - 1],
			      "stage %zu begins with %zu, not %zu", s, first[s],
			      cuts[_i].first[s - 1]);
}

/* Of 16 equal blocks each stage has as many. */
TEST(stages_of_a_deep_model_are_balanced)
{
	struct sw_trainer t = {.microbatches = 8, .batch_size = 64, .classes = true};
	size_t first[SW_STAGES_MAX + 1];

	model_make("{\"preset\": \"transformer-encoder\", \"outputs\": 3, \"layers\": 16, "
		   "\"heads\": 2, \"width\": 32, \"hidden\": 64}",
		   sw_shape_tokens(12, 0), 3);
	const double all = sw_model_flops(&model);

	for (t.stages = 2; t.stages <= 8; t.stages *= 2) {
		double sum = 0;

		ck_assert_int_eq(sw_stages_cut(&model, &t, first, NULL), SW_OK);
		for (size_t s = 0; s < t.stages; s++) {
			const double mine = sw_stages_flops(&model, first[s], first[s + 1]);

			sum += mine;
			ck_assert_double_gt(mine * (double)t.stages, 0.8 * all);
			ck_assert_double_lt(mine * (double)t.stages, 1.2 * all);
		}
		ck_assert_double_eq_tol(sum, all, 1e-6 * all);
	}
}

/* Weights of the stages follow each other, as do statistics, and are all that the model has. */
TEST(stages_have_all_of_a_model_between_them)
{
	const struct sw_trainer t = {
		.stages = 3, .microbatches = 4, .batch_size = 16, .classes = true};
	size_t first[SW_STAGES_MAX + 1], weights, running, at = 0, running_at = 0, parameters = 0;
	static struct sw_model own;

	model_make("[{\"conv2d\": {\"out\": 4, \"kernel\": 3}}, \"batchnorm\", \"relu\", "
		   "{\"residual\": [{\"conv2d\": {\"out\": 4, \"kernel\": 3, \"padding\": 1}}, "
		   "\"batchnorm\"]}, \"relu\", \"flatten\", {\"linear\": 9}, {\"linear\": 3}]",
		   sw_shape_image(2, 8, 8), 3);
	ck_assert_int_eq(sw_stages_cut(&model, &t, first, NULL), SW_OK);
	for (size_t s = 0; s < 3; s++) {
		sw_stages_model(&own, &model, first[s], first[s + 1], &weights, &running);
		ck_assert_uint_eq(weights, at);
		ck_assert_uint_eq(running, running_at);
		ck_assert_uint_eq(own.ops_n, first[s + 1] - first[s]);
		for (size_t i = 0; i < own.ops_n; i++) {
			const struct sw_op *is = &own.op[i], *was = &model.op[first[s] + i];

			ck_assert_int_eq(is->kind, was->kind);
			ck_assert_uint_eq(is->layer, was->layer);
			if (is->w_n)
				ck_assert_uint_eq(is->w + weights, was->w);
			if (is->b_n)
				ck_assert_uint_eq(is->b + weights, was->b);
		}
		ck_assert_int_eq(own.input_grad == SW_NO_BUFFER, s == 0);
		at += own.weights_n;
		running_at += own.running_n;
		parameters += own.parameters;
	}
	ck_assert_uint_eq(at, model.weights_n);
	ck_assert_uint_eq(running_at, model.running_n);
	ck_assert_uint_eq(parameters, model.parameters);
}

/* The first stage holds as many parts as there are stages, the last one. */
TEST(stages_hold_what_backward_needs_of_each_part_under_way)
{
	struct sw_trainer t = {.stages = 4, .microbatches = 8, .batch_size = 64, .classes = true};
	struct sw_layout at;

	model_make("[{\"linear\": 8}, {\"linear\": 8}, {\"linear\": 8}, {\"linear\": 3}]",
		   sw_shape_flat(30), 3);
	for (t.stage = 0; t.stage < 4; t.stage++) {
		ck_assert_int_eq(sw_layout_make(&at, &model, &t, 1000, 100, &sw_ops_cpu, NULL),
				 SW_OK);
		ck_assert_uint_eq(at.micro, 8);
		ck_assert_uint_eq(at.copies, 4 - t.stage);
	}
	t.stage = 0;
	t.microbatches = 3;
	ck_assert_int_eq(sw_layout_make(&at, &model, &t, 1000, 100, &sw_ops_cpu, NULL), SW_OK);
	ck_assert_uint_eq(at.copies, 3);
}

RUN_TESTS(NULL, NULL)
