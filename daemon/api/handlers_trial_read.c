/* daemon/api/handlers_trial_read.c — trial.list, get, reports, log, output, checkpoint. */
#include "base/memory.h"
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/trial_filter.h"
#include "daemon/api/trial_json.h"
#include "daemon/daemon.h"
#include "daemon/sweep/files/checkpoint.h"
#include "daemon/sweep/files/files_read.h"
#include "daemon/sweep/files/output.h"
#include "daemon/sweep/give/program_job.h"
#include "daemon/sweep/names.h"
#include "daemon/sweep/running.h"
#include "proto/checkpoint_path.h"
#include "sched/sweep/trial.h"
#include "store/read.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_SHORT 100 /* rows: more are a long read */

/* A page: what it is asked for, and how far it came. */
struct page_question {
	struct sw_lookup q;
	int64_t after;    /* that row; of reports the attempt's `seq` */
	int64_t attempt;  /* reports alone */
	char state[16];   /* trials alone; "": any */
	int64_t limit, n; /* rows wanted, written */
	bool more;        /* there is a next page, from the row that `after` stands at then */
	/* Of trials that are chosen or sorted: owned texts, and how many come before the page. */
	char *filter, *sort;
	int64_t skip;
};

/* absent: rows of a page without a "limit". */
static void run_page(struct page_question *p, int64_t absent)
{
	p->limit = sw_call_int(p->q.call, "limit", absent);
	p->q.is_long = p->limit > PAGE_SHORT || p->filter != NULL;
	sw_lookup_run(&p->q);
}

/* Is the page full? One row more than asked for says that there is a next page. */
static bool page_is_full(struct page_question *p)
{
	p->more = p->n == p->limit;
	if (!p->more)
		p->n++;
	return p->more;
}

static bool ignore_trial(const struct sw_row_trial *row, void *arg)
{
	(void)row;
	(void)arg;
	return true;
}

/* SW_NOT_FOUND, with its line, when there is no such trial. */
static bool trial_exists(struct sw_db *db, struct sw_lookup *q)
{
	q->rc = sw_read_trial(db, q->sweep, q->trial, ignore_trial, q, &q->err);
	return q->rc == SW_OK;
}

/* --- list --- */

static bool write_listed(const struct sw_row_trial *row, void *arg)
{
	struct page_question *p = arg;
	struct sw_lookup *q = &p->q;

	if (page_is_full(p))
		return false;
	p->after = row->trial;
	sw_trial_json_obj(&q->w, row, q->now_ms);
	return true;
}

static bool write_picked(const struct sw_row_trial *row, void *arg)
{
	struct page_question *p = arg;

	p->n++;
	return sw_lookup_write_trial(row, &p->q);
}

/* A window of the trials that the filter takes, in its order. */
static void read_filtered(struct sw_db *db, struct page_question *p)
{
	struct sw_lookup *q = &p->q;
	struct sw_filter filter;
	int64_t total = 0;

	q->rc = sw_trial_filter_stored(&filter, db, q->sweep, p->filter, p->sort, &q->err);
	sw_jw_karr(&q->w, "trials");
	if (q->rc == SW_OK)
		q->rc = sw_read_filtered(db, q->sweep, &filter, p->skip, p->limit, write_picked, p,
					 &total, &q->err);
	sw_jw_arr_end(&q->w);
	sw_jw_knull(&q->w, "next");
	sw_jw_kint(&q->w, "total", total);
	sw_filter_fini(&filter);
}

/* The filter, with the state that is asked for beside it. NULL: no memory. */
static char *text_of(const char *filter, const char *state)
{
	struct sw_buf b;

	sw_buf_init(&b, 65536);
	(void)sw_buf_adds(&b, filter);
	if (state[0] != '\0' && filter[0] != '\0') {
		sw_buf_clear(&b);
		(void)sw_buf_addf(&b, "(%s) and state = %s", filter, state);
	} else if (state[0] != '\0') {
		(void)sw_buf_addf(&b, "state = %s", state);
	}
	return sw_buf_take(&b, NULL);
}

static void free_texts(struct sw_lookup *q)
{
	struct page_question *p = (struct page_question *)q;

	free(p->filter);
	free(p->sort);
}

