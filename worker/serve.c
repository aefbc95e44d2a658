#include "worker/serve.h"
#include "base/beat.h"
#include "base/memory.h"
#include "worker/exec/exec.h"
#include "worker/exec/launcher.h"
#include "worker/exec/program.h"
#include "worker/run.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAP_US ((int64_t)1000000)

struct lane {
	struct lanes *all;
	struct sw_session *session;
	struct sw_runner runner;
	struct sw_site site;
	struct sw_launchers launchers;
	char name[40];
	pthread_t thread;
};

struct lanes {
	const struct sw_serve *config;
	struct lane *lane; /* [config->lanes] */
	/* of the threads: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned running;
	int code;                 /* the first exit status that is not 0 */
	struct sw_runner *opened; /* by the first trial of the trainer; NULL: the device is not */
};

static int complain(const char *name, const char *line)
{
	fprintf(stderr, "sweep-worker: %s%s%s\n", name ? name : "", name ? ": " : "", line);
	return 1;
}

/* The device, or another rank. */
static int end_with_loss(struct sw_session *s, sw_status rc, const struct sw_runner *r,
			 const struct sw_err *err)
{
	sw_session_bye(s, err->msg, r->lost_rank);
	(void)complain(NULL, err->msg); /* it names the device, or the rank */
	if (rc == SW_PEER_LOST && r->stuck)
		_exit(1); /* as of a lost device, nothing can be taken down */
	return rc == SW_DEVICE_LOST ? SW_WORKER_EXIT_DEVICE : 1;
}

static void look_idle(void *lane)
{
	struct lane *l = lane;

	sw_program_reap();
	sw_launchers_look(&l->launchers, l->session);
}

/* Programs that SIGKILL did not end in time, and that have ended since, are still this worker's
 * children: it reaps them while it waits. */
static bool next_job(struct lane *l, const struct sw_job **job)
{
	sw_beat_to(look_idle, l, REAP_US);
	const bool got = sw_session_next(l->session, job);

	sw_beat_to(NULL, NULL, 0);
	return got;
}

/* Wakes all lanes, so that each ends. */
static void wake_all(const struct sw_serve *c)
{
	/* the byte is never read, so that the pipe stays readable for every lane */
	const ssize_t n = write(c->wake, "", 1);

	(void)n; /* a full pipe is readable, too */
}

/* Opens the device at the lane's first trial of the trainer; the lanes share its table and cache.
 * Before that a program has the device for itself: a context takes half a GiB of its memory. And to
 * open it takes the CUDA module, a driver that is new enough for that, and a compute mode that lets
 * two processes in, none of which the program may need. */
static sw_status lane_open(struct lane *l, struct sw_err *err)
{
	struct lanes *all = l->all;
	sw_status rc;

	pthread_mutex_lock(&all->lock);
	if (all->opened) {
		l->runner.ops = all->opened->ops;
		l->runner.cache = all->opened->cache;
	}
	rc = sw_runner_open(&l->runner, all->config->device, err);
	if (rc == SW_OK && !all->opened)
		all->opened = &l->runner;
	pthread_mutex_unlock(&all->lock);
	return rc;
}

/* A trial of the trainer. A device that does not open costs it nothing, for whatever reason, one
 * that CUDA calls lost, too: another slot's may, and programs need no more than the driver. */
static sw_status lane_train(struct lane *l, const struct sw_job *job, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT; /* its own: the next trial's may be another */
	const sw_status rc = lane_open(l, &why);

	if (rc == SW_OK)
		return sw_run_job(&l->runner, l->session, job, err);
	sw_session_refuse(l->session, *why.msg ? why.msg : sw_status_str(rc));
	return SW_OK;
}

/* Trials until the session ends. Returns the exit status. */
static int lane_work(struct lane *l)
{
	const char *name = l->all->config->lanes > 1 ? l->name : NULL;
	struct sw_session *s = l->session;
	struct sw_err err = SW_ERR_INIT;
	const struct sw_job *job;
	sw_status rc = SW_OK;

	while (rc == SW_OK && next_job(l, &job)) {
		err = (struct sw_err)SW_ERR_INIT; /* the last trial's may stand in it */
		const bool trains = job->command == NULL, visits = trains && job->visible != NULL;

		if (trains)
			rc = lane_train(l, job, &err);
		else
			sw_exec_job(&l->site, s, job);
		/* it has contexts on GPUs that are others' now, and their memory ends with it */
		if (visits) {
			wake_all(l->all->config);
			/* else it would ask for a trial first, and end with it */
			(void)sw_session_go_on(s);
		}
	}
	sw_launchers_close(&l->launchers); /* they do not end with their worker while they import */
	if (rc != SW_OK)
		return end_with_loss(s, rc, &l->runner, &err);
	if (sw_session_ended(s) == SW_SESSION_EXIT) {
		/* told to end: no failure, and the daemon need not wait for the socket to close */
		sw_session_bye(s, sw_session_why(s), 0);
		return 0;
	}
	(void)complain(name, sw_session_why(s));
	/* a pilot that no daemon came back to has done what it was to do */
	return l->all->config->link.node && sw_session_ended(s) == SW_SESSION_LOST ? 0 : 1;
}

