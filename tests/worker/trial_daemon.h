/*
 * tests/worker/trial_daemon.h — the daemon's side of trials: what it gives, what it must be told;
 * and a worker that runs them.
 * After a failed step the script goes on; session_daemon.h keeps the first problem.
 */
#ifndef SW_TESTS_WORKER_TRIAL_DAEMON_H
#define SW_TESTS_WORKER_TRIAL_DAEMON_H

#include "tests/worker/link/session_daemon.h"
#include "tests/worker/trial.h"
#include "worker/run.h"

#define EPOCHS 5

/* What the daemon was told of one trial. */
struct curve {
	double train_loss[EPOCHS + 1], val_loss[EPOCHS + 1], val_accuracy[EPOCHS + 1];
	double graph_misses[EPOCHS + 1]; /* NaN: not told */
};

/* A trial as worker.next gives it; 0 and NULL: as the daemon says nothing. */
struct give {
	uint64_t trial, attempt, resume_step, until, every, parent;
	const char *checkpoint; /* a name in the folder */
	const char *dir;        /* NULL: the folder */
	double lr;              /* 0: 0.05 */
	unsigned patience;
	double record; /* not 0: its best epochs are kept, and written when they are not worse */
	const char *drawn, *set, *model; /* NULL: no more parameters, wine, a small net */
};

static struct curve got;
static bool begun; /* this connection has greeted */

static inline void give(const struct give *g)
{
	char job[1100], path[200] = "null", record[40] = "null";
	int id;

	if (!begun) {
		accept_one();
		answer(expect("worker.hello", NULL, NULL), "{\"ok\":true}");
		begun = true;
	}
	id = expect("worker.next", NULL, NULL);
	if (g->checkpoint)
		snprintf(path, sizeof path, "\"%s/%s\"", folder, g->checkpoint);
	if (g->record != 0)
		snprintf(record, sizeof record, "%.17g", g->record);
	snprintf(job, sizeof job,
		 "{\"sweep\":3,\"trial\":%d,\"attempt\":%d,\"seed\":%d,\"data_seed\":5,"
		 "\"params\":{\"lr\":%g%s},\"max_t\":%d,\"metric\":\"val_loss\","
		 "\"goal\":\"minimize\",\"resume_step\":%d,\"parent\":%d,\"until\":%d,"
		 "\"checkpoint_best\":%s,\"checkpoint_record\":%s,\"record\":%s,"
		 "\"checkpoint_every\":%d,\"checkpoint\":%s,\"checkpoint_dir\":\"%s\",\"trainer\":"
		 "{\"dataset\":%s,\"optimizer\":\"sgd\",\"momentum\":0.9,"
		 "\"batch_size\":10,\"patience\":%u,\"model\":%s}}",
		 (int)g->trial, (int)g->attempt, (int)(g->trial * 10), g->lr != 0 ? g->lr : 0.05,
		 g->drawn ? g->drawn : "", EPOCHS, (int)g->resume_step, (int)g->parent,
		 (int)g->until, g->record != 0 ? "true" : "false",
		 g->record != 0 ? "true" : "false", record, (int)g->every, path,
		 g->dir ? g->dir : folder, g->set ? g->set : "{\"name\":\"wine\"}", g->patience,
		 g->model ? g->model
			  : "[{\"linear\":6},\"relu\",{\"dropout\":0.2},{\"linear\":3}]");
	answer(id, job);
}

static inline bool there(const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* A report of this step must come, with a checkpoint of that name on the disk, or without (NULL).
 * decision NULL: it stays without an answer. */
static inline void take(struct curve *c, uint64_t step, const char *checkpoint,
			const char *decision)
{
	cJSON *m, *params, *metrics;
	char result[64];
	uint64_t n = 0;
	const int id = expect_message("worker.report", &m);

	params = cJSON_GetObjectItem(m, "params");
	metrics = cJSON_GetObjectItem(params, "metrics");
	if (!sw_json_u64(sw_json_get(params, "step"), &n) || n != step || n > EPOCHS)
		problem("step", m ? "another" : NULL);
	else if (cJSON_IsTrue(cJSON_GetObjectItem(params, "checkpoint")) != (checkpoint != NULL))
		problem("checkpoint", checkpoint);
	else if (checkpoint && !there(checkpoint))
		problem("not yet on the disk", checkpoint);
	else {
		c->train_loss[n] = cJSON_GetNumberValue(sw_json_get(metrics, "train_loss"));
		c->val_loss[n] = cJSON_GetNumberValue(sw_json_get(metrics, "val_loss"));
		c->val_accuracy[n] = cJSON_GetNumberValue(sw_json_get(metrics, "val_accuracy"));
		c->graph_misses[n] = cJSON_GetNumberValue(sw_json_get(metrics, "graph_misses"));
	}
	cJSON_Delete(m);
	snprintf(result, sizeof result, "{\"decision\":\"%s\"}", decision ? decision : "");
	if (decision)
		answer(id, result);
}

/* Flips one bit in the middle of a file of the folder. */
static inline void damage(const char *name)
{
	char path[200];
	size_t n;
	unsigned char *bytes;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	bytes = file_read(path, &n);
	bytes[n / 2] ^= 4;
	file_write(path, bytes, n);
	free(bytes);
}

static inline void steps(struct curve *c, uint64_t from, uint64_t to)
{
	for (uint64_t step = from; step <= to; step++)
		take(c, step, NULL, "continue");
}

/* The worker's side, on the CPU but for the runner's ops: all that the script gives. */
static inline void play_as(struct sw_runner *runner, void (*script)(void))
{
	struct sw_err err = SW_ERR_INIT;
	const struct sw_job *job;

	begun = false;
	start(script, 10000);
	while (sw_session_next(s, &job))
		ck_assert_int_eq(sw_run_job(runner, s, job, &err), SW_OK);
	stop();
}

static inline void play(void (*script)(void))
{
	struct sw_runner runner = {.ops = &sw_ops_cpu, .q = queue, .device = "cpu:0"};

	ck_assert_int_eq(sw_data_cache_create(&runner.cache, &sw_ops_cpu), SW_OK);
	play_as(&runner, script);
	sw_data_cache_destroy(runner.cache);
}

/* The worker must have logged this. */
static inline void logged(const char *line)
{
	ck_assert_msg(strstr(d.logs, line) != NULL, "no \"%s\" in: %s", line, d.logs);
}

#endif