static void read_list(struct sw_db *db, struct sw_lookup *q)
{
	struct page_question *p = (struct page_question *)q;

	if (p->filter != NULL) {
		read_filtered(db, p);
		return;
	}
	sw_jw_karr(&q->w, "trials");
	q->rc = sw_read_trials(db, q->sweep, p->state[0] != '\0' ? p->state : NULL, p->after,
			       p->limit + 1, write_listed, p, &q->err);
	sw_jw_arr_end(&q->w);
	sw_jw_kint_opt(&q->w, "next", p->more, p->after);
}

void sw_handle_trial_list(struct sw_running *live, struct sw_call *call)
{
	struct page_question *p = sw_lookup_create(call, live, sizeof *p, read_list);

	if (p == NULL)
		return;
	(void)snprintf(p->state, sizeof p->state, "%s", sw_call_str(call, "state", ""));
	p->after = sw_call_int(call, "after", 0);
	p->skip = sw_call_int(call, "skip", 0);
	if (sw_json_get(call->params, "filter") != NULL ||
	    sw_json_get(call->params, "sort") != NULL || p->skip > 0) {
		p->q.fini = free_texts;
		p->filter = text_of(sw_call_str(call, "filter", ""), p->state);
		p->sort = sw_strdup(sw_call_str(call, "sort", ""));
		if (p->filter == NULL || p->sort == NULL) {
			sw_call_refuse(call, SW_NOMEM, "", "out of memory");
			sw_lookup_drop(&p->q);
			return;
		}
	}
	run_page(p, 100);
}

/* --- get --- */

/* The attempt's use of its GPU: null without one, and while nothing is known. */
static void write_usage(struct sw_jw *w, const struct sw_row_attempt *row)
{
	static const char *const keys[] = {"gpu_bytes", "gpu_util", "joules"};
	const double values[] = {round(row->gpu_bytes), row->gpu_util, row->joules};

	sw_jw_knum_opt(w, "gpu", row->gpu, row->share);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		sw_jw_knum_opt(w, keys[i], row->has_gpu_bytes, round(values[i] * 1e3) / 1e3);
}

static bool write_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct sw_jw *w = &((struct sw_lookup *)arg)->w;

	sw_jw_obj(w);
	sw_jw_kint(w, "attempt", row->attempt);
	sw_jw_kint_opt(w, "slot", row->slot >= 0, row->slot);
	sw_jw_kstr(w, "state", row->state);
	sw_jw_kstr(w, "cause", row->cause);
	sw_jw_kint(w, "started_ms", row->started_ms);
	sw_jw_kint_opt(w, "ended_ms", row->ended_ms != 0, row->ended_ms);
	sw_jw_kint(w, "resume_step", row->resume_step);
	write_usage(w, row);
	sw_jw_obj_end(w);
	return true;
}

static bool write_trial(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	sw_jw_kint(&q->w, "sweep", row->sweep);
	sw_trial_json(&q->w, row, q->now_ms);
	return true;
}

static void read_get(struct sw_db *db, struct sw_lookup *q)
{
	q->rc = sw_read_trial(db, q->sweep, q->trial, write_trial, q, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_jw_karr(&q->w, "attempts");
	q->rc = sw_read_attempts(db, q->sweep, q->trial, write_attempt, q, &q->err);
	sw_jw_arr_end(&q->w);
}

void sw_handle_trial_get(struct sw_running *live, struct sw_call *call)
{
	struct sw_lookup *q = sw_lookup_create(call, live, sizeof *q, read_get);

	if (q != NULL)
		sw_lookup_run(q);
}

/* --- reports --- */

static bool write_report(const struct sw_row_report *row, void *arg)
{
	struct page_question *p = arg;
	struct sw_lookup *q = &p->q;

	if (page_is_full(p))
		return false;
	p->attempt = row->attempt;
	p->after = row->seq;
	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "attempt", row->attempt);
	sw_jw_kint(&q->w, "seq", row->seq);
	sw_jw_kint(&q->w, "step", row->step);
	sw_trial_json_stored(&q->w, "metrics", row->metrics, q->sweep, q->trial);
	sw_jw_kstr(&q->w, "decision", sw_names_is_final(row->verdict) ? "continue" : row->verdict);
	sw_jw_kbool(&q->w, "checkpoint", row->checkpoint > 0);
	sw_jw_kint(&q->w, "time_ms", row->time_ms);
	sw_jw_obj_end(&q->w);
	return true;
}

