/* tests/trainer/spec/test_dataset.c — "trainer.dataset": keys of each format, read or refused. */
#include "tests/spec/spec_text.h"
#include "trainer/spec/dataset.h"

#define F(name) "{'format':'" name "'"

static const struct {
	const char *text, *ptr, *says;
} refused[] = {
	{"7", "", "\"dataset\" must be an object, not a number"},
	{F("npy") ",'path':'x','label_path':'y','val_path':'v'}", "/val_label_path",
	 "\"val_path\" needs \"val_label_path\" exactly when there is a \"label_path\""},
	{F("npy") ",'path':'x','label_path':'y','val_label_path':'v'}", "/val_path",
	 "\"val_label_path\" needs \"val_path\""},
	{F("tokens") ",'path':'x','length':4,'val_path':'v','val_label_path':'w'}",
	 "/val_label_path",
	 "\"val_path\" needs \"val_label_path\" exactly when there is a \"label_path\""},
	{F("tokens") ",'path':'x','length':4,'pad':0}", "/pad",
	 "\"pad\" goes with \"label_path\": rows for the next token are full"},
	{F("tokens") ",'path':'x','label_path':'y','length':4,'pad':65536}", "/pad",
	 "\"pad\" must be at most 65535: ids are uint16"},
	{F("idx") ",'path':'x','label_path':'y','validation':'test'}", "/validation",
	 "\"validation\": \"test\" goes with a folder: give \"val_path\" and \"val_label_path\""},
	{F("idx") ",'path':'x','val_path':'y','val_label_path':'z'}", "/val_path",
	 "\"val_path\" goes with \"label_path\": for a folder say \"validation\": \"test\""},
	{F("cifar10") ",'path':'x','normalize':{'mean':[0.5]}}", "/normalize/std",
	 "\"std\" is missing: a list of 1 to 16 numbers above 0"},
	{F("cifar10") ",'path':'x','normalize':{'mean':[0.5],'std':[1,1]}}", "/normalize/std",
	 "\"mean\" and \"std\" must have the same length"},
	{F("csv") ",'path':'x','label':0,'normalize':{'mean':[1],'std':[1]}}", "/normalize",
	 "\"normalize\" is for images: say \"image\": [channels, height, width]"},
	{"{'name':'digits','augment':{'flip':true}}", "/augment",
	 "\"augment\" is for images: say \"image\": [channels, height, width]"},
};

TEST_ROWS(dataset_refused_gets_its_line, refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_dataset out;
	cJSON *json = parse(refused[_i].text);

	ck_assert_int_eq(sw_dataset_read(&out, json, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, refused[_i].says);
	ck_assert_str_eq(err.ptr, refused[_i].ptr);
	cJSON_Delete(json);
}

static void read_ok(struct sw_dataset *out, cJSON *json)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_dataset_read(out, json, &err) == SW_OK, "%s: %s", err.ptr, err.msg);
}

TEST(dataset_defaults)
{
	struct sw_dataset d;
	cJSON *json = parse("{'format':'cifar10','path':'c'}");

	read_ok(&d, json);
	ck_assert_int_eq(d.format, SW_DATASET_CIFAR10);
	ck_assert_str_eq(d.path, "c");
	ck_assert(!d.test && !d.flip && !d.name && d.crop == 0 && d.norm_n == 0);
	cJSON_Delete(json);
	json = parse("{'format':'synthetic','tokens':5}");
	read_ok(&d, json);
	ck_assert(d.rows == 10000 && d.classes == 10 && d.noise == 128 && d.vocab == 256);
	ck_assert(d.tokens == 5 && !d.next_token && d.seed == 0);
	cJSON_Delete(json);
	json = parse("{'format':'tokens','path':'t','length':5}");
	read_ok(&d, json);
	ck_assert(d.next_token && !d.wide && d.pad == -1 && d.vocab == 0);
	cJSON_Delete(json);
}

TEST(dataset_keys_are_read)
{
	struct sw_dataset d;
	cJSON *json = parse("{'format':'cifar100','path':'c','labels':'coarse','validation':'test',"
			    "'normalize':{'mean':[0.5,0,-1],'std':[0.25,1,2]},"
			    "'augment':{'crop':4,'flip':true}}");

	read_ok(&d, json);
	ck_assert(d.coarse && d.test && d.flip && d.crop == 4 && d.norm_n == 3);
	ck_assert_double_eq(d.mean[2], -1);
	ck_assert_double_eq(d.std[0], 0.25);
	cJSON_Delete(json);
	json = parse("{'format':'tokens','path':'t','label_path':'l','length':5,'dtype':'uint32',"
		     "'pad':0,'vocab':9,'val_path':'v','val_label_path':'w'}");
	read_ok(&d, json);
	ck_assert(!d.next_token && d.wide && d.pad == 0 && d.vocab == 9 && d.tokens == 5);
	ck_assert_str_eq(d.val_label_path, "w");
	cJSON_Delete(json);
	json = parse("{'format':'csv','path':'t','label':3,'header':false,'image':[1,2,3]}");
	read_ok(&d, json);
	ck_assert(d.label == NULL && d.label_column == 3 && !d.header && d.image[2] == 3);
	cJSON_Delete(json);
}

RUN_TESTS(NULL, NULL)
