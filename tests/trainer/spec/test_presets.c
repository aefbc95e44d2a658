/* tests/trainer/spec/test_presets.c — presets become lists, whole and with parameters' names. */
#include "proto/json.h"
#include "tests/run.h"
#include "trainer/spec/presets.h"

static const struct {
	const char *preset, *params, *list;
	bool images;
} lists[] = {
	{"{\"preset\":\"mlp\",\"outputs\":3,\"width\":\"w\",\"depth\":1}", NULL,
	 "[{\"linear\":\"w\"},\"relu\",{\"linear\":3}]", false},
	{"{\"preset\":\"mlp\",\"outputs\":3,\"depth\":\"d\",\"dropout\":\"p\"}", "{\"d\":1}",
	 "[{\"linear\":64},\"relu\",{\"dropout\":\"p\"},{\"linear\":3}]", false},
	{"{\"preset\":\"mlp\",\"outputs\":3,\"depth\":\"g.d\"}", "{\"g\":{\"d\":2}}",
	 "[{\"linear\":64},\"relu\",{\"linear\":64},\"relu\",{\"linear\":3}]", false},
	{"{\"preset\":\"lenet-cifar\",\"l1\":\"l1\"}", NULL,
	 "[{\"conv2d\":{\"out\":6,\"kernel\":5}},\"relu\",{\"maxpool2d\":2},"
	 "{\"conv2d\":{\"out\":16,\"kernel\":5}},\"relu\",{\"maxpool2d\":2},\"flatten\","
	 "{\"linear\":\"l1\"},\"relu\",{\"linear\":84},\"relu\",{\"linear\":10}]",
	 false},
	{"{\"preset\":\"transformer-encoder\",\"outputs\":2,\"layers\":1,\"dropout\":0}", NULL,
	 "[{\"embedding\":128},\"positional\",\"layernorm\",{\"residual\":[{\"attention\":4}]},"
	 "\"layernorm\",{\"residual\":[{\"linear\":512},\"gelu\",{\"linear\":128}]},\"layernorm\","
	 "\"mean_tokens\",{\"linear\":2}]",
	 false},
	{"{\"preset\":\"mlp\",\"outputs\":3,\"depth\":1}", NULL,
	 "[\"flatten\",{\"linear\":64},\"relu\",{\"linear\":3}]", true},
	{"[\"relu\"]", NULL, "[\"relu\"]", false},
	{"[{\"linear\":3}]", NULL, "[{\"linear\":3}]", true},
};

TEST_ROWS(preset_becomes_its_list, lists)
{
	cJSON *model = cJSON_Parse(lists[_i].preset), *want = cJSON_Parse(lists[_i].list);
	cJSON *params = lists[_i].params ? cJSON_Parse(lists[_i].params) : NULL, *owned = NULL;
	const cJSON *list = NULL;
	char *text;

	ck_assert_int_eq(sw_model_list(model, params, lists[_i].images, &owned, &list, NULL),
			 SW_OK);
	text = cJSON_PrintUnformatted(list);
	ck_assert_msg(cJSON_Compare(list, want, 1), "%s is not %s", text, lists[_i].list);
	free(text);
	cJSON_Delete(owned);
	cJSON_Delete(want);
	cJSON_Delete(params);
	cJSON_Delete(model);
}

/* Before anybody has checked the spec (`sweep-worker layers`): the text's end ends the list. */
TEST(preset_of_absurd_depth_is_refused)
{
	cJSON *model = cJSON_Parse("{\"preset\":\"mlp\",\"outputs\":3,\"depth\":1e15}"), *owned;
	const cJSON *list;

	ck_assert_int_eq(sw_model_list(model, NULL, false, &owned, &list, NULL), SW_TOO_BIG);
	cJSON_Delete(model);
}

