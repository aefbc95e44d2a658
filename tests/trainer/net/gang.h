/* tests/trainer/net/gang.h — ranks as threads, each with a training loop of its own over the same
 * data, and what each of them saw. A run with world 1 has no comm. */
#ifndef SW_TESTS_WORKER_NET_GANG_H
#define SW_TESTS_WORKER_NET_GANG_H

#include "base/fault.h"
#include "tests/worker/trial.h"
#include <math.h>
#include <pthread.h>

#define WORLD_MOST 8
#define STEPS_MOST 256
#define LAST_MOST  2048
#define EPOCHS     8

/* Of struct sw_trainer. */
#define SGD .lr = 0.02, .momentum = 0.9, .nesterov = true

struct rank {
	sw_status rc;
	enum sw_train_end end;
	char line[320]; /* of an error */
	size_t steps;
	uint64_t state[STEPS_MOST]; /* after each step: a hash of weights and optimizer sets */
	float last[LAST_MOST];      /* the weights after the last step, as many as fit */
	size_t last_n;
	uint64_t norms; /* a hash of what batch norms with sync have left */
	unsigned idle;  /* passes of them without rows */
	size_t reports;
	struct sw_epoch e[EPOCHS];
	uint64_t whole[EPOCHS]; /* a hash of the whole model's weights, state and statistics */
	size_t micro;
	unsigned oom_events;
	size_t fetched; /* bytes of transfers, where its spoil() counts them */
};

struct gang {
	const char *layers;
	struct sw_trainer trainer; /* ranks is set by the run, from the world and stages */
	unsigned world;
	size_t stop_after; /* go_on says no to the call after so many; 0: never */
	uint64_t from;     /* goes on after this epoch, whose checkpoint is in the folder */
	bool keeps;        /* writes a checkpoint after each epoch */
	bool refuses;      /* the first report is answered with no */
	/* Makes another table of a rank's, in its thread. */
	void (*spoil)(struct sw_ops *ops, unsigned rank);
	struct rank *rank; /* [WORLD_MOST] */
	struct sw_comm *comm[WORLD_MOST];
};

static struct gang gang;

/* A rank's own: each run has a new thread for each. */
static _Thread_local struct rank *me;
static _Thread_local size_t asked;

static inline uint64_t hash_floats(uint64_t h, const float *x, size_t n)
{
	const unsigned char *bytes = (const void *)x;

	for (size_t i = 0; x && i < n * sizeof *x; i++) /* FNV-1a */
		h = (h ^ bytes[i]) * 1099511628211u;
	return h;
}

static inline void note_step(const float *w, const float *a, const float *b, size_t n)
{
	uint64_t h = hash_floats(14695981039346656037u, w, n);

	h = hash_floats(hash_floats(h, a, n), b, n);
	if (me->steps < STEPS_MOST)
		me->state[me->steps] = h;
	me->steps++;
	me->last_n = n < LAST_MOST ? n : LAST_MOST;
	memcpy(me->last, w, me->last_n * sizeof *w);
}

static inline sw_status noted_sgd(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
				  struct sw_sgd o, const struct sw_step *s, const double *norm2)
{
	const sw_status rc = sw_ops_cpu.sgd_step(q, w, g, v, n, o, s, norm2);

	note_step(w, v, NULL, n);
	return rc;
}

static inline sw_status noted_adam(struct sw_queue *q, float *w, const float *g, float *m, float *v,
				   size_t n, struct sw_adam o, const struct sw_step *s,
				   const double *norm2)
{
	const sw_status rc = sw_ops_cpu.adam_step(q, w, g, m, v, n, o, s, norm2);

	note_step(w, m, v, n);
	return rc;
}

static inline bool gang_go_on(void *ctx)
{
	(void)ctx;
	return !gang.stop_after || asked++ < gang.stop_after;
}

static inline uint64_t hash_whole(const struct sw_net *net)
{
	const size_t n = net->model->weights_n + net->model->running_n;
	float *host = calloc(n, sizeof *host);
	uint64_t h = 14695981039346656037u;

	ck_assert_ptr_nonnull(host);
	for (size_t i = 0; i < sw_net_sets(net); i++) {
		if (sw_net_set_download(net, i, host) != SW_OK)
			break; /* another rank's end, of which the run says more */
		h = hash_floats(h, host, net->model->weights_n);
	}
	if (net->model->running_n > 0 && sw_net_set_download(net, SW_NET_RUNNING, host) == SW_OK)
		h = hash_floats(h, host, net->model->running_n);
	free(host);
	return h;
}

