/* tests/trainer/file/test_label.c — what goes with a model's weights: its list, its input, its
 * columns. */
#include "proto/json.h"
#include "tests/trainer/data/data_set.h"
#include "trainer/file/label.h"

static struct sw_queue *queue;

static const char named[] = "a,kind,\"b,\"\"c\"\"\"\n1,x,0\n2,\"y, z\",0\n3,x,8\n4,x,8\n";
static const char bare[] = "3,1,2.5\n4,1,3.5\n";

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cpu.queue_create(&queue), SW_OK);
	folder_make();
	put("d.csv", named, sizeof named - 1);
	put("n.csv", bare, sizeof bare - 1);
}

static void teardown(void)
{
	folder_remove();
	sw_ops_cpu.queue_destroy(queue);
}

/* The trainer's text with the folder for "@", its parameters, its loss; what the label holds. */
static const struct {
	const char *trainer, *params;
	bool classes, scale;
	const char *label[9][2]; /* NULL: must not be there */
} labels[] = {
	{"{\"dataset\":{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":\"kind\"},"
	 "\"model\":[{\"linear\":\"w\"},\"relu\",{\"residual\":[{\"linear\":{\"out\":\"g.n\","
	 "\"bias\":false}}]},{\"linear\":2}]}",
	 "{\"w\":8,\"g\":{\"n\":4}}",
	 true,
	 true,
	 {{"sweepd", "1"},
	  {"model",
	   "[{\"linear\":8},\"relu\",{\"residual\":[{\"linear\":{\"out\":4,\"bias\":false}}"
	   "]},{\"linear\":2}]"},
	  {"input", "{\"kind\":\"numbers\",\"shape\":[2]}"},
	  {"output", "{\"loss\":\"cross_entropy\",\"outputs\":2,\"labels\":1}"},
	  {"dataset", "{\"format\":\"csv\"}"},
	  {"table", "{\"target\":\"kind\",\"target_column\":1,\"width\":3,\"header\":true,\""
		    "encoding\":\"utf-8\",\"columns\":[{\"name\":\"a\",\"column\":0,\"kind\":\""
		    "number\",\"fill\":2.5,\"center\":2.5,\"width\":1.5,\"clip\":3},{\"na"
		    "me\":\"b,\\\"c\\\"\",\"column\":2,\"kind\":\"number\",\"fill\":4,\"ce"
		    "nter\":4,\"width\":8,\"clip\":3}]}"},
	  {"classes", "[\"x\",\"y, z\"]"},
	  {"mean", NULL},
	  {"std", NULL}}},
	{"{\"dataset\":{\"format\":\"csv\",\"path\":\"@/n.csv\",\"label\":-1,\"header\":false},"
	 "\"model\":{\"preset\":\"mlp\",\"outputs\":1,\"depth\":\"d\",\"width\":\"w\"},"
	 "\"loss\":\"mse\"}",
	 "{\"d\":1,\"w\":5}",
	 false,
	 false,
	 {{"model", "[{\"linear\":5},\"relu\",{\"linear\":1}]"},
	  {"output", "{\"loss\":\"mse\",\"outputs\":1,\"labels\":1}"},
	  {"dataset", "{\"format\":\"csv\"}"},
	  {"table", "{\"target\":null,\"target_column\":2,\"width\":3,\"header\":false,\"e"
		    "ncoding\":\"utf-8\",\"columns\":[{\"column\":0,\"kind\":\"number\",\"fil"
		    "l\":3.5}]}"},
	  {"classes", NULL},
	  {"mean", NULL},
	  {"std", NULL},
	  {"input", "{\"kind\":\"numbers\",\"shape\":[1]}"},
	  {"sweepd", "1"}}},
	{"{\"dataset\":{\"format\":\"synthetic\",\"tokens\":6,\"vocab\":9,\"classes\":3,"
	 "\"rows\":20},\"model\":[{\"embedding\":4},\"mean_tokens\",{\"linear\":3}]}",
	 "{}",
	 true,
	 true,
	 {{"input", "{\"kind\":\"tokens\",\"shape\":[6],\"vocab\":9,\"dtype\":\"uint16\"}"},
	  {"output", "{\"loss\":\"cross_entropy\",\"outputs\":3,\"labels\":1}"},
	  {"dataset", "{\"format\":\"synthetic\"}"},
	  {"table", NULL},
	  {"classes", NULL},
	  {"mean", NULL},
	  {"std", NULL},
	  {"sweepd", "1"},
	  {"model", "[{\"embedding\":4},\"mean_tokens\",{\"linear\":3}]"}}},
};

static sw_status make(int i, char **out, struct sw_err *err)
{
	char text[1024];
	cJSON *trainer = cJSON_Parse(with_folder(labels[i].trainer, text));
	cJSON *params = cJSON_Parse(labels[i].params);
	const struct sw_data_want want = {.classes = labels[i].classes,
					  .scale = labels[i].scale ? SW_SCALE_AUTO : SW_SCALE_NONE,
					  .val_fraction = 0.5,
					  .all = true};
	struct sw_data_source source;
	struct sw_data data = {0};
	sw_status status;

	ck_assert_ptr_nonnull(trainer);
	*out = NULL;
	status = sw_data_source_read(&source, sw_json_get(trainer, "dataset"), err);
	if (status == SW_OK)
		status = sw_data_load(&data, &source, want, &sw_ops_cpu, queue, err);
	if (status == SW_OK)
		status = sw_label_make(out, trainer, params, &data, err);
	sw_data_fini(&data);
	cJSON_Delete(trainer);
	cJSON_Delete(params);
	return status;
}

TEST_LOOP(label_says_what_the_model_takes, 0, 3)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *label = NULL;
	char *text;

	ck_assert_msg(make(_i, &text, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_json_parse(&label, text, strlen(text), &err), SW_OK);
	for (size_t k = 0; k < 9; k++) {
		const char *key = labels[_i].label[k][0], *want = labels[_i].label[k][1];
		const cJSON *v = sw_json_get(label, key);
		const char *is = cJSON_IsString(v) ? v->valuestring : "missing";

		ck_assert_msg(want ? strcmp(is, want) == 0 : v == NULL, "%s: %s, not %s", key, is,
			      want ? want : "missing");
	}
	cJSON_Delete(label);
	free(text);
}

TEST_LOOP(label_without_memory_fails_cleanly_at_each_call, 0, 3)
{
	WALK (SW_FAULT_MALLOC, 10) {
		struct sw_err err = SW_ERR_INIT;
		sw_status status;
		char *text;

		walk_arm();
		status = make(_i, &text, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(status, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(text == NULL, fired != 0);
		free(text);
	}
}

RUN_TESTS(setup, teardown)
