/* tests/trainer/file/test_export.c — a checkpoint as safetensors: whole, or what was there
 * before. */
#include "tests/run.h"
#include "tests/walk.h"
#include "tests/worker/trial.h"
#include "trainer/file/checkpoint_format.h"
#include "trainer/file/export.h"
#include <xxhash.h>

static const struct sw_trainer adamw = {
	.classes = true, ADAM_OF(SW_ADAMW, 0.01), .batch_size = 32, .epochs = 3};
static const struct sw_checkpoint_id id = {.sweep = 12, .trial = 7, .epoch = 9};

static struct sw_model model;
static const char label[] = "{\"sweepd\":\"1\",\"model\":\"[\\\"relu\\\"]\"}";
static char from[160], to[160];
static struct sw_exported is;

static void setup(void)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_net net;

	trial_setup();
	data_load("wine", true);
	model_make(&model, "[{\"linear\": 4}, \"batchnorm\", \"relu\", {\"linear\": 3}]", true);
	model.label = label;
	snprintf(from, sizeof from, "%s/7-9.ckpt", folder);
	snprintf(to, sizeof to, "%s/model.safetensors", folder);
	ck_assert_int_eq(
		sw_net_create(&net, &sw_ops_cpu, queue, &model, &adamw, &data, NULL, 99, &err),
		SW_OK);
	ck_assert_msg(sw_checkpoint_write(&net, &id, folder, &err) == SW_OK, "%s", err.msg);
	sw_net_destroy(&net);
}

/* The weights 13 x 4 + 4 + 3 x 4 + 4 x 3 + 3, the statistics 8, the counter; no optimizer. */
#define TENSOR_BYTES (4 * (13 * 4 + 4 + 4 + 4 + 4 * 3 + 3) + 4 * 8 + 8)

TEST(export_has_the_weights_and_no_more)
{
	struct sw_err err = SW_ERR_INIT;
	unsigned char *bytes;
	size_t n, header;

	ck_assert_msg(sw_export(from, to, &is, &err) == SW_OK, "%s", err.msg);
	bytes = file_read(to, &n);
	header = bytes[0] | (size_t)bytes[1] << 8;
	ck_assert_uint_eq(header % 8, 0);
	ck_assert_uint_eq(n, 8 + header + TENSOR_BYTES);
	ck_assert_uint_eq(names_in(folder, NULL), 2);
	bytes[8 + header] = '\0';
	ck_assert_ptr_nonnull(
		strstr((char *)bytes + 8, "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[4,13]"));
	ck_assert_ptr_nonnull(strstr((char *)bytes + 8, "\"1.num_batches_tracked\""));
	ck_assert_ptr_nonnull(
		strstr((char *)bytes + 8, "\"sweepd\":\"1\",\"model\":\"[\\\"relu\\\"]\"}"));
	free(bytes);
}

