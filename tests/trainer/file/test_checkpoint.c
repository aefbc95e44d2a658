/* tests/trainer/file/test_checkpoint.c — the file: what goes in comes out, and nothing else
 * does. */
#include "tests/run.h"
#include "tests/walk.h"
#include "tests/worker/trial.h"
#include <signal.h>
#include <sys/resource.h>
#include <xxhash.h>

static const char layers[] = "[{\"linear\": 2}, \"relu\", {\"dropout\": 0.1}, {\"linear\": 3}]";
static const struct sw_trainer sgd = {.classes = true, .lr = 0.05, .batch_size = 32, .epochs = 3};
static const struct sw_trainer momentum = {
	.classes = true, .lr = 0.05, .momentum = 0.9, .batch_size = 32, .epochs = 3};
static const struct sw_trainer adamw = {
	.classes = true, ADAM_OF(SW_ADAMW, 0.01), .batch_size = 32, .epochs = 3};
static const struct sw_checkpoint_id id = {.sweep = 12, .trial = 7, .epoch = 9};

static struct sw_model model;
static char path[128]; /* of the checkpoint of id */
static struct sw_net a, b;
static unsigned char *file; /* its bytes */
static size_t size;

static void setup(void)
{
	trial_setup();
	data_load("wine", true);
	model_make(&model, layers, true);
	snprintf(path, sizeof path, "%s/7-9.ckpt", folder);
}

static void teardown(void)
{
	free(file);
	sw_net_destroy(&a);
	sw_net_destroy(&b);
	trial_teardown();
}

static void net_make(struct sw_net *net, const struct sw_model *m, const struct sw_trainer *t,
		     uint64_t seed)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_net_create(net, &sw_ops_cpu, queue, m, t, &data, NULL, seed, &err),
			 SW_OK);
}

/* A net that has made three steps, its state in the file. */
static void net_written(struct sw_net *net, const struct sw_trainer *t)
{
	int32_t order[32];
	struct sw_err err = SW_ERR_INIT;

	net_make(net, &model, t, 99);
	for (int32_t i = 0; i < 32; i++)
		order[i] = i;
	ck_assert_int_eq(sw_net_order(net, order, 32), SW_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(sw_net_train(net, &data, 0, &(size_t){0}), SW_OK);
	ck_assert_msg(sw_checkpoint_write(net, &id, folder, &err) == SW_OK, "%s", err.msg);
}

/* a is in the file, b is to read it. */
static void written_and_fresh(const struct sw_trainer *t)
{
	net_written(&a, t);
	net_make(&b, &model, t, 5);
	file = file_read(path, &size);
}

/* Set i of the net equals that of the other; other NULL: it is all zeros. */
static void set_equal(const struct sw_net *net, const struct sw_net *other, size_t i)
{
	const size_t n = model.weights_n * sizeof(float);
	float *has = calloc(1, n), *wanted = calloc(1, n);

	ck_assert_int_eq(sw_net_set_download(net, i, has), SW_OK);
	if (other)
		ck_assert_int_eq(sw_net_set_download(other, i, wanted), SW_OK);
	ck_assert_mem_eq(has, wanted, n);
	free(has);
	free(wanted);
}

/* What is not written was not made: a line, a net that is as it was. */
static void refused(struct sw_net *net, sw_status expected, const char *says)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_net fresh;
	const sw_status status = sw_checkpoint_read(net, &id, path, &err);

	ck_assert_msg(status == expected, "%s: %s", sw_status_str(status), err.msg);
	ck_assert_msg(strstr(err.msg, says) != NULL, "\"%s\" has no \"%s\"", err.msg, says);
	ck_assert_ptr_nonnull(strstr(err.msg, "the checkpoint 7-9.ckpt "));
	ck_assert_ptr_null(strstr(err.msg, folder));
	net_make(&fresh, &model, net->trainer, 5);
	if (net->model == &model)
		for (size_t i = 0; i < sw_net_sets(net); i++)
			set_equal(net, &fresh, i);
	ck_assert_uint_eq(net->step, 0);
	ck_assert_uint_eq(net->seed, 5);
	sw_net_destroy(&fresh);
}

