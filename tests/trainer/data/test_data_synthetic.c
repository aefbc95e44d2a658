/* tests/trainer/data/test_data_synthetic.c — the generator: the same bytes everywhere, sizes that
 * are refused before memory is taken. */
#include "tests/trainer/data/data_set.h"

static uint64_t fnv(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = 0xcbf29ce484222325u;

	while (n-- > 0)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

static const void *x_of(const struct sw_data_part *p)
{
	return p->x ? (const void *)p->x : p->u8 ? (const void *)p->u8 : (const void *)p->token;
}

/* Hashes of rows and labels, made once: a change of the generator changes results that people have
 * published with it. When they were made, a class's mean, or the counts of its tokens, told the
 * class of most other rows, and of no more than by chance where all is noise. */
static const struct {
	const char *spec;
	bool classes;
	uint64_t x, y;
} made[] = {
	{"{\"format\":\"synthetic\",\"image\":[3,32,32],\"rows\":64}", true, 0x93130e5daae22607,
	 0x99f3c64ecf8dfdca},
	{"{\"format\":\"synthetic\",\"image\":[1,5,9],\"rows\":64,\"classes\":3,\"seed\":7,"
	 "\"noise\":0.9}",
	 true, 0x9763783cf59a803b, 0xae08e9ee8759a054},
	{"{\"format\":\"synthetic\",\"features\":10,\"rows\":64}", true, 0xdc3736a26447d7a2,
	 0x99f3c64ecf8dfdca},
	{"{\"format\":\"synthetic\",\"features\":10,\"rows\":64}", false, 0xc95cc1425532dc7c,
	 0x5d63e2db3ae47fa6},
	{"{\"format\":\"synthetic\",\"tokens\":9,\"rows\":64,\"vocab\":50}", true,
	 0xbbdefcec6ba56be, 0x99f3c64ecf8dfdca},
	{"{\"format\":\"synthetic\",\"tokens\":9,\"rows\":64,\"vocab\":50,\"next_token\":true}",
	 true, 0xb2c67f3c8758699a, 0xba10671780f03287},
	{"{\"format\":\"synthetic\",\"features\":9,\"rows\":64,\"noise\":1}", true,
	 0x793f454979f3df87, 0x99f3c64ecf8dfdca},
	{"{\"format\":\"synthetic\",\"tokens\":20,\"rows\":64,\"vocab\":200,\"classes\":4,"
	 "\"noise\":0,\"seed\":3}",
	 true, 0x77c572208c8b14c1, 0x1dc25db70d7a1086},
};

/* What a row's length counts out is token 0, and nothing else is. */
static void lengths_check(const struct sw_data *d)
{
	const size_t t = d->input.t;

	for (size_t i = 0; d->train.length && i < d->train.rows * t; i++)
		ck_assert_int_eq(d->train.token[i] != 0, i % t < (size_t)d->train.length[i / t]);
}

TEST_ROWS(synthetic_rows_are_the_same_everywhere, made)
{
	struct sw_data_want want = as_classes;
	struct sw_data data;

	want.classes = made[_i].classes;
	load_ok(&data, made[_i].spec, want);
	ck_assert_uint_eq(data.train.rows, 32);
	const size_t item = data.train.u8 ? 1 : 4;
	const uint64_t x = fnv(x_of(&data.train), 32 * data.features * item);
	const uint64_t y =
		fnv(data.train.label ? (void *)data.train.label : (void *)data.train.target,
		    32 * data.labels * 4);

	ck_assert_msg(x == made[_i].x && y == made[_i].y, "%#llx, %#llx", (unsigned long long)x,
		      (unsigned long long)y);
	lengths_check(&data);
	sw_data_fini(&data);
}

static const struct {
	const char *spec;
	bool classes;
	const char *ptr, *says;
} refusals[] = {
	{"{\"format\":\"synthetic\"}", true, "/format",
	 "a synthetic data set needs one of \"image\": [channels, height, width], \"features\" and "
	 "\"tokens\""},
	{"{\"format\":\"synthetic\",\"features\":4,\"tokens\":4}", true, "/format",
	 "a synthetic data set needs one of \"image\": [channels, height, width], \"features\" and "
	 "\"tokens\""},
	{"{\"format\":\"synthetic\",\"image\":[3,32]}", true, "/image",
	 "\"image\" must be [channels, height, width], three integers from 1 to 65536 with a "
	 "product of at most 2^28"},
	{"{\"format\":\"synthetic\",\"image\":[65536,65536,65536]}", true, "/image",
	 "\"image\" must be [channels, height, width], three integers from 1 to 65536 with a "
	 "product of at most 2^28"},
	{"{\"format\":\"synthetic\",\"features\":4,\"rows\":1}", true, "/rows",
	 "\"rows\" must be an integer, at least 2 and at most 2147483647"},
	{"{\"format\":\"synthetic\",\"features\":4,\"noise\":1.5}", true, "/noise",
	 "\"noise\" must be a number, at least 0 and at most 1"},
	{"{\"format\":\"synthetic\",\"features\":4,\"vocab\":9}", true, "/vocab",
	 "\"vocab\" and \"next_token\" go with \"tokens\""},
	{"{\"format\":\"synthetic\",\"features\":4,\"augment\":{\"flip\":true}}", true, "/augment",
	 "\"augment\" is for images: say \"image\": [channels, height, width]"},
	{"{\"format\":\"synthetic\",\"image\":[1,8,6],\"augment\":{\"crop\":6}}", true,
	 "/augment/crop", "a shift by up to 6 pixels can leave nothing of an image of 8 x 6"},
	{"{\"format\":\"synthetic\",\"image\":[4096,1,1],\"classes\":4097}", true, "/classes",
	 "synthetic images of 4097 classes and 4096 channels: at most 2^24 of both together are "
	 "possible"},
	{"{\"format\":\"synthetic\",\"image\":[1,8,8]}", false, "",
	 "the loss \"mse\" needs numbers to predict, the labels of synthetic images and tokens are "
	 "classes"},
	{"{\"format\":\"synthetic\",\"features\":268435456,\"rows\":2147483647}", true, "",
	 "2147483647 rows of 268435456 values are over 1 TiB"},
};

TEST_ROWS(synthetic_refused_gets_its_line, refusals)
{
	struct sw_data_want want = as_classes;

	want.classes = refusals[_i].classes;
	refused(refusals[_i].spec, want, refusals[_i].ptr, refusals[_i].says);
}

/* What is more than the machine has is refused before a page of it is touched. */
TEST(synthetic_over_the_free_memory_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data data;

	ck_assert_int_eq(load(&data,
			      "{\"format\":\"synthetic\",\"image\":[1,512,512],\"rows\":4000000}",
			      as_classes, &err),
			 SW_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.msg, "the data set needs 1048592000000 bytes to be read"));
}

TEST(synthetic_without_memory_fails_cleanly_at_each_call)
{
	for (size_t i = 0; i < ROWS(made); i++) {
		struct sw_data_want want = as_classes;

		want.classes = made[i].classes;
		walk_faults(made[i].spec, want);
	}
}

RUN_TESTS(folder_make, folder_remove)
