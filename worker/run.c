#include "worker/run.h"
#include "base/beat.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proto/checkpoint_path.h"
#include "proto/json.h"
#include "trainer/allowance.h"
#include "trainer/file/checkpoint.h"
#include "trainer/prepare.h"
#include "trainer/ranks.h"
#include "trainer/train.h"
#include "worker/run_log.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At a stop an epoch is finished if it may end in time. One that takes longer than half of that
 * has its file anyway, so that less than an epoch is lost; but a file that takes over a fiftieth of
 * its epoch is not written for that alone. */
#define LONG_EPOCH_US (SW_SESSION_LEAVE_US / 2)
#define FILE_SHARE    50

struct run {
	struct sw_runner *runner;
	struct sw_session *session;
	const struct sw_job *job;
	struct sw_prepared ready;
	struct sw_rank_threads *ranks; /* NULL: it is alone */
	uint64_t epoch;                /* finished last */
	bool refused;                  /* the machine has none of what its ranks need to start */
	bool no_memory;                /* for a report */
	bool crowded;     /* it would have had the memory that it lacked, without others */
	bool stale;       /* it was at the end of patience when it was lost */
	bool again;       /* the checkpoint of resume_step could not be read: it is made again */
	int64_t kept_us;  /* when the last checkpoint was written; before it, when it began */
	int64_t file_us;  /* how long that took */
	int64_t epoch_us; /* when this epoch began */
	int64_t took_us;  /* how long the one before it took; 0: this is the first */
	bool improved;    /* this epoch is the best so far */
	bool missed;      /* the log has a line of graphs that were not made */
};

/* The metrics of an epoch's report. */
#define METRICS_MOST 13
struct metric {
	const char *name;
	double value;
};

/* Is the ranks' end known? A failure after it follows from that. */
static bool are_over(const struct run *r)
{
	return r->ranks && *sw_comm_why(sw_ranks_comm(r->ranks));
}

/* The worker is to end: may this epoch end before that? If it takes as long as the one before. */
static bool may_finish(const struct run *r, int64_t left_us)
{
	return r->job->checkpoint_stop &&
	       r->took_us - (sw_clock_mono_us() - r->epoch_us) <= left_us;
}

static void on_progress(void *ctx, size_t done, size_t rows)
{
	sw_session_progress(((struct run *)ctx)->session, done, rows);
}

static bool on_step(void *ctx)
{
	struct run *r = ctx;
	const bool on = sw_session_go_on(r->session);
	const int64_t left_us = sw_session_leaving(r->session);

	return on && (left_us == 0 || may_finish(r, left_us));
}

static void run_beat(void *ctx)
{
	struct run *r = ctx;

	sw_comm_beat(sw_ranks_comm(r->ranks));
	(void)sw_session_go_on(r->session);
}

/* Reads the newest usable checkpoint of the trial's own before that of resume_step, which failed
 * with *last. Each one that fails too has its line: the last failure is in *last, those before it
 * are in the log, newest first. SW_NOT_FOUND: no other is left. */
static sw_status begin_before(struct run *r, struct sw_net *net, struct sw_err *last,
			      uint64_t *epoch)
{
	const struct sw_job *j = r->job;
	struct sw_checkpoint_id id = {.sweep = j->sweep, .trial = j->trial};
	uint64_t below = j->resume_step;
	char path[4096 + 64];

	while (j->checkpoint_dir &&
	       (id.epoch = sw_checkpoint_before(j->checkpoint_dir, j->trial, below)) != 0) {
		struct sw_err why = SW_ERR_INIT;
		sw_status rc;

		sw_checkpoint_path(path, sizeof path, j->checkpoint_dir, id.trial, id.epoch);
		rc = sw_checkpoint_read(net, &id, path, &why);
		if (rc == SW_OK) {
			*epoch = id.epoch;
			sw_session_log(r->session,
				       "%s: the one before it, of step %" PRIu64 ", is used",
				       last->msg, id.epoch);
			return SW_OK;
		}
		if (rc == SW_DEVICE_LOST || are_over(r))
			return rc; /* an older checkpoint would fail in the same way */
		sw_session_log(r->session, "%s", last->msg);
		*last = why;
		below = id.epoch;
	}
	return SW_NOT_FOUND;
}

