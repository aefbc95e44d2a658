#include "daemon/verify/replay_main.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "daemon/verify/verify.h"
#include "store/peek.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOW_EVERY_US 200000

static const char usage[] =
	"usage: sweepd replay DB [SWEEP]\n"
	"Rebuilds each ended sweep of a database, or the one you name, from its stored events,\n"
	"and compares everything stored about it with the result: verdicts, decisions, hand-outs,\n"
	"suggestions, the ends of trials and sweeps. If you name a sweep that still runs, it is\n"
	"compared as far as it is stored. DB is the file, a copy of it, or its state directory;\n"
	"nothing is written to it, and a daemon that has it open is not disturbed.\n"
	"\n"
	"Exit status: 0 all as stored, 1 the first difference is printed, 2 usage, 3 the file\n"
	"cannot be used.\n";

struct sweeps {
	struct {
		int64_t number;
		bool ended;
	} * v;
	size_t n, cap;
	FILE *out;        /* for those of which there is nothing to compare */
	bool nomem, gone; /* gone: the last that was read */
};

static bool keep_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct sweeps *s = arg;

	if (row->gone == SW_GONE_BUT_BEST)
		(void)fprintf(s->out,
			      "sweep %" PRId64 ": deleted but for its best trial, %" PRId64
			      ": its events are gone, nothing to compare\n",
			      row->sweep, row->kept);
	s->gone = row->gone != SW_GONE_NOT;
	if (s->gone)
		return true;
	if (!sw_array_reserve(&s->v, &s->cap, s->n + 1, sizeof *s->v)) {
		s->nomem = true;
		return false;
	}
	s->v[s->n].number = row->sweep;
	s->v[s->n++].ended = row->ended_ms != 0;
	return true;
}

static const char *counted(uint64_t n, const char *noun, char out[64])
{
	char number[32];

	(void)snprintf(out, 64, "%s %s%s", sw_text_count(n, number), noun, n == 1 ? "" : "s");
	return out;
}

static void show_progress(const struct sw_verify *v, uint64_t ev)
{
	static int64_t next_us; /* one run in one process */
	const int64_t now_us = sw_clock_mono_us();
	char done[32], all[32];

	if (now_us < next_us)
		return;
	next_us = now_us + SHOW_EVERY_US;
	(void)fprintf(stderr, "\rsweep %" PRId64 ": event %s of %s \r", v->sweep,
		      sw_text_count(ev, done), sw_text_count(v->events_n, all));
	(void)fflush(stderr);
}

static void print_same(const struct sw_verify *v, bool ended, FILE *out)
{
	char trials[64], events[64], decisions[64], suggestions[64];

	(void)fprintf(out, "sweep %" PRId64 ": %s, %s, %s, %s: all as stored", v->sweep,
		      counted(v->trials, "trial", trials), counted(v->events, "event", events),
		      counted(v->decisions, "decision", decisions),
		      counted(v->suggestions, "suggestion", suggestions));
	if (!ended)
		(void)fprintf(out, " so far (it is %s)", v->state);
	(void)fputc('\n', out);
}

static int fail(FILE *errors, const struct sw_err *err)
{
	(void)fprintf(errors, "sweepd: %s\n", err->msg);
	return SW_REPLAY_FILE;
}

/* One sweep, in a snapshot of its own: a daemon's log need not wait for all of them. */
static int replay_one(struct sw_db *db, int64_t sweep, bool ended, FILE *out, FILE *errors)
{
	struct sw_err err = SW_ERR_INIT, changed = SW_ERR_INIT;
	struct sw_verify v;
	sw_status rc = sw_peek_begin(db, &err);

	if (rc != SW_OK)
		return fail(errors, &err);
	sw_verify_init(&v, sweep);
	if (errors == stderr && isatty(STDERR_FILENO))
		v.progress = show_progress;
	rc = sw_verify_run(&v, db, &err);
	if (v.progress != NULL)
		(void)fprintf(stderr, "\033[K");
	int status = SW_REPLAY_SAME;
	if (sw_peek_end(db, &changed) != SW_OK) /* what was read may be of two moments */
		status = fail(errors, &changed);
	else if (rc != SW_OK)
		status = fail(errors, &err);
	else if (v.differs)
		status = SW_REPLAY_DIFFER;
	if (status == SW_REPLAY_DIFFER)
		(void)fprintf(out, "%s\n", v.line.data);
	else if (status == SW_REPLAY_SAME)
		print_same(&v, ended, out);
	/* A line a sweep as it is done: a database of many takes minutes. */
	(void)fflush(out);
	sw_verify_fini(&v);
	return status;
}

static int replay_all(struct sw_db *db, int64_t only, FILE *out, FILE *errors)
{
	struct sweeps s = {.out = out};
	struct sw_err err = SW_ERR_INIT;
	int status = SW_REPLAY_SAME;
	const sw_status rc = sw_read_sweeps(db, only, keep_sweep, &s, &err);

	if (rc == SW_OK && s.nomem)
		(void)sw_err_set(&err, SW_NOMEM, "out of memory");
	if (err.code != SW_OK) {
		status = fail(errors, &err);
	} else if (only != 0 && s.n == 0) {
		(void)fprintf(errors, "sweepd: %s %" PRId64 "%s\n",
			      s.gone ? "sweep" : "the database has no sweep", only,
			      s.gone ? " was deleted: its events are gone" : "");
		status = SW_REPLAY_USAGE;
	}
	for (size_t i = 0; i < s.n && status != SW_REPLAY_FILE; i++) {
		int one = SW_REPLAY_SAME;

		if (s.v[i].ended || only != 0)
			one = replay_one(db, s.v[i].number, s.v[i].ended, out, errors);
		else
			(void)fprintf(out,
				      "sweep %" PRId64 ": has not ended; name it to compare what "
				      "is stored so far\n",
				      s.v[i].number);
		/* The worst of all, but every sweep is looked at: one that differs says nothing of
		 * the next. */
		status = one > status ? one : status;
	}
	free(s.v);
	return status;
}

int sw_replay_main(int argc, char *const *argv, FILE *out, FILE *errors)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_db *db = NULL;
	long long only = 0;
	char *end = NULL;

	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		(void)fputs(usage, out);
		return SW_REPLAY_SAME;
	}
	if (argc < 2 || argc > 3 || argv[1][0] == '-') {
		(void)fputs("sweepd: replay takes DB and perhaps SWEEP (see sweepd replay "
			    "--help)\n",
			    errors);
		return SW_REPLAY_USAGE;
	}
	errno = 0;
	if (argc == 3)
		only = strtoll(argv[2], &end, 10);
	if (argc == 3 && (errno != 0 || *end != '\0' || only < 1)) {
		(void)fprintf(errors, "sweepd: expected a sweep such as 1, not '%s'\n", argv[2]);
		return SW_REPLAY_USAGE;
	}
	if (sw_peek_open(&db, argv[1], &err) != SW_OK)
		return fail(errors, &err);
	const int status = replay_all(db, only, out, errors);
	sw_peek_close(db);
	return status;
}