/* Of a file with another epoch's weights those are exported, its norms and its steps. */
TEST(export_has_the_weights_of_the_best_epoch)
{
	struct sw_err err = SW_ERR_INIT;
	int32_t order[32];
	unsigned char *first = NULL, *bytes;
	struct sw_net net;
	size_t n = 0, m;

	for (int32_t i = 0; i < 32; i++)
		order[i] = i;
	ck_assert_int_eq(
		sw_net_create(&net, &sw_ops_cpu, queue, &model, &adamw, &data, NULL, 99, &err),
		SW_OK);
	ck_assert_int_eq(sw_net_order(&net, order, 32), SW_OK);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(sw_net_train(&net, &data, 0, &(size_t){0}), SW_OK);
		if (i == 0) {
			ck_assert_int_eq(sw_net_best_take(&net, 9, 0.5), SW_OK);
			ck_assert_int_eq(sw_checkpoint_write(&net, &id, folder, &err), SW_OK);
			ck_assert_msg(sw_export(from, to, &is, &err) == SW_OK, "%s", err.msg);
			first = file_read(to, &n);
		}
	}
	const struct sw_checkpoint_id later = {.sweep = 12, .trial = 7, .epoch = 11};
	ck_assert_int_eq(sw_checkpoint_write(&net, &later, folder, &err), SW_OK);
	snprintf(from, sizeof from, "%s/7-11.ckpt", folder);
	ck_assert_msg(sw_export(from, to, &is, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(is.epoch, 9);
	bytes = file_read(to, &m);
	ck_assert_uint_eq(m, n);
	ck_assert_mem_eq(bytes, first, n);
	free(first);
	free(bytes);
	sw_net_destroy(&net);
}

TEST(export_of_a_file_with_any_byte_changed_is_refused)
{
	unsigned char *bytes;
	size_t n;

	bytes = file_read(from, &n);
	for (size_t i = 0; i < n; i++) {
		struct sw_err err = SW_ERR_INIT;

		bytes[i] ^= 0x40;
		file_write(from, bytes, n);
		ck_assert_int_eq(sw_export(from, to, &is, &err), SW_INVALID);
		ck_assert_ptr_nonnull(strstr(err.msg, "the checkpoint 7-9.ckpt is "));
		bytes[i] ^= 0x40;
	}
	ck_assert_uint_eq(names_in(folder, NULL), 1);
	free(bytes);
}

/* The checksum is right, so it is only the names that are wrong. */
TEST(export_of_two_tensors_of_one_name_is_refused)
{
	static const struct {
		const char *name, *line; /* of the second tensor, "0.bias" */
	} table[] = {{"0.byas", NULL},
		     {"0.weight", "the key \"0.weight\" appears twice"},
		     {"1.running_mean", "the key \"1.running_mean\" appears twice"},
		     {"1.num_batches_tracked", "the key \"1.num_batches_tracked\" appears twice"},
		     {"__metadata__", "the key \"__metadata__\" appears twice"}};
	unsigned char *bytes;
	size_t n, at = CHECKPOINT_FIXED + 4 * CHECKPOINT_LAYER + CHECKPOINT_TENSOR;

	bytes = file_read(from, &n);
	ck_assert_mem_eq(bytes + at, "0.bias", 7);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct sw_err err = SW_ERR_INIT;
		XXH128_canonical_t sum;
		sw_status status;

		memset(bytes + at, 0, 64);
		memcpy(bytes + at, table[i].name, strlen(table[i].name));
		XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes, n - CHECKPOINT_SUM));
		memcpy(bytes + n - CHECKPOINT_SUM, sum.digest, CHECKPOINT_SUM);
		file_write(from, bytes, n);
		status = sw_export(from, to, &is, &err);
		ck_assert_int_eq(status, table[i].line ? SW_INVALID : SW_OK);
		ck_assert_uint_eq(names_in(folder, NULL), table[i].line ? 1 : 2);
		if (table[i].line)
			ck_assert_msg(strstr(err.msg, table[i].line) != NULL, "%s", err.msg);
		else
			ck_assert_int_eq(unlink(to), 0);
	}
	free(bytes);
}

TEST_LOOP(export_that_fails_anywhere_leaves_what_was_there, 0, 2)
{
	const enum sw_fault_kind kind = _i ? SW_FAULT_IO : SW_FAULT_MALLOC;

	WALK (kind, kind == SW_FAULT_IO ? 12 : 2) {
		struct sw_err err = SW_ERR_INIT;
		unsigned char *now;
		sw_status status;
		size_t bytes;

		file_write(to, (const unsigned char *)"before", 6);
		walk_arm();
		status = sw_export(from, to, &is, &err);
		const unsigned fired = walk_disarm();
		now = file_read(to, &bytes);
		ck_assert_int_eq(status == SW_OK, fired == 0);
		ck_assert_int_eq(bytes == 6, fired != 0);
		ck_assert_int_eq(*err.msg != '\0', fired != 0);
		ck_assert_uint_eq(names_in(folder, NULL), 2);
		free(now);
	}
}

TEST(export_of_no_file_says_so)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_export("/nowhere/1-2.ckpt", to, &is, &err), SW_NOT_FOUND);
	ck_assert_str_eq(err.msg,
			 "the checkpoint 1-2.ckpt cannot be read: No such file or directory");
	ck_assert_int_eq(sw_export(from, "/nowhere/model", &is, NULL), SW_IO);
}

RUN_TESTS(setup, trial_teardown)