/* Loads the checkpoint of resume_step, else the one before it. A trial's own state can be made
 * again from its seed; a trial that began from another's checkpoint cannot start from scratch. */
static sw_status on_begin(void *ctx, struct sw_net *net, uint64_t *epoch, struct sw_err *err)
{
	struct run *r = ctx;
	const struct sw_job *j = r->job;
	struct sw_checkpoint_id id = {.sweep = j->sweep, .trial = j->trial};
	struct sw_err why = SW_ERR_INIT;
	sw_status rc = SW_NOT_FOUND;

	r->kept_us = r->epoch_us = sw_clock_mono_us();
	sw_allowance_trim(r->runner, &r->ready.trainer, net);
	sw_run_log_net(r->session, net);
	if (j->resume_step == 0)
		return SW_OK; /* it begins from its seed */
	if (!j->checkpoint)
		sw_err_set(&why, rc, "there is no checkpoint of step %" PRIu64, j->resume_step);
	else if (!sw_checkpoint_path_read(j->checkpoint, &id.trial, &id.epoch))
		sw_err_set(&why, rc, "the checkpoint's name is not valid");
	else {
		id.epoch = j->resume_step;
		rc = sw_checkpoint_read(net, &id, j->checkpoint, &why);
	}
	if (rc == SW_OK) {
		*epoch = j->resume_step;
		sw_session_log(r->session,
			       "goes on after step %" PRIu64 " of trial %" PRIu64 "/%" PRIu64,
			       j->resume_step, j->sweep, id.trial);
		/* patience of another trial does not count: a copy may get better than that one */
		if (id.trial != j->trial)
			net->best.epoch = 0; /* its parent's is no epoch of this trial */
		r->stale = id.trial == j->trial && r->ready.trainer.patience &&
			   net->stale >= r->ready.trainer.patience;
		if (r->stale) {
			r->epoch = j->resume_step;
			*epoch = r->ready.trainer.epochs; /* none is left */
		}
		return SW_OK;
	}
	if (rc == SW_DEVICE_LOST || are_over(r) || id.trial != j->trial)
		return sw_err_set(err, rc, "%s", why.msg);
	r->again = j->checkpoint != NULL;
	rc = r->again ? begin_before(r, net, &why, epoch) : SW_NOT_FOUND;
	if (rc == SW_OK)
		return SW_OK;
	if (rc == SW_DEVICE_LOST || are_over(r) || j->parent)
		return sw_err_set(err, rc, "%s", why.msg);
	sw_session_log(r->session, "%s: the trial starts from scratch", why.msg);
	return SW_OK;
}

static bool is_better(const struct run *r, double value, double than)
{
	return r->job->goal && strcmp(r->job->goal, "maximize") == 0 ? value > than : value < than;
}

/* Takes the weights of an epoch that is better by the sweep's metric than those before it. */
static void note_best(struct run *r, const struct sw_epoch *e, const struct metric *m, size_t n)
{
	const struct sw_job *j = r->job;
	struct sw_net_best *best = &e->net->best;

	r->improved = false;
	if (!j->checkpoint_best || !j->checkpoint_dir || !j->metric || !isfinite(e->train_loss) ||
	    !isfinite(e->val_loss))
		return; /* no checkpoint would hold them, or the trial ends here */
	for (size_t i = 0; i < n; i++) {
		if (strcmp(m[i].name, j->metric) != 0 || !isfinite(m[i].value) ||
		    (best->epoch != 0 && !is_better(r, m[i].value, best->value)))
			continue;
		r->improved = sw_net_best_take(e->net, e->epoch, m[i].value) == SW_OK;
		if (!r->improved && !are_over(r))
			sw_session_log(r->session,
				       "the weights of epoch %" PRIu64
				       ", its best so far, cannot be held: no memory",
				       e->epoch);
	}
}