static inline bool gang_report(void *ctx, const struct sw_epoch *e)
{
	const struct sw_checkpoint_id id = {.sweep = 1, .trial = 2, .epoch = e->epoch};

	(void)ctx;
	if (me->reports < EPOCHS) {
		me->e[me->reports] = *e;
		me->whole[me->reports] = hash_whole(e->net);
	}
	me->reports++;
	me->micro = e->net->at.micro;
	me->oom_events = e->net->oom_events;
	if (gang.keeps && sw_checkpoint_write(e->net, &id, folder, NULL) != SW_OK)
		return false;
	return !gang.refuses;
}

static inline sw_status gang_begin(void *ctx, struct sw_net *net, uint64_t *epoch,
				   struct sw_err *err)
{
	const struct sw_checkpoint_id id = {.sweep = 1, .trial = 2, .epoch = gang.from};
	char path[128];

	(void)ctx;
	if (gang.from == 0)
		return SW_OK;
	*epoch = gang.from;
	snprintf(path, sizeof path, "%s/2-%d.ckpt", folder, (int)gang.from);
	return sw_checkpoint_read(net, &id, path, err);
}

/* One rank's run, in this process. */
static inline void rank_train(unsigned rank, struct sw_comm *comm)
{
	const struct sw_train_hooks hooks = {
		.comm = comm, .begin = gang_begin, .go_on = gang_go_on, .report = gang_report};
	struct sw_trainer t = gang.trainer;
	struct sw_ops ops = sw_ops_cpu;
	struct sw_err err = SW_ERR_INIT;
	struct sw_model m;

	me = &gang.rank[rank];
	asked = 0;
	memset(me, 0, sizeof *me);
	t.ranks = gang.world / (t.stages && gang.world > 1 ? t.stages : 1);
	if (gang.world == 1)
		t.stages = 1;
	ops.sgd_step = noted_sgd;
	ops.adam_step = noted_adam;
	model_make(&m, gang.layers, t.classes);
	if (gang.spoil)
		gang.spoil(&ops, rank);
	me->rc = sw_train_run(&ops, queue, &m, &data, &t, 3, &hooks, &me->end, &err);
	snprintf(me->line, sizeof me->line, "%s", err.msg);
}

static inline void *rank_thread(void *comm)
{
	rank_train(sw_comm_rank(comm), comm);
	sw_comm_close(comm);
	return NULL;
}

static inline void *rank_alone(void *none)
{
	rank_train(0, NULL);
	return none;
}

/* Runs the gang to its end: what each rank saw is in gang.rank. */
static inline void gang_run(unsigned world)
{
	pthread_t thread[WORLD_MOST];

	struct sw_err err = SW_ERR_INIT;

	gang.world = world;
	if (world > 1 && sw_comm_meet(gang.comm, world, false, &err) != SW_OK) {
		for (unsigned r = 0; r < world; r++) { /* a planted want of memory */
			gang.rank[r] = (struct rank){.rc = err.code};
			snprintf(gang.rank[r].line, sizeof gang.rank[r].line, "%s", err.msg);
		}
		return;
	}
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(pthread_create(&thread[r], NULL,
						world > 1 ? rank_thread : rank_alone,
						world > 1 ? gang.comm[r] : NULL),
				 0);
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(pthread_join(thread[r], NULL), 0);
}

static inline void staged_run(unsigned stages, unsigned world, unsigned parts)
{
	gang.trainer.stages = stages;
	gang.trainer.microbatches = stages > 1 ? parts : 0;
	gang_run(world);
}

/* What so many ranks without stages see, their shares in parts of so many rows. */
static inline struct rank unstaged(unsigned world, uint64_t micro)
{
	gang.trainer.micro_batch = micro;
	staged_run(1, world, 1);
	gang.trainer.micro_batch = 0;
	ck_assert_msg(gang.rank[0].rc == SW_OK, "%s", gang.rank[0].line);
	ck_assert_uint_eq(gang.rank[0].reports, gang.trainer.epochs - gang.from);
	return gang.rank[0];
}

/* dataset: its JSON; device_bytes: of struct sw_data_want. */
static inline void gang_setup(const char *dataset, bool classes, size_t device_bytes)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_source source;
	cJSON *json = cJSON_Parse(dataset);

	trial_setup();
	ck_assert_ptr_nonnull(json);
	ck_assert_msg(sw_data_source_read(&source, json, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_data_load(&data, &source,
				   (struct sw_data_want){.classes = classes,
							 .val_fraction = 0.2,
							 .split_seed = 7,
							 .scale = SW_SCALE_AUTO,
							 .device_bytes = device_bytes},
				   &sw_ops_cpu, queue, &err) == SW_OK,
		      "%s: %s", err.ptr, err.msg);
	cJSON_Delete(json);
	gang = (struct gang){.rank = calloc(WORLD_MOST, sizeof(struct rank))};
	ck_assert_ptr_nonnull(gang.rank);
}