/* The thread of a lane. A lane without a daemon ends the others, too: they have the same one. */
static void *lane_main(void *arg)
{
	struct lane *l = arg;
	struct lanes *all = l->all;
	const int code = lane_work(l);

	pthread_mutex_lock(&all->lock);
	all->running--;
	if (code != 0 && all->code == 0) {
		all->code = code;
		if (code != SW_WORKER_EXIT_DEVICE)
			wake_all(all->config); /* without a daemon there is nothing to do for any */
	}
	pthread_cond_signal(&all->changed);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* "gpu:1.0" is "gpu:1.3" of lane 3, and so is "gpu:1". */
static void lane_name(const struct sw_serve *c, unsigned i, char out[40])
{
	const char *name = c->name ? c->name : c->device, *dot = strrchr(name, '.');
	const size_t n = dot && strspn(dot + 1, "0123456789") == strlen(dot + 1)
				 ? (size_t)(dot - name)
				 : strlen(name);

	if (c->lanes == 1)
		snprintf(out, 40, "%s", name);
	else
		snprintf(out, 40, "%.*s.%u", (int)(n < 24 ? n : 24), name, i);
}

/* Makes lane i: its name, its runner, which opens nothing yet, and its session. */
static sw_status lane_make(struct lanes *all, unsigned i, struct sw_err *err)
{
	const struct sw_serve *c = all->config;
	struct sw_session_config link = c->link;
	struct lane *l = &all->lane[i];

	link.slot += (int)i;
	l->all = all;
	lane_name(c, i, l->name);
	l->runner = (struct sw_runner){
		.device = l->name, .cores = c->cores, .memory = c->memory, .lanes = c->lanes};
	l->site = (struct sw_site){.socket = link.socket,
				   .device = c->device,
				   .name = l->name,
				   .cores = c->cores,
				   .pilot = c->link.node != NULL};
	sw_launchers_init(&l->launchers);
	l->site.launchers = &l->launchers;
	return sw_session_create(&l->session, &link, err);
}

static sw_status lanes_make(struct lanes *all, struct sw_err *err)
{
	const struct sw_serve *c = all->config;
	sw_status rc = SW_OK;

	all->lane = sw_calloc(c->lanes, sizeof *all->lane);
	if (!all->lane)
		return SW_NOMEM;
	for (unsigned i = 0; i < c->lanes && rc == SW_OK; i++)
		rc = lane_make(all, i, err);
	return rc;
}

static void lanes_free(struct lanes *all)
{
	for (unsigned i = 0; all->lane && i < all->config->lanes; i++)
		sw_session_destroy(all->lane[i].session);
	for (unsigned i = 0; all->lane && i < all->config->lanes; i++)
		if (&all->lane[i].runner != all->opened)
			sw_runner_close(&all->lane[i].runner, all->opened);
	/* The last: the others borrow its cache. */
	if (all->opened)
		sw_runner_close(all->opened, NULL);
	free(all->lane);
}

/* Runs the lanes' threads to their ends. A lost device ends them all where they are. */
static int run_threads(struct lanes *all)
{
	unsigned made = 0;

	/* Held while threads are made: none counts down before all are counted. */
	pthread_mutex_lock(&all->lock);
	for (; made < all->config->lanes; made++) {
		if (pthread_create(&all->lane[made].thread, NULL, lane_main, &all->lane[made]) != 0)
			break;
		all->running++;
	}
	if (made < all->config->lanes) {
		wake_all(all->config);
		all->code = complain(NULL, "no thread for a lane");
	}
	while (all->running > 0 && all->code != SW_WORKER_EXIT_DEVICE)
		pthread_cond_wait(&all->changed, &all->lock);
	const int code = all->code;

	pthread_mutex_unlock(&all->lock);
	for (unsigned i = 0; i < made; i++)
		if (code == SW_WORKER_EXIT_DEVICE)
			pthread_detach(
				all->lane[i].thread); /* some wait for the device, for good */
		else
			pthread_join(all->lane[i].thread, NULL);
	return code;
}

int sw_serve(const struct sw_serve *config)
{
	/* static: lanes that still run when a device is lost use it */
	static struct lanes all;
	struct sw_err err = SW_ERR_INIT;
	sw_status rc;
	int code;

	/* The backend sets it when it opens (kernels/cuda/device.c): here no thread reads the
	 * environment yet. */
	if (strncmp(config->device, "gpu:", 4) == 0)
		(void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	all = (struct lanes){.config = config,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER};
	rc = lanes_make(&all, &err);
	if (rc != SW_OK)
		code = complain(NULL, *err.msg ? err.msg : sw_status_str(rc));
	else
		code = config->lanes == 1 ? lane_work(&all.lane[0]) : run_threads(&all);
	/* after a lost device detached lanes may still use them */
	if (code != SW_WORKER_EXIT_DEVICE)
		lanes_free(&all);
	return code;
}
