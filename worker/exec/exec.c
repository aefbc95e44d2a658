#include "worker/exec/exec.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "proto/frame.h"
#include "proto/json.h"
#include "spec/command.h"
#include "worker/exec/exec_internal.h"
#include "worker/exec/oom.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS     1000
#define PATIENCE_US ((int64_t)500000)   /* for a program that knows that it ends, and its helpers */
#define RANKS_US    ((int64_t)10000000) /* for ranks whose first has ended well */
#define REAP_US     ((int64_t)1000000)
#define DRAIN_READS 32 /* what a pipe may hold, and no more of one that is written for ever */
#define DEF_PATH    "/usr/local/bin:/usr/bin:/bin"

/* --- what comes --- */

static void watch(struct pollfd *fds, size_t *n, int fd, bool wanted)
{
	if (wanted && fd >= 0)
		fds[(*n)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* The socket is written to as well. */
static void watch_socket(const struct sw_exec *t, struct pollfd *fds, size_t *n, bool reads)
{
	const short in = reads ? POLLIN : 0, out = t->answers.n > 0 ? POLLOUT : 0;

	if ((in || out) && t->program.metrics >= 0)
		fds[(*n)++] = (struct pollfd){.fd = t->program.metrics, .events = in | out};
}

static void serve_socket(struct sw_exec *t, const struct pollfd *fd)
{
	if (t->answers.n > 0)
		sw_answers_send(&t->answers, fd->fd);
	if (fd->events & POLLIN)
		(void)sw_lines_read(&t->metrics, fd->fd);
}

static void reap_at_times(struct sw_exec *t)
{
	const int64_t now_us = sw_clock_mono_us();

	if (now_us - t->reaped_us < REAP_US)
		return;
	t->reaped_us = now_us;
	sw_program_reap();
}

void sw_exec_pump(struct sw_exec *t, int timeout_ms)
{
	struct sw_program *p = &t->program;
	struct pollfd fds[SW_SESSION_FDS];
	const bool waits = (t->asked || t->held) && !p->ended;
	size_t n = 0, own;

	watch(fds, &n, p->pidfd, !p->ended);
	watch_socket(t, fds, &n, !t->metrics.ended && !waits);
	watch(fds, &n, p->out, !t->out.ended && sw_exec_may_print(t));
	watch(fds, &n, p->err, !t->err.ended);
	own = n;
	sw_ranks_watch(&t->others, fds, &n);
	t->going = sw_session_wait(t->session, fds, n, timeout_ms, waits ? t->since_us : 0);
	if (n > own)
		(void)sw_ranks_read(&t->others);
	for (size_t i = 0; i < own; i++)
		if (fds[i].revents == 0)
			continue;
		else if (fds[i].fd == p->pidfd)
			(void)sw_program_has_ended(p);
		else if (fds[i].fd == p->metrics)
			serve_socket(t, &fds[i]);
		else
			(void)sw_lines_read(fds[i].fd == p->out ? &t->out : &t->err, fds[i].fd);
	do
		sw_exec_take_lines(t);
	while (sw_exec_answer(t));
	reap_at_times(t);
}

/* Takes what is left in the program's pipes, and does not wait; last: also lines without an end. */
static void drain_pipes(struct sw_exec *t, bool last)
{
	struct sw_program *p = &t->program;
	bool more = true;

	for (int i = 0; more && i < DRAIN_READS; i++) {
		more = sw_lines_read(&t->metrics, p->metrics);
		more |= sw_lines_read(&t->out, p->out);
		more |= sw_lines_read(&t->err, p->err);
		more |= sw_ranks_read(&t->others);
		sw_exec_take_lines(t);
	}
	if (last) {
		t->metrics.ended = t->out.ended = t->err.ended = true;
		sw_ranks_end_lines(&t->others);
		sw_exec_take_lines(t);
	}
}

/* Nothing of it is left afterwards. */
static void end_run(struct sw_exec *t, int64_t patience_us)
{
	sw_exec_end(t, patience_us);
	drain_pipes(t, true);
	sw_program_close(&t->program);
	sw_ranks_close(&t->others);
}

/* --- the start --- */

static const char *variable(void *environment, const char *name)
{
	return sw_environment_get(environment, name);
}

/* The file for ${args_json_file}, beside the output. */
static void json_path(const struct sw_exec *t, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s.json", t->job->log);
}

static sw_status write_json(const struct sw_exec *t, const char *params, struct sw_err *err)
{
	char path[PATH_MAX];
	FILE *f;
	bool good;

	json_path(t, path);
	if (!sw_command_has(t->job->command, "args_json_file"))
		return SW_OK;
	f = fopen(path, "we");
	good = f && fputs(params, f) >= 0;
	if (f && fclose(f) != 0)
		good = false;
	return good ? SW_OK
		    : sw_err_set(err, SW_IO, "the file for ${args_json_file} cannot be written");
}

static void remove_json(const struct sw_exec *t)
{
	char path[PATH_MAX];

	json_path(t, path);
	if (sw_command_has(t->job->command, "args_json_file"))
		(void)unlink(path);
}

static void log_start(struct sw_exec *t, char *const argv[])
{
	char line[300];
	size_t n = 0;

	for (; *argv && n < sizeof line - 1; argv++)
		n += (size_t)snprintf(line + n, sizeof line - n, " %s", *argv);
	sw_session_log(t->session, "started on %s:%s%s", t->place->name, line,
		       n >= sizeof line ? "..." : "");
	if (*t->live.resume)
		sw_session_log(t->session, "goes on from %s", strrchr(t->live.resume, '/') + 1);
}

/* Finds the program of an expanded command and starts it. */
static sw_status start_words(struct sw_exec *t, struct sw_program *p, char *const argv[],
			     struct sw_environment *e, struct sw_err *err)
{
	const char *path = sw_environment_get(e, "PATH");
	char file[PATH_MAX];

	if (!argv[0] || !sw_program_find(argv[0], path ? path : DEF_PATH, file, sizeof file))
		return sw_err_set(err, SW_NOT_FOUND,
				  "cannot start %.200s: it is in no folder of PATH",
				  argv[0] ? argv[0] : "nothing");
	if (p == &t->program)
		log_start(t, argv);
	const sw_status rc = sw_program_start(p, file, argv, e->list,
					      cJSON_GetStringValue(sw_json_get(t->job->run, "cwd")),
					      t->mark, err);
	if (rc == SW_OK && !p->marked && p == &t->program)
		sw_session_log(t->session,
			       "the limit of file locks (ulimit -Hx) is too low for a mark: "
			       "if this worker is killed, what hides its environment is "
			       "not found");
	return rc;
}

static sw_status start_with(struct sw_exec *t, struct sw_program *p, struct sw_environment *e,
			    struct sw_err *err)
{
	const char *path = sw_environment_get(e, "PATH");
	char json[PATH_MAX], found[PATH_MAX], **argv = NULL;
	const bool python = sw_program_find("python", path ? path : DEF_PATH, found, sizeof found);
	const struct sw_command_values values = {.params = t->params,
						 .program = t->job->program,
						 .interpreter = python ? NULL : "python3",
						 .json_file = json,
						 .variable = variable,
						 .user = e};
	sw_status rc;

	if (e->failed)
		return sw_err_set(err, SW_NOMEM, "no memory for a program");
	json_path(t, json);
	rc = sw_command_expand(&argv, t->job->command, &values, err);
	if (rc == SW_OK)
		rc = start_words(t, p, argv, e, err);
	free(argv);
	return rc;
}

/* All of them, or none. The file is written before the first, which may read it while others are
 * started. */
static sw_status start_ranks(struct sw_exec *t, const char *params, struct sw_environment *e,
			     struct sw_err *err)
{
	sw_status rc = t->job->ranks ? sw_ranks_meet(e, t->others.n + 1, err) : SW_OK;

	if (rc == SW_OK)
		rc = write_json(t, params, err);
	if (rc == SW_OK)
		rc = start_with(t, &t->program, e, err);
	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; rc == SW_OK && i < t->others.n; i++) {
		sw_ranks_number(e, i + 1);
		rc = start_with(t, &t->others.v[i].program, e, err);
	}
	if (rc != SW_OK)
		end_run(t, 0);
	return rc;
}

static sw_status start(struct sw_exec *t, struct sw_err *err)
{
	struct sw_environment e = {0};
	struct sw_buf params;
	struct sw_jw w;
	sw_status rc;

	sw_lines_init(&t->metrics);
	sw_lines_init(&t->out);
	sw_lines_init(&t->err);
	sw_answers_init(&t->answers);
	t->heard_us = sw_clock_mono_us();
	sw_ranks_reset(&t->others);
	t->step = t->live.step;
	t->by_socket = t->asked = t->held = t->said_oom = false;
	t->failed_rank = 0;
	t->last_words[0] = '\0';
	sw_buf_init(&params, SW_FRAME_MAX);
	sw_jw_init(&w, &params);
	sw_jw_cjson(&w, t->params);
	if (params.failed == SW_OK) {
		sw_environment_make(&e, t->job, t->place, params.data, &t->live);
		rc = start_ranks(t, params.data, &e, err);
	} else {
		rc = sw_err_set(err, SW_NOMEM, "no memory for a program");
	}
	sw_environment_fini(&e);
	sw_buf_fini(&params);
	return rc;
}

/* --- one run of it --- */

/* How long it may take to end by itself. */
static int64_t patience_us(struct sw_exec *t)
{
	const struct sw_program *p = &t->program;
	const bool knows = !t->overdue && (p->ended || t->failed_rank || sw_exec_tell_end(t));

	if (!knows || sw_session_ended(t->session) == SW_SESSION_EXIT)
		return 0;
	return t->others.n && p->ended && p->code == 0 && p->signal == 0 ? RANKS_US : PATIENCE_US;
}

/* Until it has ended, or must; then nothing of it is left. */
static void run(struct sw_exec *t)
{
	int left_ms;

	while (t->going && !t->saving && !sw_program_has_ended(&t->program) &&
	       t->failed_rank == 0 && (left_ms = sw_exec_left_ms(t)) > 0) {
		sw_exec_pump(t, left_ms < LOOK_MS ? left_ms : LOOK_MS);
		t->failed_rank = sw_ranks_failed(&t->others);
	}
	if (t->program.ended)
		drain_pipes(t, false);
	end_run(t, patience_us(t));
}

/* Waits for the answers to all reports; nobody writes any more. */
static void settle(struct sw_exec *t)
{
	const int64_t since_us = sw_clock_mono_us();

	while (t->going && sw_session_waiting(t->session) > 0)
		t->going = sw_session_wait(t->session, NULL, 0, LOOK_MS, since_us);
}

/* The report for which the program was ended: what it kept is at rest now. true: the program is to
 * go on from there. */
static bool goes_on(struct sw_exec *t)
{
	const bool kept = t->going && sw_exec_keep(t, t->saving_step);

	if (t->going) {
		t->told = t->saving_step;
		t->going = sw_session_report(t->session, t->told, t->saving_metrics.data, kept);
	}
	sw_buf_fini(&t->saving_metrics);
	t->saving = false;
	settle(t);
	return t->going;
}

static bool ended_badly(const struct sw_exec *t)
{
	return t->failed_rank || t->program.code != 0 || t->program.signal != 0;
}

/* Its memory ran out and a smaller parameter is to be tried. */
static bool tries_less(struct sw_exec *t)
{
	const char *name =
		cJSON_GetStringValue(sw_json_get(sw_json_get(t->job->run, "on_oom"), "halve"));
	double now;

	if (!t->going || t->overdue || !t->said_oom || !ended_badly(t) || !name)
		return false;
	if (!sw_oom_halve(t->params, name, &now)) {
		sw_session_log(t->session, "out of memory, and %.100s cannot be halved", name);
		return false;
	}
	sw_session_log(t->session, "out of memory: again with %.100s %g", name, now);
	return true;
}

/* --- from job to finish --- */

/* How a program that ended badly ends its trial: of several ranks by the first that did. */
static void finish_badly(struct sw_exec *t, const struct sw_program *p, const char *last_words)
{
	char cause[64], rank[32] = "";

	if (t->failed_rank)
		(void)snprintf(rank, sizeof rank, "rank %zu ", t->failed_rank);
	(void)snprintf(cause, sizeof cause, p->signal ? "%ssignal:%d" : "%sexit:%d", rank,
		       p->signal ? p->signal : p->code);
	sw_session_log(t->session, "ended with %s%s%s", cause, *last_words ? ": " : "", last_words);
	if (t->said_oom)
		sw_session_finish(t->session, "INFEASIBLE", "oom");
	else
		sw_session_finish(t->session, "FAILED", cause);
}

static void finish_overdue(struct sw_exec *t)
{
	const double limit = sw_json_number(t->job->run, t->overdue, 0);
	const bool many = strcmp(t->overdue, "max_processes") == 0;
	const bool silent = strcmp(t->overdue, "silence_s") == 0;

	sw_session_log(t->session, "ended: %s %g %s (run.%s)",
		       many     ? "it had more than"
		       : silent ? "no report for"
				: "this attempt ran for",
		       limit, many ? "processes" : "s", t->overdue);
	sw_session_finish(t->session, "FAILED", many ? "max-processes" : "timeout");
}

/* How a program that has ended ends its trial. */
static void finish(struct sw_exec *t)
{
	const struct sw_rank *r = t->failed_rank ? &t->others.v[t->failed_rank - 1] : NULL;

	if (t->overdue)
		finish_overdue(t);
	else if (ended_badly(t))
		finish_badly(t, r ? &r->program : &t->program, r ? r->last_words : t->last_words);
	/* one that goes on has reported before: the daemon knows whether the metric was in it */
	else if (t->has_metric || t->job->resume_step || *t->live.resume)
		sw_session_finish(t->session, "COMPLETED", NULL);
	else
		sw_session_finish(t->session, "FAILED", "no-metric");
}

static void conclude(struct sw_exec *t, const struct sw_err *err)
{
	const char *why = sw_session_dropped(t->session);
	const bool open = sw_session_ended(t->session) == SW_SESSION_OPEN;
	/* whoever resumes the trial needs what it kept; one that has ended is resumed by nobody */
	const bool for_next = !open || (*why && strcmp(why, "decision stop") != 0);
	const bool unreported = open && !*why && !sw_folder_is_empty(&t->live);

	if (!sw_folder_close(&t->live, for_next))
		sw_session_log(t->session, "SWEEPD_CHECKPOINT_DIR cannot be deleted: %s",
			       strerror(errno));
	else if (unreported)
		sw_session_log(t->session, "deleted what SWEEPD_CHECKPOINT_DIR holds: it was not "
					   "reported with \"checkpoint\": true");
	remove_json(t);
	if (*why)
		sw_session_log(t->session, "ended after step %" PRIu64 ": %s", t->told, why);
	if (*why || !open) {
		sw_session_release(t->session);
	} else if (err->code == SW_BUSY) { /* the machine's trouble, which passes */
		sw_session_refuse(t->session, err->msg);
	} else if (err->code != SW_OK) {
		sw_session_log(t->session, "failed: %s", err->msg);
		sw_session_finish(t->session, "FAILED", err->msg);
	} else {
		finish(t);
	}
}

/* What it goes on from, its parameters, its output. */
static sw_status prepare(struct sw_exec *t, struct sw_err *err)
{
	const struct sw_job *j = t->job;
	struct sw_err why = SW_ERR_INIT;
	const sw_status rc = sw_folder_open(&t->live, j, &why);

	if (rc != SW_OK && j->parent)
		return sw_err_set(err, rc, "%s", why.msg);
	if (rc != SW_OK)
		sw_session_log(t->session, "%s: the trial starts from scratch", why.msg);
	(void)snprintf(t->mark, sizeof t->mark, "SWEEPD_COOKIE=%s", j->cookie);
	t->told = t->repeat_to = j->resume_step;
	if (sw_ranks_init(&t->others, (size_t)j->ranks, err) != SW_OK)
		return err->code;
	t->params = cJSON_Duplicate(j->params, true);
	return t->params ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory for a program");
}

static void session_beat(void *session)
{
	(void)sw_session_go_on(session);
}

void sw_exec_job(const struct sw_place *place, struct sw_session *s, const struct sw_job *job)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_exec *t = sw_calloc(1, sizeof *t);
	bool again = true;

	if (!t) {
		sw_session_finish(s, "FAILED", "no memory for a program");
		return;
	}
	t->place = place;
	t->session = s;
	t->job = job;
	t->going = true;
	t->started_us = sw_clock_mono_us();
	sw_program_init(&t->program);
	sw_output_init(&t->log, job->log);
	sw_beat_to(session_beat, s, SW_BEAT_US); /* for what syncs and removes folders */
	if (prepare(t, &err) == SW_OK)
		while (again && start(t, &err) == SW_OK) {
			run(t);
			t->repeat_to = t->told;
			again = (t->saving ? goes_on(t) : tries_less(t)) && !t->overdue;
		}
	settle(t);
	conclude(t, &err);
	sw_beat_to(NULL, NULL, 0);
	sw_output_close(&t->log);
	sw_buf_fini(&t->saving_metrics);
	cJSON_Delete(t->params);
	sw_ranks_fini(&t->others);
	free(t);
}
