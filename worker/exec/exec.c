#include "worker/exec/exec.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "proto/json.h"
#include "worker/exec/oom.h"
#include "worker/exec/pump.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIMIT    1e9                /* the most that a spec may say */
#define COUNT_US    ((int64_t)1000000) /* between two looks at /proc */
#define LOOK_MS     1000
#define PATIENCE_US ((int64_t)500000)   /* for a program that knows that it ends, and its helpers */
#define TOLD_US     ((int64_t)2000000)  /* until all processes of a job are told to end */
#define RANKS_US    ((int64_t)10000000) /* for ranks whose first has ended well */
#define MEETINGS    3 /* after so many the port is one that the program itself takes */

/* A limit of `run`: "ended: <what> 5 <unit>", and the trial FAILED with the cause. */
static const struct limit {
	const char *key, *what, *unit, *cause;
} silence = {"silence_s", "no report for", "s", "timeout"},
  timeout = {"timeout_s", "this attempt ran for", "s", "timeout"},
  processes = {"max_processes", "it had more than", "processes", "max-processes"};

/* A trial of a program, from its job to its finish. */
struct trial {
	struct sw_asked asked;
	struct sw_ranks ranks; /* of this run: a program may be started again */
	struct sw_reports reports;
	int64_t started_us;          /* the attempt, not this run of the program */
	int64_t counted_us;          /* when its processes were counted */
	const struct limit *overdue; /* of `run`, which ends it; NULL: none */
	bool leaves;       /* it was ended because its worker is to end: it goes on later */
	unsigned meetings; /* runs that ended before the ranks had met */
};

/* --- one run of it --- */

static bool ended_badly(const struct sw_ranks *r)
{
	return r->failed || r->v[0].program.code != 0 || r->v[0].program.signal != 0;
}

/* Ends this run of the program, with all that it left. */
static void end_run(struct trial *t, int64_t patience_us)
{
	/* one that forks and forks has no grace */
	sw_pump_end(&t->reports, patience_us, t->overdue != &processes);
}

/* Starts a run of the program: the first of the attempt, or another one. */
static sw_status start(struct trial *t, struct sw_err *err)
{
	/* The lines and ends of an earlier run of the same attempt are not this one's. */
	sw_ranks_reset(&t->ranks);
	sw_reports_begin(&t->reports);
	const sw_status rc = sw_asked_start(&t->asked, &t->ranks, err);

	if (rc != SW_OK)
		t->leaves = sw_session_leaving(t->asked.session) > 0; /* it was not to begin */
	if (rc != SW_OK && t->ranks.v[0].program.pid != 0)
		end_run(t, 0); /* another rank could not be started */
	return rc;
}

/* Microseconds that it may take to end by itself. */
static int64_t patience_us(struct trial *t)
{
	const struct sw_program *p = &t->ranks.v[0].program;
	const bool knows = !t->overdue &&
			   (p->ended || t->ranks.failed || sw_reports_tell_end(&t->reports));

	/* one that knows nothing has no reason to end; an exiting worker has no time to wait */
	if (!knows || t->leaves || sw_session_ended(t->asked.session) == SW_SESSION_EXIT)
		return 0;
	return t->ranks.n > 1 && p->ended && p->code == 0 && p->signal == 0 ? RANKS_US
									    : PATIENCE_US;
}

static double most_of(const struct trial *t, const struct limit *l)
{
	return sw_json_number(t->asked.job->run, l->key, NO_LIMIT);
}

/* Microseconds that are left of a limit. */
static int64_t left_us(struct trial *t, const struct limit *l, int64_t since_us, int64_t now_us)
{
	const int64_t most_us = (int64_t)(most_of(t, l) * 1e6);
	const int64_t left = since_us + most_us - now_us;

	if (left <= 0)
		t->overdue = l;
	return left;
}

/* Looks whether the program has more processes than it may. */
static void count_processes(struct trial *t, int64_t now_us)
{
	const double most = most_of(t, &processes);

	if (most >= NO_LIMIT || now_us - t->counted_us < COUNT_US)
		return; /* a look at /proc costs: once a second, and only for a spec that asks */
	t->counted_us = now_us;
	/* Signal 0 counts without sending one. */
	if ((double)sw_program_signal(&t->ranks.v[0].program, SW_PROGRAM_ALL, 0, NULL) > most)
		t->overdue = &processes;
}

/* Milliseconds until a limit of `run` is over; 0: one is, which `overdue` says. */
static int left_ms(struct trial *t)
{
	struct sw_reports *r = &t->reports;
	const int64_t now_us = sw_clock_mono_us();

	/* while it waits for the daemon it cannot report */
	if (r->due || !sw_reports_may_print(r))
		r->heard_us = now_us;
	const int64_t silent_us = left_us(t, &silence, r->heard_us, now_us);
	const int64_t run_us = left_us(t, &timeout, t->started_us, now_us);
	const int64_t us = run_us < silent_us ? run_us : silent_us;

	count_processes(t, now_us);
	if (t->overdue)
		return 0; /* the run ends now */
	return us < INT32_MAX ? (int)(us / 1000) + 1 : INT32_MAX / 1000;
}

