/* tests/worker/test_model.c — layer lists, right and wrong, and where tensors lie. */
#include "kernels/ops.h"
#include "worker/model.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char params_text[] = "{\"l1\": 24, \"p\": 0.5, \"word\": \"x\", \"half\": 1.5}";

static const struct {
	const char *layers;
	sw_status status;
	const char *ptr, *says;
} bad[] = {
	{"null", SW_INVALID, "",
	 "a trainer needs \"model\": a list of layers, such as [{\"linear\": 64}, \"relu\", "
	 "{\"linear\": 10}]"},
	{"[\"relu\"]", SW_INVALID, "", "the model has no linear layer: nothing to train"},
	{"[{\"linear\": 9}]", SW_INVALID, "/0/linear",
	 "the last layer is 9 wide, but the data has 10 classes"},
	{"[{\"linear\": \"l1\"}, \"relu\"]", SW_INVALID, "/0/linear",
	 "the last layer is 24 wide, but the data has 10 classes"},
	{"[{\"linear\": \"l9\"}]", SW_INVALID, "/0/linear", "there is no parameter \"l9\""},
	{"[{\"linear\": \"word\"}]", SW_INVALID, "/0/linear",
	 "the parameter \"word\" is not a number"},
	{"[{\"linear\": \"half\"}]", SW_INVALID, "/0/linear",
	 "a layer's width is an integer from 1 to 1000000, not 1.5"},
	{"[{\"linear\": 0}]", SW_INVALID, "/0/linear",
	 "a layer's width is an integer from 1 to 1000000, not 0"},
	{"[{\"linear\": true}]", SW_INVALID, "/0/linear",
	 "a layer's number is a number or a parameter's name"},
	{"[\"reul\"]", SW_INVALID, "/0", "no layer is called \"reul\": did you mean \"relu\"?"},
	{"[{\"linear\": 4}, \"conv3d\"]", SW_INVALID, "/1",
	 "no layer is called \"conv3d\": there are linear, relu, tanh and dropout"},
	{"[\"linear\"]", SW_INVALID, "/0", "linear needs a number: write {\"linear\": N}"},
	{"[{\"relu\": 1}]", SW_INVALID, "/0/relu", "relu takes no number: write \"relu\""},
	{"[{\"dropout\": 1}, {\"linear\": 10}]", SW_INVALID, "/0/dropout",
	 "dropout is at least 0 and below 1, not 1"},
	{"[7]", SW_INVALID, "/0", "a layer is a word, or an object with one key"},
	{"[{\"linear\": 1, \"relu\": 2}]", SW_INVALID, "/0",
	 "a layer is a word, or an object with one key"},
};

START_TEST(model_wrong_gives_its_line)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse(bad[_i].layers), *params = cJSON_Parse(params_text);
	struct sw_model m;

	ck_assert_int_eq(sw_model_compile(&m, layers, params, 64, 10, true, &err), bad[_i].status);
	ck_assert_str_eq(err.msg, bad[_i].says);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	cJSON_Delete(layers);
	cJSON_Delete(params);
}
END_TEST

START_TEST(model_with_too_many_layers_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_CreateArray();
	struct sw_model m;

	for (int i = 0; i <= SW_MODEL_MAX_LAYERS; i++)
		cJSON_AddItemToArray(layers, cJSON_CreateString("relu"));
	ck_assert_int_eq(sw_model_compile(&m, layers, NULL, 64, 10, true, &err), SW_TOO_BIG);
	cJSON_Delete(layers);
}
END_TEST

START_TEST(model_for_regression_must_end_in_one)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse("[{\"linear\": 3}]");
	struct sw_model m;

	ck_assert_int_eq(sw_model_compile(&m, layers, NULL, 4, 1, false, &err), SW_INVALID);
	ck_assert_str_eq(err.msg,
			 "the last layer is 3 wide, but the loss \"mse\" predicts 1 number");
	cJSON_Delete(layers);
}
END_TEST

START_TEST(model_counts_places_and_names_its_parts)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_Parse("[{\"linear\": \"l1\"}, \"relu\", {\"dropout\": \"p\"}, "
				    "\"tanh\", {\"linear\": 10}]");
	cJSON *params = cJSON_Parse(params_text);
	const struct sw_trainer t = {.batch_size = 1000, .momentum = 0.9};
	struct sw_model m;
	struct sw_layout at;

	ck_assert_int_eq(sw_model_compile(&m, layers, params, 63, 10, true, &err), SW_OK);
	ck_assert_uint_eq(m.parameters, 64 * 24 + 25 * 10);
	ck_assert_str_eq(m.summary, "63-24-relu-dropout(0.5)-tanh-10");
	ck_assert(m.layer[1].in_place && !m.layer[2].in_place && !m.layer[3].in_place);
	ck_assert_int_eq(sw_layout_make(&at, &m, &t, 77, 20, &err), SW_OK);
	ck_assert_uint_eq(at.batch, 77);
	ck_assert_uint_eq(at.eval_batch, 20);
	ck_assert_uint_eq(at.states_n, 1);
	ck_assert_uint_eq(at.act[1], at.act[0]);
	ck_assert_uint_ge(at.act[2], at.act[0] + 77 * 24 * sizeof(float));
	ck_assert_uint_ge(at.bytes, at.grad[1] + 77 * 63 * sizeof(float));
	for (size_t i = 0; i < m.layers_n; i++) {
		ck_assert_uint_eq(m.layer[i].w * sizeof(float) % SW_OPS_ALIGN, 0);
		ck_assert_uint_eq(m.layer[i].b * sizeof(float) % SW_OPS_ALIGN, 0);
		ck_assert_uint_eq(at.act[i] % SW_OPS_ALIGN, 0);
	}
	cJSON_Delete(layers);
	cJSON_Delete(params);
}
END_TEST

START_TEST(model_summary_of_many_layers_is_cut)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *layers = cJSON_CreateArray();
	struct sw_model m;

	for (int i = 0; i < SW_MODEL_MAX_LAYERS; i++)
		cJSON_AddItemToArray(layers, cJSON_Parse("{\"linear\": 10}"));
	ck_assert_int_eq(sw_model_compile(&m, layers, NULL, 64, 10, true, &err), SW_OK);
	ck_assert_uint_lt(strlen(m.summary), sizeof m.summary);
	ck_assert_str_eq(m.summary + strlen(m.summary) - 4, "-...");
	cJSON_Delete(layers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker");
	TCase *tcase = tcase_create("model");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, model_wrong_gives_its_line, 0, sizeof bad / sizeof *bad);
	tcase_add_test(tcase, model_with_too_many_layers_is_refused);
	tcase_add_test(tcase, model_for_regression_must_end_in_one);
	tcase_add_test(tcase, model_counts_places_and_names_its_parts);
	tcase_add_test(tcase, model_summary_of_many_layers_is_cut);
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