static void read_reports(struct sw_db *db, struct sw_lookup *q)
{
	struct page_question *p = (struct page_question *)q;
	char next[48];

	/* An empty page of a trial that is not there would look like one without reports. */
	if (!trial_exists(db, q))
		return;
	sw_jw_karr(&q->w, "reports");
	q->rc = sw_read_reports(db, q->sweep, q->trial, p->attempt, p->after, p->limit + 1,
				write_report, p, &q->err);
	sw_jw_arr_end(&q->w);
	(void)snprintf(next, sizeof next, "%lld.%lld", (long long)p->attempt, (long long)p->after);
	sw_jw_kstr(&q->w, "next", p->more ? next : NULL);
}

void sw_handle_trial_reports(struct sw_call *call)
{
	const char *after = sw_call_str(call, "after", "0.0");
	struct page_question *p;
	long long attempt, seq;
	char more;

	if (sscanf(after, "%18lld.%18lld%c", &attempt, &seq, &more) != 2 || attempt < 0 ||
	    seq < 0) {
		sw_call_refuse(call, SW_INVALID, "/after",
			       "after is \"attempt.seq\", such as \"1.100\"");
		return;
	}
	struct sw_running *live = sw_running_of(call);
	p = live != NULL ? sw_lookup_create(call, live, sizeof *p, read_reports) : NULL;
	if (p == NULL)
		return;
	p->attempt = attempt;
	p->after = seq;
	run_page(p, 1000);
}

/* --- log --- */

static bool write_line(const struct sw_row_log *row, void *arg)
{
	struct sw_lookup *q = arg;

	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "time_ms", row->time_ms);
	sw_jw_kint(&q->w, "attempt", row->attempt);
	sw_jw_kstr(&q->w, "text", row->line);
	sw_jw_obj_end(&q->w);
	return true;
}

static void read_log(struct sw_db *db, struct sw_lookup *q)
{
	const struct page_question *p = (struct page_question *)q;
	int64_t next = p->after;

	if (!trial_exists(db, q))
		return;
	sw_jw_karr(&q->w, "lines");
	q->rc = sw_read_log(db, q->sweep, q->trial, p->after, p->limit, &next, write_line, q,
			    &q->err);
	sw_jw_arr_end(&q->w);
	sw_jw_kint(&q->w, "next", next);
}

void sw_handle_trial_log(struct sw_running *live, struct sw_call *call)
{
	struct page_question *p = sw_lookup_create(call, live, sizeof *p, read_log);

	if (p == NULL)
		return;
	p->after = sw_call_int(call, "after", 0);
	run_page(p, 1000);
}

/* --- output: what a program wrote --- */

#define OUTPUT_BYTES ((size_t)64 * 1024) /* of a page */

struct output_question {
	struct sw_lookup q;
	char path[SW_PROGRAM_JOB_LOG_MAX];
	struct sw_output_place at;
	bool ended;
};

static bool note_state(const struct sw_row_trial *row, void *arg)
{
	struct output_question *o = arg;
	enum sw_trial_state state;

	o->ended = row->state != NULL && sw_trial_state_find(row->state, &state) == SW_OK &&
		   sw_trial_ended(state);
	return true;
}

/* The state is read before the output: of a trial that has ended there then, nothing is missed. */
static void read_output(struct sw_db *db, struct sw_lookup *q)
{
	struct output_question *o = (struct output_question *)q;
	struct sw_output_page page;
	struct sw_buf text;
	char next[48];

	/* A byte that is no UTF-8 becomes three (U+FFFD). */
	sw_buf_init(&text, 4 * OUTPUT_BYTES);
	q->rc = sw_read_trial(db, q->sweep, q->trial, note_state, o, &q->err);
	if (q->rc == SW_OK)
		q->rc = sw_output_read(o->path, &o->at, OUTPUT_BYTES, &text, &page, &q->err);
	if (q->rc == SW_OK) {
		(void)snprintf(next, sizeof next, "%" PRIu64 ".%" PRIu64, page.next.file,
			       page.next.offset);
		sw_jw_kstr(&q->w, "text", text.len > 0 ? text.data : "");
		sw_jw_kstr(&q->w, "next", next);
		sw_jw_kbool(&q->w, "more", page.more);
		sw_jw_kbool(&q->w, "lost", page.lost);
		sw_jw_kbool(&q->w, "ended", o->ended);
	}
	sw_buf_fini(&text);
}