/* Is this epoch's state to be on the disk before it is reported? */
static bool checkpoint_wanted(const struct run *r, const struct sw_epoch *e)
{
	const struct sw_job *j = r->job;
	const int64_t age_us = sw_clock_mono_us() - r->kept_us;

	if (!j->checkpoint_dir || !isfinite(e->train_loss) || !isfinite(e->val_loss))
		return false; /* a diverged trial goes on from nowhere */
	if (e->epoch <= j->resume_step)
		return r->again && e->epoch == j->resume_step;
	return e->epoch == j->until || (j->checkpoint_stop && sw_session_leaving(r->session)) ||
	       (j->checkpoint_every && e->epoch % j->checkpoint_every == 0) ||
	       (j->checkpoint_end && (e->last || e->epoch == j->max_t)) ||
	       (j->checkpoint_s &&
		(age_us >= (int64_t)j->checkpoint_s * 1000000 ||
		 (r->took_us >= LONG_EPOCH_US && r->took_us >= FILE_SHARE * r->file_us))) ||
	       /* It may be stopped at any report, so what may be the sweep's best goes to the
		* disk. Of equals the earlier trial is the best, so that a tie counts, too. */
	       (j->checkpoint_record && r->improved &&
		(!j->record || !is_better(r, *j->record, e->net->best.value)));
}

/* A failure to write does not end the trial: without a checkpoint it is made again from scratch. */
static bool keep_checkpoint(struct run *r, const struct sw_epoch *e)
{
	const struct sw_checkpoint_id id = {
		.sweep = r->job->sweep, .trial = r->job->trial, .epoch = e->epoch};
	const int64_t began_us = sw_clock_mono_us();
	struct sw_err why = SW_ERR_INIT;
	const sw_status rc = sw_checkpoint_write(e->net, &id, r->job->checkpoint_dir, &why);

	r->kept_us = sw_clock_mono_us(); /* a full disk is not tried at every step */
	r->file_us = r->kept_us - began_us;
	if (rc == SW_OK)
		return true;
	if (!are_over(r))
		sw_session_log(r->session, "%s", why.msg);
	return false;
}

/* Returns how many there are. */
static size_t list_metrics(const struct sw_epoch *e, struct metric m[METRICS_MOST])
{
	size_t n = 0;

	m[n++] = (struct metric){"train_loss", e->train_loss};
	m[n++] = (struct metric){"val_loss", e->val_loss};
	if (e->classes) {
		m[n++] = (struct metric){"val_accuracy", e->val_accuracy};
		m[n++] = (struct metric){"val_top5", e->val_top5};
		if (!isnan(e->val_auc))
			m[n++] = (struct metric){"val_auc", e->val_auc};
		if (!isnan(e->val_macro_f1))
			m[n++] = (struct metric){"val_macro_f1", e->val_macro_f1};
	} else {
		m[n++] = (struct metric){"val_rmse", sqrt(e->val_loss)};
		m[n++] = (struct metric){"val_mae", e->val_mae};
		m[n++] = (struct metric){"val_r2", e->val_r2};
	}
	m[n++] = (struct metric){"samples_per_s", round(e->samples_per_s)};
	if (!isnan(e->bubble))
		m[n++] = (struct metric){"pipeline_bubble", e->bubble};
	if (e->net->oom_events) {
		m[n++] = (struct metric){"oom_events", (double)e->net->oom_events};
		m[n++] = (struct metric){"micro_batch", (double)e->net->at.micro};
	}
	if (e->net->graphs.misses)
		m[n++] = (struct metric){"graph_misses", (double)e->net->graphs.misses};
	return n;
}

/* Tells once that graphs were not made: the curve is the same, but its time may not be. */
static void log_misses(struct run *r, const struct sw_net *net)
{
	if (r->missed || net->graphs.misses == 0)
		return; /* once is enough */
	r->missed = true;
	sw_session_log(r->session, "a step could not be made a graph (tries that failed: %u): %s",
		       net->graphs.misses,
		       net->graphs.off ? "the trial goes on without, which takes longer"
				       : "a later try was good");
}

