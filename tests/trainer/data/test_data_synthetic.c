/* tests/trainer/data/test_data_synthetic.c — the generator: the same bytes everywhere, classes that
 * can be told apart by simple means, sizes that are refused before memory is taken. */
#include "tests/run.h"
#include "tests/trainer/data/data_set.h"
#include <math.h>

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
 * published with it. */
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
};

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
	sw_data_fini(&data);
}

static bool same_row(const float *a, const float *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* A row does not depend on how many there are. */
TEST(synthetic_rows_are_a_function_of_seed_and_row)
{
	static const char *const spec[] = {
		"{\"format\":\"synthetic\",\"features\":4,\"rows\":100}",
		"{\"format\":\"synthetic\",\"features\":4,\"rows\":200}",
		"{\"format\":\"synthetic\",\"features\":4,\"rows\":200,\"seed\":1}"};
	struct sw_data data[3];
	size_t found[3] = {0};

	for (int i = 0; i < 3; i++)
		load_ok(&data[i], spec[i], as_classes);
	for (size_t r = 0; r < 50; r++) {
		for (int i = 0; i < 3; i++) {
			for (size_t k = 0; k < data[i].train.rows + data[i].val.rows; k++) {
				const float *x =
					k < data[i].train.rows
						? data[i].train.x + 4 * k
						: data[i].val.x + 4 * (k - data[i].train.rows);

				found[i] += same_row(x, data[0].train.x + 4 * r);
			}
		}
	}
	ck_assert_uint_eq(found[0], 50);
	ck_assert_uint_eq(found[1], 50);
	ck_assert_uint_eq(found[2], 0);
	for (int i = 0; i < 3; i++)
		sw_data_fini(&data[i]);
}

/* The part of validation rows nearest to the mean of their class's training rows. */
static double nearest_mean(const struct sw_data *d)
{
	const size_t F = d->features, C = d->classes;
	double *mean = calloc(C * F, sizeof *mean);
	size_t *n = calloc(C, sizeof *n), right = 0;

	ck_assert_ptr_nonnull(mean);
	ck_assert_ptr_nonnull(n);
	for (size_t i = 0; i < d->train.rows; i++) {
		const size_t c = (size_t)d->train.label[i];

		n[c]++;
		for (size_t f = 0; f < F; f++)
			mean[c * F + f] += d->train.u8 ? (double)d->train.u8[i * F + f]
						       : (double)d->train.x[i * F + f];
	}
	for (size_t i = 0; i < d->val.rows; i++) {
		size_t best = 0;
		double least = INFINITY;

		for (size_t c = 0; c < C; c++) {
			double far = 0;

			for (size_t f = 0; f < F; f++) {
				const double v = d->val.u8 ? (double)d->val.u8[i * F + f]
							   : (double)d->val.x[i * F + f];
				const double e = v - mean[c * F + f] / (double)n[c];

				far += e * e;
			}
			if (far < least) {
				least = far;
				best = c;
			}
		}
		right += best == (size_t)d->val.label[i];
	}
	free(mean);
	free(n);
	return (double)right / (double)d->val.rows;
}

TEST(synthetic_classes_can_be_told_apart_but_not_by_noise_alone)
{
	static const struct {
		const char *spec;
		double least, most;
	} sets[] = {
		{"{\"format\":\"synthetic\",\"image\":[3,32,32],\"rows\":2000}", 0.7, 0.99},
		{"{\"format\":\"synthetic\",\"image\":[1,8,8],\"rows\":2000}", 0.5, 0.99},
		{"{\"format\":\"synthetic\",\"image\":[1,8,8],\"rows\":2000,\"noise\":1}", 0, 0.2},
		{"{\"format\":\"synthetic\",\"features\":16,\"rows\":2000}", 0.5, 0.99},
		{"{\"format\":\"synthetic\",\"features\":16,\"rows\":2000,\"noise\":1}", 0, 0.2},
	};

	for (size_t i = 0; i < ROWS(sets); i++) {
		struct sw_data data;

		load_ok(&data, sets[i].spec, as_classes);
		const double part = nearest_mean(&data);

		ck_assert_msg(part >= sets[i].least && part <= sets[i].most, "%s: %g", sets[i].spec,
			      part);
		sw_data_fini(&data);
	}
}

/* The part of validation rows whose class the training rows' counts of tokens say. */
static double counts_say(const struct sw_data *d)
{
	const size_t t = d->input.t, C = d->classes, V = d->vocab;
	double *n = calloc(C * V, sizeof *n), *all = calloc(C, sizeof *all);
	size_t right = 0;

	ck_assert_ptr_nonnull(n);
	ck_assert_ptr_nonnull(all);
	for (size_t i = 0; i < d->train.rows; i++) {
		const size_t c = (size_t)d->train.label[i];

		for (int32_t k = 0; k < d->train.length[i]; k++) {
			n[c * V + (size_t)d->train.token[i * t + (size_t)k]]++;
			all[c]++;
		}
	}
	for (size_t i = 0; i < d->val.rows; i++) {
		double most = -INFINITY;
		size_t best = 0;

		for (size_t c = 0; c < C; c++) {
			double sum = 0;

			for (int32_t k = 0; k < d->val.length[i]; k++) {
				const size_t id = (size_t)d->val.token[i * t + (size_t)k];

				sum += log((n[c * V + id] + 1) / (all[c] + (double)V));
			}
			if (sum > most) {
				most = sum;
				best = c;
			}
		}
		right += best == (size_t)d->val.label[i];
	}
	free(n);
	free(all);
	return (double)right / (double)d->val.rows;
}

/* Which tokens there are tells the pair of classes, and no more. */
TEST(synthetic_tokens_tell_the_pair_of_classes_and_end_in_padding)
{
	static const struct {
		const char *noise;
		double least, most;
	} sets[] = {{"0.5", 0.4, 0.6}, {"1", 0, 0.2}};

	for (size_t s = 0; s < 2; s++) {
		struct sw_data data;
		char spec[160];

		snprintf(spec, sizeof spec,
			 "{\"format\":\"synthetic\",\"tokens\":20,\"rows\":4000,\"vocab\":100,"
			 "\"noise\":%s}",
			 sets[s].noise);
		load_ok(&data, spec, as_classes);
		ck_assert_uint_eq(data.vocab, 100);
		for (size_t i = 0; i < data.train.rows; i++) {
			const int32_t n = data.train.length[i], *row = data.train.token + i * 20;

			ck_assert(n >= 10 && n <= 20);
			for (int32_t k = 0; k < 20; k++)
				ck_assert(k < n ? row[k] >= 1 && row[k] < 100 : row[k] == 0);
		}
		const double part = counts_say(&data);

		ck_assert_msg(part >= sets[s].least && part <= sets[s].most, "%s: %g",
			      sets[s].noise, part);
		sw_data_fini(&data);
	}
}

/* Without noise: a token's follower in one class is what it follows in the other of the pair, and
 * after eight it comes again. */
TEST(synthetic_tokens_have_the_order_of_their_class)
{
	int32_t after[4][200] = {{0}}, before[4][200] = {{0}};
	struct sw_data data;
	size_t pairs = 0;

	load_ok(&data,
		"{\"format\":\"synthetic\",\"tokens\":20,\"rows\":400,\"vocab\":200,"
		"\"classes\":4,\"noise\":0,\"seed\":3}",
		as_classes);
	for (size_t i = 0; i < data.train.rows; i++) {
		const int32_t *row = data.train.token + i * 20, c = data.train.label[i];

		for (int32_t k = 1; k < data.train.length[i]; k++) {
			ck_assert(!after[c][row[k - 1]] || after[c][row[k - 1]] == row[k]);
			ck_assert(k < 8 || row[k] == row[k - 8]);
			after[c][row[k - 1]] = row[k];
			before[c][row[k]] = row[k - 1];
		}
	}
	for (int c = 0; c < 4; c += 2) {
		for (int id = 0; id < 200; id++) {
			ck_assert_int_eq(after[c][id], before[c + 1][id]);
			pairs += after[c][id] != 0;
		}
	}
	ck_assert_uint_eq(pairs, 16);
	sw_data_fini(&data);
}

/* The step to the next token is the same but for noise, and what noise hits by chance. */
TEST(synthetic_next_token_follows_by_one_step)
{
	struct sw_data data;
	size_t same[49] = {0}, steps = 0, most = 0;

	load_ok(&data,
		"{\"format\":\"synthetic\",\"tokens\":20,\"rows\":1000,\"vocab\":50,"
		"\"next_token\":true,\"noise\":0.25}",
		as_classes);
	ck_assert_uint_eq(data.classes, 50);
	ck_assert_uint_eq(data.labels, 20);
	for (size_t i = 0; i < data.train.rows * 20; i++, steps++) {
		const int32_t a = data.train.token[i], b = data.train.label[i];

		ck_assert(a >= 1 && a < 50 && b >= 1 && b < 50);
		ck_assert(i % 20 == 19 || data.train.token[i + 1] == b);
		same[(b - a + 49) % 49]++;
	}
	for (int s = 0; s < 49; s++)
		most = same[s] > most ? same[s] : most;
	ck_assert_double_eq_tol((double)most / (double)steps, 0.755, 0.02);
	sw_data_fini(&data);
}

TEST(synthetic_values_are_near_a_linear_form)
{
	struct sw_data_want want = as_classes;
	struct sw_data data;
	double sxx = 0, sxy = 0;

	want.classes = false;
	load_ok(&data, "{\"format\":\"synthetic\",\"features\":1,\"rows\":2000,\"noise\":0.1}",
		want);
	for (size_t i = 0; i < data.train.rows; i++) {
		sxx += (double)data.train.x[i] * (double)data.train.x[i];
		sxy += (double)data.train.x[i] * (double)data.train.target[i];
	}
	double left = 0, all = 0;

	for (size_t i = 0; i < data.val.rows; i++) {
		const double y = (double)data.val.target[i];
		const double e = y - sxy / sxx * (double)data.val.x[i];

		left += e * e;
		all += y * y;
	}
	ck_assert_double_lt(left / all, 0.2);
	ck_assert_double_gt(left, 0);
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