/* A scheduler that ends a job signals all of its processes: what looks like a program that was
 * killed may be a worker that is told to end, and has not read it yet. */
static bool was_ended_with_worker(struct trial *t)
{
	struct sw_session *s = t->asked.session;
	const struct sw_program *p = &t->ranks.v[t->ranks.failed].program;
	const int64_t until_us = sw_clock_mono_us() + TOLD_US;

	/* An end that this worker has caused is explained. */
	if (!t->asked.going || t->overdue || t->reports.saving || !ended_badly(&t->ranks))
		return false;
	while ((p->signal == SIGTERM || p->code == 128 + SIGTERM) && sw_session_leaving(s) == 0 &&
	       sw_clock_mono_us() < until_us && sw_session_wait(s, NULL, 0, 100, 0))
		;
	return sw_session_leaving(s) > 0;
}

/* Hears the program until it has ended, or must end; then nothing of it is left. */
static void run(struct trial *t)
{
	struct sw_program *p = &t->ranks.v[0].program;
	int ms;

	/* Ranks come first: one that failed counts even if rank 0 has ended since the last look. A
	 * report that is to be saved ends the run, too: nothing may write into its folder then. */
	while (!sw_ranks_have_failed(&t->ranks) && t->asked.going && !t->reports.saving &&
	       !sw_program_has_ended(p) && (ms = left_ms(t)) > 0 &&
	       !(t->leaves = sw_session_leaving(t->asked.session) > 0))
		sw_pump_once(&t->reports, ms < LOOK_MS ? ms : LOOK_MS);
	/* its last lines count, and say whether it waits for an answer */
	if (p->ended)
		sw_pump_drain(&t->reports);
	t->leaves = t->leaves || was_ended_with_worker(t);
	end_run(t, patience_us(t));
}

/* The report for which the program was ended: its folder is at rest now. true: the program is to go
 * on from there. */
static bool goes_on(struct trial *t)
{
	sw_reports_save(&t->reports);
	t->asked.going = sw_session_settle(t->asked.session);
	return t->asked.going;
}

/* Did its memory run out, and is there a smaller parameter to try? */
static bool tries_less(struct trial *t)
{
	struct sw_session *s = t->asked.session;
	const char *name = cJSON_GetStringValue(
		sw_json_get(sw_json_get(t->asked.job->run, "on_oom"), "halve"));
	double now;

	if (!t->asked.going || t->overdue || !ended_badly(&t->ranks) ||
	    !sw_ranks_are_oom(&t->ranks) || !name)
		return false;
	/* Others have the rest of its GPU: the daemon gives it back, to run alone and halve
	 * there. */
	if (t->asked.job->gpu_percent > 0)
		return false;
	if (!sw_oom_halve(t->asked.params, name, &now)) {
		sw_session_log(s, "out of memory, and %.100s cannot be halved", name);
		return false;
	}
	sw_session_log(s, "out of memory: again with %.100s %g", name, now);
	return true;
}

/* Did another process take the port before rank 0 listened there? It may between the choice and
 * that, in some milliseconds; a script that has reported has met. */
static bool meets_again(struct trial *t)
{
	const struct sw_reports *r = &t->reports;

	if (!t->asked.going || t->overdue || !ended_badly(&t->ranks) || !t->asked.job->ranks ||
	    r->step > t->asked.folder.step || !sw_words_taken(&t->ranks.v[0].words) ||
	    ++t->meetings == MEETINGS)
		return false;
	sw_session_log(t->asked.session,
		       "MASTER_PORT was taken before rank 0 listened there: all ranks start again");
	return true;
}

/* --- from job to finish --- */

/* Ends the trial of a program that ended badly: of several ranks that which is blamed says why. */
static void finish_badly(struct sw_session *s, const struct sw_ranks *r)
{
	const struct sw_rank *k = &r->v[r->failed];
	const struct sw_program *p = &k->program;
	/* one that a signal from outside ended was about to say something else */
	const char *words = !p->signal || p->signal == SIGABRT ? sw_words_say(&k->words) : "";
	char cause[64 + SW_WORDS_MAX], rank[32] = "";

	if (r->failed)
		(void)snprintf(rank, sizeof rank, "rank %zu ", r->failed);
	(void)snprintf(cause, sizeof cause, "%s%s:%d%s%s", rank, p->signal ? "signal" : "exit",
		       p->signal ? p->signal : p->code, *words ? ": " : "", words);
	sw_session_log(s, "ended with %s", cause);
	if (sw_ranks_are_oom(r))
		sw_session_finish(s, "INFEASIBLE", "oom");
	else
		sw_session_finish(s, "FAILED", cause);
}

/* Ends the trial of a program that was ended for a limit of `run`. */
static void finish_overdue(struct sw_session *s, const struct limit *l, double most)
{
	sw_session_log(s, "ended: %s %g %s (run.%s)", l->what, most, l->unit, l->key);
	sw_session_finish(s, "FAILED", l->cause);
}