/* Reports an epoch. The checkpoint comes first: the report promises it. */
static bool on_epoch(void *ctx, const struct sw_epoch *e)
{
	struct run *r = ctx;
	struct metric list[METRICS_MOST];
	const size_t n = list_metrics(e, list);
	struct sw_buf metrics;
	struct sw_jw w;
	bool kept, on;

	/* Before the checkpoint, which holds the best weights, too. */
	note_best(r, e, list, n);
	/* Without the time that its file takes. */
	r->took_us = sw_clock_mono_us() - r->epoch_us;
	kept = checkpoint_wanted(r, e) && keep_checkpoint(r, e);
	r->epoch = e->epoch;
	r->epoch_us = sw_clock_mono_us();
	log_misses(r, e->net);
	/* an earlier attempt reported this step already, and the same seed gives the same
	 * metrics */
	if (e->epoch <= r->job->resume_step)
		return sw_session_go_on(r->session);
	sw_buf_init(&metrics, 4096);
	sw_jw_init_obj(&w, &metrics);
	for (size_t i = 0; i < n; i++)
		sw_jw_kmetric(&w, list[i].name, list[i].value);
	sw_jw_obj_end(&w);
	r->no_memory = metrics.failed != SW_OK;
	on = !r->no_memory && sw_session_report(r->session, e->epoch, metrics.data, kept);
	sw_buf_fini(&metrics);
	/* told to end after it was decided to write none, it goes on to the next epoch */
	if (on && kept && !e->last && sw_session_leaving(r->session))
		return sw_session_settle(r->session) && false; /* end_trial() knows why */
	/* at `until` the decision may be to pause: no batch is trained before it is known */
	return on && e->epoch == r->job->until ? sw_session_settle(r->session) : on;
}

/* Tells the daemon why the trial failed, and whose fault that is. */
static void fail_trial(struct run *r, sw_status rc, const struct sw_err *err)
{
	char line[sizeof err->ptr + sizeof err->msg + 20];

	if (r->refused) { /* it passes, or the machine's owner has to know */
		sw_session_log(r->session, "given back: %s", err->msg);
		sw_session_refuse(r->session, err->msg);
		return;
	}
	snprintf(line, sizeof line, "%s%s%s%s", r->crowded ? "no memory now: " : "", err->ptr,
		 *err->ptr ? ": " : "", err->msg);
	sw_session_log(r->session, "%s: %s", r->ready.impossible ? "infeasible" : "failed", line);
	if (rc == SW_NOMEM && !r->crowded)
		sw_session_finish(r->session, "INFEASIBLE", "oom");
	else
		sw_session_finish(r->session, r->ready.impossible ? "INFEASIBLE" : "FAILED", line);
}

/* Says why a trial has fewer epochs than it may have, in the cause and in its log. */
static const char *tell_stale(struct run *r, char out[100])
{
	const uint64_t n = r->ready.trainer.patience;

	snprintf(out, 100, "patience: val_loss not lower for %" PRIu64 " epoch%s", n,
		 n == 1 ? "" : "s");
	/* false: the answer to a report has ended the trial otherwise */
	if (sw_session_settle(r->session))
		sw_session_log(r->session, "ended after epoch %" PRIu64 ": %s", r->epoch, out);
	return out;
}

/* All is ready on each rank, or the first that is not decides. */
static sw_status prepare_trial(struct run *r, struct sw_err *err)
{
	const struct sw_job *j = r->job;
	sw_status rc = j->ranks > 1 ? sw_ranks_start(&r->ranks, r->runner, j, err) : SW_OK;

	/* there is no thread or GPU for a rank now: the trial is given out again later */
	r->refused = rc == SW_BUSY;
	if (rc == SW_OK)
		rc = sw_prepare(&r->ready, r->runner, j, err);
	return r->ranks ? sw_ranks_agree(sw_ranks_comm(r->ranks), rc, &r->ready.impossible,
					 &r->runner->lost_rank, err)
			: rc;
}

