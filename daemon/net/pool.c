#include "daemon/net/pool.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/conn.h"

static void on_work(uv_work_t *work)
{
	struct sw_pool_job *job = work->data;

	job->from_us = job->c->d->clock->mono_us();
	job->run(job->arg);
}

/* On two cores a second job would take turns with the loop: others then wait a slice of the
 * scheduler's for each answer (beside specs with a `when` of 9,000 values a p99 of 30 ms was
 * measured, with one job at once 22 ms). */
static unsigned at_once(void)
{
	return uv_available_parallelism() > SW_POOL_AT_ONCE ? SW_POOL_AT_ONCE : 1;
}

static void start_next(struct sw_daemon *d, struct sw_pool *pool);

static void on_after_work(uv_work_t *work, int status)
{
	struct sw_pool_job *job = work->data;
	struct sw_daemon *d = job->c->d;

	(void)status; /* never cancelled */
	/* By what it took, measured: what a spec or a re-run costs cannot be told before. The time
	 * that the job waited for a thread is not its client's. */
	sw_turns_charge(&job->pool->turns, job->turn.client, d->clock->mono_us() - job->from_us);
	job->pool->running--;
	/* First, because done may free the job and close its connection. */
	start_next(d, job->pool);
	job->done(job->arg, d->phase != SW_UP);
}

static void start_next(struct sw_daemon *d, struct sw_pool *pool)
{
	struct sw_pool_job *job;

	while (pool->running < at_once() &&
	       (job = (struct sw_pool_job *)sw_turns_take(&pool->turns, NULL, NULL)) != NULL) {
		/* A stop waits for what runs, and starts nothing more. */
		if (d->phase != SW_UP) {
			/* The call that belongs to it is open, and its connection is freed only
			 * when it is answered. */
			job->done(job->arg, true);
			continue;
		}
		pool->running++;
		if (uv_queue_work(d->loop, &job->work, on_work, on_after_work) != 0)
			/* uv_queue_work() fails only without a function to run; a job that is lost
			 * leaves its client waiting for ever. */
			sw_daemon_die("compute for a request", SW_INTERNAL);
	}
}

void sw_pool_start(struct sw_pool_job *job, enum sw_pool_kind kind, struct sw_conn *c,
		   void (*run)(void *arg), void (*done)(void *arg, bool stopping), void *arg)
{
	struct sw_pool *pool = &c->d->pool[kind];

	*job = (struct sw_pool_job){.c = c, .pool = pool, .run = run, .done = done, .arg = arg};
	job->work.data = job;
	sw_turns_add(&pool->turns, &c->jobs[kind], &job->turn);
	start_next(c->d, pool);
}