/* Ends the trial of a program that ended well, but reported no metric. */
static void finish_silent(struct sw_session *s, const struct sw_reports *r, const char *metric)
{
	char text[SW_WORDS_MAX], cause[16 + SW_WORDS_MAX];

	(void)snprintf(cause, sizeof cause, "no-metric: %s",
		       sw_printed_say(&r->printed, metric, text));
	sw_session_log(s, "ended with %s", cause);
	sw_session_finish(s, "FAILED", cause);
}

/* Tells the daemon how a program that has ended ends its trial. */
static void finish(const struct trial *t)
{
	const struct sw_job *j = t->asked.job;
	struct sw_session *s = t->asked.session;

	if (t->overdue)
		finish_overdue(s, t->overdue, most_of(t, t->overdue));
	else if (ended_badly(&t->ranks))
		finish_badly(s, &t->ranks);
	/* one that goes on has reported before: the daemon knows whether the metric was in it */
	else if (t->reports.has_metric || !j->metric || j->resume_step || *t->asked.folder.resume)
		sw_session_finish(s, "COMPLETED", NULL);
	else
		finish_silent(s, &t->reports, j->metric);
}

/* Tells the daemon the end of the trial, then settles the folder. */
static void conclude(struct trial *t, const struct sw_err *err)
{
	struct sw_session *s = t->asked.session;
	struct sw_folder *folder = &t->asked.folder;
	const char *why = sw_session_dropped(s);
	const bool open = sw_session_ended(s) == SW_SESSION_OPEN && !t->leaves;
	const bool tells = open && !*why;
	bool ended;

	/* Its parameter files first: the program has ended, and what follows may wait for the
	 * daemon. */
	sw_asked_close(&t->asked);
	if (t->leaves && !*why)
		why = sw_session_leaving_why(s);
	if (tells && err->code != SW_BUSY) {
		if (!sw_folder_is_empty(folder))
			sw_session_log(s, "what SWEEPD_CHECKPOINT_DIR holds is not kept: it was "
					  "not reported with \"checkpoint\": true");
		if (err->code == SW_OK) {
			finish(t);
		} else {
			sw_session_log(s, "failed: %s", err->msg);
			sw_session_finish(s, "FAILED", err->msg);
		}
	}
	if (*why)
		sw_session_log(s, "ended after step %" PRIu64 ": %s", t->reports.told, why);
	/* A worker that is killed before this leaves the next attempt all that this one went on
	 * from. A trial that has ended is never resumed; what stays of one whose answer was lost
	 * goes with the sweep's end. */
	ended = sw_session_told(s);
	if (ended && t->asked.job->trial_dir)
		(void)rmdir(t->asked.job->trial_dir); /* most are empty */
	if (!sw_folder_close(folder, !ended))
		sw_session_log(s, "SWEEPD_CHECKPOINT_DIR cannot be deleted: %s", strerror(errno));
	/* After the folder: the daemon may give the trial to another worker at once, which then
	 * finds it as it is. */
	if (tells && err->code == SW_BUSY) /* the machine's trouble, which passes */
		sw_session_refuse(s, err->msg);
	else
		sw_session_release(s);
}

static void session_beat(void *session)
{
	(void)sw_session_go_on(session);
}

void sw_exec_job(const struct sw_site *site, struct sw_session *s, const struct sw_job *job)
{
	struct sw_err err = SW_ERR_INIT;
	struct trial *t = sw_calloc(1, sizeof *t);
	bool again = true;

	if (!t) {
		sw_session_finish(s, "FAILED", "no memory for a program");
		return;
	}
	t->asked = (struct sw_asked){.site = site, .session = s, .job = job, .going = true};
	t->reports.asked = &t->asked;
	t->reports.ranks = &t->ranks;
	/* The daemon has the steps up to resume_step: repeated, they are answered, and not reported
	 * again. */
	t->reports.told = t->reports.repeat_to = job->resume_step;
	t->started_us = sw_clock_mono_us();
	sw_beat_to(session_beat, s, SW_BEAT_US); /* for what syncs and removes folders */
	if (sw_ranks_init(&t->ranks, (size_t)job->ranks, job->log, &err) == SW_OK &&
	    sw_asked_open(&t->asked, &err) == SW_OK) {
		t->ranks.text = strcmp(sw_json_text(job->run, "metrics", ""), "text") == 0;
		t->reports.printed.text = t->ranks.text;
		while (again && start(t, &err) == SW_OK) {
			run(t);
			/* the next run repeats the steps since its checkpoint: each is reported
			 * once */
			t->reports.repeat_to = t->reports.told;
			again = (t->reports.saving
					 ? goes_on(t)
					 : !t->leaves && (tries_less(t) || meets_again(t))) &&
				!t->overdue && !t->leaves;
		}
	}
	/* Before the end is told: the last answer may be another end. */
	(void)sw_session_settle(t->asked.session);
	conclude(t, &err);
	sw_beat_to(NULL, NULL, 0);
	sw_buf_fini(&t->reports.saving_metrics);
	sw_ranks_fini(&t->ranks);
	free(t);
}