/* From a trainer to another: optimizers with 0, 1 and 2 sets of state. */
static const struct {
	const struct sw_trainer *from, *to;
} pairs[] = {{&sgd, &sgd},
	     {&momentum, &momentum},
	     {&adamw, &adamw},
	     {&sgd, &momentum},
	     {&momentum, &sgd}};

TEST_ROWS(checkpoint_read_gives_what_was_written, pairs)
{
	struct sw_err err = SW_ERR_INIT;
	struct stat st;

	net_written(&a, pairs[_i].from);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_uint_eq((size_t)st.st_size,
			  136 + 24 * 4 + 104 * 4 + sw_net_sets(&a) * 4 * (14 * 2 + 3 * 3) + 16);
	ck_assert_uint_eq(names_in(folder, NULL), 1);
	net_make(&b, &model, pairs[_i].to, 5);
	ck_assert_msg(sw_checkpoint_read(&b, &id, path, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(b.step, 3);
	ck_assert_uint_eq(b.seed, 99);
	for (size_t i = 0; i < sw_net_sets(&b); i++)
		set_equal(&b, i < sw_net_sets(&a) ? &a : NULL, i);
}

TEST(checkpoint_with_any_byte_changed_is_refused)
{
	static const unsigned char flips[] = {0x01, 0x80, 0xff};

	written_and_fresh(&momentum);
	for (size_t i = 0; i < size; i++)
		for (size_t k = 0; k < sizeof flips; k++) {
			file[i] ^= flips[k];
			file_write(path, file, size);
			refused(&b, SW_INVALID,
				i >= 136 ? "is damaged: its checksum is wrong" : " is ");
			file[i] ^= flips[k];
		}
	file_write(path, file, size);
	ck_assert_int_eq(sw_checkpoint_read(&b, &id, path, NULL), SW_OK);
}

TEST(checkpoint_of_any_other_length_is_refused)
{
	written_and_fresh(&adamw);
	for (size_t i = 0; i < size; i++) {
		file_write(path, file, i);
		refused(&b, SW_INVALID, "is cut short: ");
	}
	file[size] = 0;
	file_write(path, file, size + 1);
	refused(&b, SW_INVALID, "is damaged: its lengths are wrong");
}

static void sum_again(void)
{
	XXH128_canonical_t sum;

	XXH128_canonicalFromHash(&sum, XXH3_128bits(file, size - 16));
	memcpy(file + size - 16, sum.digest, 16);
}

TEST(checkpoint_of_another_version_is_refused)
{
	written_and_fresh(&momentum);
	ck_assert_uint_eq(file[8], SW_CHECKPOINT_VERSION);
	for (unsigned char version = 0; version < 3; version++) {
		file[8] = version;
		sum_again();
		file_write(path, file, size);
		if (version != SW_CHECKPOINT_VERSION)
			refused(&b, SW_INVALID,
				version == 0 ? "is of version 0, this program reads 1"
					     : "is of version 2, this program reads 1");
	}
}

/* The weights of another epoch stand beside the last's, and come back; those of the last stand
 * there once. */
TEST_LOOP(checkpoint_has_the_best_epoch_beside_the_last, 0, 2)
{
	const size_t weights = model.weights_n * sizeof(float);
	const uint64_t best = _i ? 9 : 4;
	struct sw_err err = SW_ERR_INIT;
	float *then = malloc(weights);
	struct stat one, two;

	net_written(&a, &adamw);
	ck_assert_int_eq(stat(path, &one), 0);
	ck_assert_int_eq(sw_net_best_take(&a, best, 0.25), SW_OK);
	ck_assert_int_eq(sw_net_set_download(&a, 0, then), SW_OK);
	if (!_i)
		ck_assert_int_eq(sw_net_train(&a, &data, 0, &(size_t){0}), SW_OK);
	ck_assert_msg(sw_checkpoint_write(&a, &id, folder, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(stat(path, &two), 0);
	ck_assert_int_eq(two.st_size - one.st_size, _i ? 0 : 4 * (14 * 2 + 3 * 3));
	net_make(&b, &model, &adamw, 5);
	ck_assert_msg(sw_checkpoint_read(&b, &id, path, &err) == SW_OK, "%s", err.msg);
	for (size_t i = 0; i < 3; i++)
		set_equal(&b, &a, i);
	ck_assert_uint_eq(b.best.epoch, best);
	ck_assert_uint_eq(b.best.step, 3);
	ck_assert_double_eq(b.best.value, 0.25);
	ck_assert_mem_eq(b.best.weights, then, weights);
	free(then);
}

TEST(checkpoint_with_a_label_is_read_without_it)
{
	struct sw_err err = SW_ERR_INIT;

	model.label = "{\"sweepd\":\"1\"}";
	written_and_fresh(&adamw);
	ck_assert_mem_eq(file + 136 + 24 * 4 + 104 * 4, model.label, strlen(model.label));
	ck_assert_msg(sw_checkpoint_read(&b, &id, path, &err) == SW_OK, "%s", err.msg);
	for (size_t i = 0; i < 3; i++)
		set_equal(&b, &a, i);
	for (size_t i = 0; i < size; i++) {
		file[i] ^= 0x20;
		file_write(path, file, size);
		ck_assert_int_eq(sw_checkpoint_read(&b, &id, path, NULL), SW_INVALID);
		file[i] ^= 0x20;
	}
}

/* Trials that this checkpoint does not fit, and the line that each is told. */
static const struct {
	const char *layers;
	const struct sw_trainer *trainer;
	const char *says;
} misfits[] = {
	{"[{\"linear\": 4}, \"relu\", {\"dropout\": 0.1}, {\"linear\": 3}]", &momentum,
	 "has other shapes: the layer at /0 is linear 13 x 2, the trial's is linear 13 x 4"},
	{"[{\"linear\": 2}, \"tanh\", {\"dropout\": 0.1}, {\"linear\": 3}]", &momentum,
	 "has other shapes: the layer at /1 is relu 2, the trial's is tanh 2"},
	{"[{\"linear\": 2}, \"relu\", {\"linear\": 3}]", &momentum,
	 "has other shapes: the layer at /2 is dropout 2, the trial's is linear 2 x 3"},
	{"[{\"linear\": 2}, \"relu\", {\"dropout\": 0.1}, {\"linear\": 3}, \"relu\"]", &momentum,
	 "has other shapes: 4 layers, the trial's model has 5"},
	{layers, &adamw, "holds the state of sgd, the trial trains with adamw"},
};

TEST_ROWS(checkpoint_of_other_shapes_says_which, misfits)
{
	struct sw_model other;

	net_written(&a, &momentum);
	model_make(&other, misfits[_i].layers, true);
	net_make(&b, &other, misfits[_i].trainer, 5);
	refused(&b, SW_INVALID, misfits[_i].says);
}

TEST(checkpoint_that_is_not_the_one_meant_says_whose_it_is)
{
	static const struct sw_checkpoint_id others[] = {{13, 7, 9}, {12, 8, 9}, {12, 7, 8}};

	net_written(&a, &momentum);
	net_make(&b, &model, &momentum, 5);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct sw_err err = SW_ERR_INIT;

		ck_assert_int_eq(sw_checkpoint_read(&b, &others[i], path, &err), SW_INVALID);
		ck_assert_ptr_nonnull(strstr(err.msg, "is of trial 12/7 at step 9, not of "));
	}
	ck_assert_int_eq(unlink(path), 0);
	refused(&b, SW_NOT_FOUND, "cannot be read: No such file or directory");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	refused(&b, SW_INVALID, "is no file");
	rmdir(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused(&b, SW_INVALID, "is no file");
}

TEST(checkpoint_folder_is_made_but_no_state_directory)
{
	char dir[160];
	struct sw_err err = SW_ERR_INIT;

	net_written(&a, &sgd);
	snprintf(dir, sizeof dir, "%s/gone/checkpoints/3", folder);
	ck_assert_int_eq(sw_checkpoint_write(&a, &id, dir, &err), SW_IO);
	ck_assert_str_eq(err.msg, "no checkpoint of step 9: No such file or directory");
	snprintf(dir, sizeof dir, "%s/checkpoints/3", folder);
	ck_assert_int_eq(sw_checkpoint_write(&a, &id, dir, NULL), SW_OK);
	ck_assert_uint_eq(names_in(dir, NULL), 1);
	strcat(dir, "/7-9.ckpt");
	ck_assert_int_eq(unlink(dir), 0);
	*strrchr(dir, '/') = '\0';
	ck_assert_int_eq(rmdir(dir), 0);
}

TEST(checkpoint_that_meets_a_limit_on_sizes_leaves_the_old_one)
{
	struct rlimit limit, small;
	unsigned char *old, *now;
	size_t n, m;

	signal(SIGXFSZ, SIG_IGN);
	net_written(&b, &momentum);
	old = file_read(path, &n);
	net_make(&a, &model, &momentum, 1);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	for (size_t most = 0; most < n; most += 7) {
		struct sw_err err = SW_ERR_INIT;
		sw_status status;

		small = limit;
		small.rlim_cur = most;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
		status = sw_checkpoint_write(&a, &id, folder, &err);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		ck_assert_int_eq(status, SW_FULL);
		ck_assert_str_eq(err.msg, "no checkpoint of step 9: File too large");
		now = file_read(path, &m);
		ck_assert_uint_eq(m, n);
		ck_assert_mem_eq(now, old, n);
		free(now);
		ck_assert_uint_eq(names_in(folder, NULL), 1);
	}
	free(old);
}

/* The walk over the failures of one kind. Whatever fails, the name holds the old file or, when the
 * folder's sync alone failed, the new one; nothing else is left. */
static void walk_write(enum sw_fault_kind kind)
{
	unsigned char *old, *fresh, *now;
	size_t bytes, m;

	net_make(&a, &model, &momentum, 1);
	ck_assert_int_eq(sw_net_best_take(&a, 4, 0.5), SW_OK);
	ck_assert_int_eq(sw_checkpoint_write(&a, &id, folder, NULL), SW_OK);
	fresh = file_read(path, &bytes);
	net_written(&b, &momentum);
	ck_assert_int_eq(sw_net_best_take(&b, 4, 0.5), SW_OK);
	ck_assert_int_eq(sw_checkpoint_write(&b, &id, folder, NULL), SW_OK);
	old = file_read(path, &bytes);
	WALK (kind, kind == SW_FAULT_IO ? 12 : 2) {
		struct sw_err err = SW_ERR_INIT;
		sw_status status;

		file_write(path, old, bytes);
		walk_arm();
		status = sw_checkpoint_write(&a, &id, folder, &err);
		const unsigned fired = walk_disarm();
		now = file_read(path, &m);
		ck_assert_uint_eq(m, bytes);
		if (fired) {
			ck_assert_int_ne(status, SW_OK);
			ck_assert_ptr_nonnull(strstr(err.msg, "no checkpoint of step 9: "));
			if (memcmp(now, old, m) != 0)
				ck_assert_mem_eq(now, fresh, m);
		} else {
			ck_assert_int_eq(status, SW_OK);
			ck_assert_mem_eq(now, fresh, m);
		}
		free(now);
		ck_assert_uint_eq(names_in(folder, NULL), 1);
	}
	free(old);
	free(fresh);
}

static void walk_read(enum sw_fault_kind kind)
{
	net_written(&a, &momentum);
	ck_assert_int_eq(sw_net_best_take(&a, 4, 0.5), SW_OK);
	ck_assert_int_eq(sw_checkpoint_write(&a, &id, folder, NULL), SW_OK);
	net_make(&b, &model, &momentum, 5);
	WALK (kind, kind == SW_FAULT_IO ? 12 : 3) {
		struct sw_err err = SW_ERR_INIT;
		sw_status status;

		walk_arm();
		status = sw_checkpoint_read(&b, &id, path, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(status, !fired                    ? SW_OK
					 : kind == SW_FAULT_MALLOC ? SW_NOMEM
								   : SW_IO);
		ck_assert_uint_eq(b.step, fired ? 0 : 3);
		ck_assert_uint_eq(b.best.epoch, fired ? 0 : 4);
		ck_assert_int_eq(*err.msg != '\0', fired != 0);
	}
}

TEST_LOOP(checkpoint_written_with_a_failure_at_each_call_leaves_a_whole_file, 0, 2)
{
	walk_write(_i ? SW_FAULT_IO : SW_FAULT_MALLOC);
}

TEST_LOOP(checkpoint_read_with_a_failure_at_each_call_leaves_the_net, 0, 2)
{
	walk_read(_i ? SW_FAULT_IO : SW_FAULT_MALLOC);
}

RUN_TESTS(setup, teardown)