/* For people: with names wherever a parameter sets a number. */
static const struct {
	const char *preset, *list;
	enum sw_dataset_image images;
} outlines[] = {
	{"{\"preset\":\"mlp\",\"outputs\":3,\"width\":\"w\",\"depth\":\"opt.d\",\"dropout\":\"p\"}",
	 "[{\"opt.d times\":[{\"linear\":\"w\"},\"relu\",{\"dropout\":\"p\"}]},{\"linear\":3}]",
	 SW_IMAGES_NO},
	{"{\"preset\":\"mlp\",\"outputs\":3,\"width\":\"w\",\"depth\":2}",
	 "[{\"linear\":\"w\"},\"relu\",{\"linear\":\"w\"},\"relu\",{\"linear\":3}]", SW_IMAGES_NO},
	{"{\"preset\":\"transformer-encoder\",\"outputs\":2,\"layers\":\"n\",\"heads\":\"h\","
	 "\"width\":\"w\",\"dropout\":0}",
	 "[{\"embedding\":\"w\"},\"positional\",\"layernorm\",{\"n times\":[{\"residual\":["
	 "{\"attention\":\"h\"}]},\"layernorm\",{\"residual\":[{\"linear\":512},\"gelu\","
	 "{\"linear\":\"w\"}]},\"layernorm\"]},\"mean_tokens\",{\"linear\":2}]",
	 SW_IMAGES_NO},
	{"{\"preset\":\"mlp\",\"outputs\":3,\"depth\":\"d\"}",
	 "[\"flatten\",{\"d times\":[{\"linear\":64},\"relu\"]},{\"linear\":3}]", SW_IMAGES_YES},
	{"{\"preset\":\"mlp\",\"outputs\":3,\"depth\":1}",
	 "[{\"for images\":\"flatten\"},{\"linear\":64},\"relu\",{\"linear\":3}]",
	 SW_IMAGES_PERHAPS},
	{"[{\"linear\":\"w\"}]", "[{\"linear\":\"w\"}]", SW_IMAGES_PERHAPS},
};

TEST_ROWS(preset_outline_has_the_parameters_names, outlines)
{
	cJSON *model = cJSON_Parse(outlines[_i].preset), *want = cJSON_Parse(outlines[_i].list);
	cJSON *owned = NULL;
	const cJSON *list = NULL;
	char *text;

	ck_assert_int_eq(sw_model_outline(model, outlines[_i].images, &owned, &list, NULL), SW_OK);
	text = cJSON_PrintUnformatted(list);
	ck_assert_msg(cJSON_Compare(list, want, 1), "%s is not %s", text, outlines[_i].list);
	free(text);
	cJSON_Delete(owned);
	cJSON_Delete(want);
	cJSON_Delete(model);
}

/* Each "out" of the list and those in it, one after the other: "w 2 * w 2 * w ..." */
static void outs(const cJSON *v, char *to, size_t cap)
{
	const size_t n = strlen(to);

	if (v->string && strcmp(v->string, "out") == 0)
		(void)snprintf(to + n, cap - n, "%s,", v->valuestring ? v->valuestring : "?");
	for (const cJSON *c = v->child; c; c = c->next)
		outs(c, to, cap);
}

TEST(preset_outline_of_a_resnet_has_products)
{
	cJSON *model = cJSON_Parse("{\"preset\":\"resnet18-cifar\",\"width\":\"w\"}");
	cJSON *owned = NULL;
	const cJSON *list = NULL;
	char text[512] = "";

	ck_assert_int_eq(sw_model_outline(model, SW_IMAGES_YES, &owned, &list, NULL), SW_OK);
	outs(list, text, sizeof text);
	ck_assert_str_eq(text, "w,w,w,w,w,2 * w,2 * w,2 * w,2 * w,4 * w,4 * w,4 * w,4 * w,8 * w,"
			       "8 * w,8 * w,8 * w,");
	cJSON_Delete(owned);
	cJSON_Delete(model);
}

static size_t count(const cJSON *v, const char *name)
{
	size_t n = v->string && strcmp(v->string, name) == 0;

	for (const cJSON *c = v->child; c; c = c->next)
		n += count(c, name);
	return n;
}

/* Convolutions beside those of projections, which lists do not have. */
TEST_LOOP(preset_resnets_have_their_layers, 0, 2)
{
	static const struct {
		const char *preset;
		size_t convs, blocks;
	} nets[] = {{"{\"preset\":\"resnet18-cifar\"}", 17, 8},
		    {"{\"preset\":\"resnet50\"}", 49, 16}};
	cJSON *model = cJSON_Parse(nets[_i].preset), *owned = NULL;
	const cJSON *list = NULL;

	ck_assert_int_eq(sw_model_list(model, NULL, true, &owned, &list, NULL), SW_OK);
	ck_assert_uint_eq(count(list, "conv2d"), nets[_i].convs);
	ck_assert_uint_eq(count(list, "residual"), nets[_i].blocks);
	cJSON_Delete(owned);
	cJSON_Delete(model);
}

RUN_TESTS(NULL, NULL)