static inline void gang_teardown(void)
{
	free(gang.rank);
	trial_teardown();
}

/* All ranks ended without an error, alike, and made the same steps with the same bits. */
static inline void ranks_are_alike(void)
{
	const struct rank *lead = &gang.rank[0];

	ck_assert_uint_gt(lead->steps, 0);
	ck_assert_uint_le(lead->steps, STEPS_MOST);
	for (unsigned r = 0; r < gang.world; r++) {
		const struct rank *is = &gang.rank[r];

		ck_assert_msg(is->rc == SW_OK, "rank %u of %u: %s", r, gang.world, is->line);
		ck_assert_int_eq(is->end, lead->end);
		ck_assert_uint_eq(is->steps, lead->steps);
		ck_assert_uint_eq(is->reports, r == 0 ? lead->reports : 0);
		for (size_t i = 0; i < lead->steps; i++)
			ck_assert_msg(is->state[i] == lead->state[i],
				      "rank %u of %u has another state after step %zu", r,
				      gang.world, i + 1);
	}
}

/* All ended well, and alike: only rank 0 reports. Where they share batches they have the same
 * states. */
static inline void all_ended(enum sw_train_end end, size_t reports, size_t steps)
{
	for (unsigned r = 0; r < gang.world; r++) {
		ck_assert_msg(gang.rank[r].rc == SW_OK, "rank %u of %u: %s", r, gang.world,
			      gang.rank[r].line);
		ck_assert_int_eq(gang.rank[r].end, end);
		ck_assert_uint_eq(gang.rank[r].steps, steps);
		ck_assert_uint_eq(gang.rank[r].reports, r == 0 ? reports : 0);
	}
	if (gang.trainer.stages <= 1 && steps > 0)
		ranks_are_alike();
}

/* The gang has the states of one rank's steps from `skip` on. */
static inline void steps_are_of(const struct rank *one, size_t skip)
{
	const struct rank *lead = &gang.rank[0];

	ck_assert_uint_eq(lead->steps, one->steps - skip);
	for (size_t i = 0; i < lead->steps; i++)
		ck_assert_msg(lead->state[i] == one->state[skip + i],
			      "%u ranks: step %zu has not the bits of one rank", gang.world, i + 1);
}

static inline void near(double got, double want, double tolerance, const char *what, size_t i)
{
	ck_assert_msg(fabs(got - want) <= tolerance * fmax(1, fabs(want)),
		      "%s of epoch %zu: %.17g is not %.17g", what, i + 1, got, want);
}

/* The reports are one's from `skip` on. val: the validation rows' too. */
static inline void reports_are_of(const struct rank *one, size_t skip, double tolerance, bool val)
{
	const struct rank *lead = &gang.rank[0];

	ck_assert_uint_eq(lead->reports, one->reports - skip);
	for (size_t i = 0; i < lead->reports; i++) {
		const struct sw_epoch *a = &lead->e[i], *b = &one->e[skip + i];

		ck_assert_uint_eq(a->epoch, b->epoch);
		ck_assert_int_eq(a->last, b->last);
		near(a->train_loss, b->train_loss, tolerance, "train_loss", i);
		if (!val)
			continue;
		near(a->val_loss, b->val_loss, tolerance, "val_loss", i);
		near(a->val_accuracy, b->val_accuracy, tolerance, "val_accuracy", i);
		near(a->val_top5, b->val_top5, tolerance, "val_top5", i);
		near(a->val_mae, b->val_mae, tolerance, "val_mae", i);
		near(a->val_r2, b->val_r2, tolerance, "val_r2", i);
		if (a->classes)
			near(a->val_macro_f1, b->val_macro_f1, tolerance, "val_macro_f1", i);
	}
}

/* All ranks ended with rc, and lines that have these words. */
static inline void all_failed(sw_status rc, const char *words)
{
	for (unsigned r = 0; r < gang.world; r++) {
		ck_assert_msg(gang.rank[r].rc == rc, "rank %u of %u: %d, %s", r, gang.world,
			      (int)gang.rank[r].rc, gang.rank[r].line);
		ck_assert_msg(strstr(gang.rank[r].line, words) != NULL, "rank %u of %u: %s", r,
			      gang.world, gang.rank[r].line);
	}
}

#endif