/* Tells the daemon how the training ended. */
static void end_trial(struct run *r, enum sw_train_end end)
{
	struct sw_session *s = r->session;
	char cause[100];

	if (end == SW_TRAIN_DIVERGED) {
		sw_session_log(s, "diverged in epoch %" PRIu64 ": the loss is not a finite number",
			       r->epoch);
		sw_session_finish(s, "INFEASIBLE", "diverged");
	} else if (end == SW_TRAIN_DROPPED && *sw_session_dropped(s)) {
		sw_session_log(s, "ended after epoch %" PRIu64 ": %s", r->epoch,
			       sw_session_dropped(s));
		sw_session_release(s);
	} else if (end == SW_TRAIN_DROPPED && sw_session_leaving(s) && !*sw_session_refused(s)) {
		sw_session_log(s, "ended after epoch %" PRIu64 ": %s", r->epoch,
			       sw_session_leaving_why(s));
		sw_session_release(s);
	} else {
		/* all epochs, or a report was refused: finish knows which */
		sw_session_finish(s, "COMPLETED",
				  end == SW_TRAIN_STALE || r->stale ? tell_stale(r, cause) : NULL);
	}
}

sw_status sw_run_job(struct sw_runner *runner, struct sw_session *s, const struct sw_job *job,
		     struct sw_err *err)
{
	struct run r = {.runner = runner, .session = s, .job = job};
	struct sw_prepared *ready = &r.ready;
	struct sw_train_hooks hooks = {.ctx = &r,
				       .begin = on_begin,
				       .go_on = on_step,
				       .report = on_epoch,
				       .progress = on_progress};
	enum sw_train_end end = SW_TRAIN_DONE;
	struct sw_err why = SW_ERR_INIT;
	sw_status rc;

	sw_beat_to(run_beat, &r, SW_BEAT_US);
	/* Before the ranks start: their pools and OpenBLAS's threads are set for all of them at
	 * once. */
	sw_runner_share(runner, job->ranks > 1 ? (unsigned)job->ranks : 1);
	rc = prepare_trial(&r, &why);
	hooks.comm = sw_ranks_comm(r.ranks);
	if (rc == SW_OK) {
		sw_run_log_start(s, runner->device, job, ready);
		sw_allowance_make_room(runner, &ready->model, &ready->trainer, ready->data);
		rc = sw_train_run(runner->ops, runner->q, &ready->model, ready->data,
				  &ready->trainer, job->seed, &hooks, &end, &why);
		r.refused = rc == SW_BUSY;
	}
	/* would it fit an empty device? then others have the memory, and its parameters are fine */
	r.crowded = rc == SW_NOMEM && ready->data && ready->model.ops_n > 0 &&
		    sw_allowance_would_do(runner, &ready->model, &ready->trainer, ready->data);
	runner->stuck = r.ranks && sw_comm_devices_end(sw_ranks_comm(r.ranks)) != SW_OK;
	if (r.ranks && *sw_comm_why(sw_ranks_comm(r.ranks)))
		runner->lost_rank = sw_comm_blamed(sw_ranks_comm(r.ranks));
	if (rc == SW_PEER_LOST)
		sw_session_log(s, "lost: %s", why.msg);
	/* before the daemon is told: it may give the slots of the ranks to another trial at once */
	runner->stuck = !sw_ranks_end(r.ranks) || runner->stuck;
	r.ranks = NULL;
	sw_prepared_release(ready, runner);
	sw_beat_to(NULL, NULL, 0);
	if (rc == SW_OK && r.no_memory)
		rc = sw_err_set(&why, SW_NOMEM, "no memory for a report");
	/* neither is told here: the end of the process tells the daemon that the attempt is lost */
	if (rc == SW_PEER_LOST)
		return sw_err_set(err, rc, "%s", why.msg);
	if (rc == SW_DEVICE_LOST)
		return sw_err_set(err, rc, "%s: %s", runner->device, why.msg);
	if (rc != SW_OK)
		fail_trial(&r, rc, &why);
	else
		end_trial(&r, end);
	return runner->stuck
		       ? sw_err_set(err, SW_DEVICE_LOST,
				    "%s: a rank does not get done with its end", runner->device)
		       : SW_OK;
}