void sw_handle_trial_output(struct sw_call *call)
{
	const char *after = sw_call_str(call, "after", "0.0");
	struct sw_output_place at;
	char more;

	if (sscanf(after, "%19" SCNu64 ".%19" SCNu64 "%c", &at.file, &at.offset, &more) != 2) {
		sw_call_refuse(call, SW_INVALID, "/after", "after is `next` of the page before");
		return;
	}
	struct sw_running *live = sw_running_of(call);
	struct output_question *o =
		live != NULL ? sw_lookup_create(call, live, sizeof *o, read_output) : NULL;
	if (o == NULL)
		return;
	sw_program_job_log(live->d, live->sweep, (uint64_t)o->q.trial, o->path);
	o->at = at;
	/* The file may lie on a disk that is slow: not on the thread of the short reads. */
	o->q.is_long = true;
	sw_lookup_run(&o->q);
}

/* --- checkpoint: which file a trial's state is in --- */

struct file_question {
	struct sw_lookup q;
	int64_t step; /* that the row says */
	int64_t best; /* of its best; 0: it has none */
	bool driven, maximize;
	bool several; /* its best may be there beside its last */
	char folder[SW_CHECKPOINT_FOLDER_MAX];
};

static bool take_step(const struct sw_row_trial *row, void *arg)
{
	struct file_question *f = arg;

	f->step = row->resume_step;
	f->best = f->driven && row->has_best_value ? row->best_step : 0;
	return true;
}

static bool has_step(uint64_t step, void *arg)
{
	const struct file_question *f = arg;
	char path[PATH_MAX + 128];

	sw_checkpoint_path(path, sizeof path, f->folder, (uint64_t)f->q.trial, step);
	return access(path, F_OK) == 0;
}

/* The row says which step, the disk whether it is there. */
static void find_file(struct sw_db *db, struct sw_lookup *q)
{
	struct file_question *f = (struct file_question *)q;
	char path[PATH_MAX + 128];
	struct stat st;
	uint64_t best = 0;

	q->rc = sw_read_trial(db, q->sweep, q->trial, take_step, f, &q->err);
	if (q->rc == SW_OK && f->several)
		q->rc = sw_files_best(db, q->sweep, q->trial, f->maximize, has_step, f, &best,
				      &q->err);
	if (q->rc != SW_OK)
		return;
	if (best != 0)
		f->step = (int64_t)best;
	else if (f->best != 0 && has_step((uint64_t)f->best, f))
		f->step = f->best;
	sw_checkpoint_path(path, sizeof path, f->folder, (uint64_t)q->trial, (uint64_t)f->step);
	/* It never wrote one, or the spec's rules have removed it since. */
	if (f->step == 0 || stat(path, &st) != 0) {
		q->rc = sw_err_set(&q->err, SW_NOT_FOUND, "trial %lld/%lld has no checkpoint: %s",
				   (long long)q->sweep, (long long)q->trial,
				   f->step == 0
					   ? "it has reported none, as one that was stopped early "
					     "may; a program saves into SWEEPD_CHECKPOINT_DIR, and "
					     "says sweepd.report(..., checkpoint=True)"
					   : "\"checkpoint\" in the spec says which are kept, the "
					     "best one's and the last one's by default");
		return;
	}
	sw_jw_kint(&q->w, "trial", q->trial);
	sw_jw_kint(&q->w, "step", f->step);
	sw_jw_kstr(&q->w, "path", path);
	sw_jw_kbool(&q->w, "folder", S_ISDIR(st.st_mode));
}

void sw_handle_trial_checkpoint(struct sw_running *live, struct sw_call *call)
{
	struct file_question *f = sw_lookup_create(call, live, sizeof *f, find_file);

	if (f == NULL)
		return;
	/* The path is made on the loop, which owns the sweep; the disk is asked on the store's
	 * thread. The Python package keeps the trials that it drives in a folder of its own, which
	 * the daemon only reads. */
	f->driven = live->driven;
	/* The spec of a sweep that has left memory is not at hand: the files that it has left are
	 * looked through, and where it kept all of them the best one is found, not the last. */
	f->several = !live->driven && (live->spec == NULL ||
				       (live->spec->command != NULL && live->spec->n_metrics <= 1 &&
					live->spec->checkpoint.keep != SW_SPEC_KEEP_NONE));
	f->maximize = live->maximize;
	if (live->driven)
		(void)snprintf(f->folder, sizeof f->folder, "%s/tune/%lld", live->d->config.state,
			       (long long)live->sweep);
	else
		sw_checkpoint_folder(live, f->folder);
	sw_lookup_run(&f->q);
}
