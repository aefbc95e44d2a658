/* daemon/api/handlers_output.c — trial.output: what a program wrote. */
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/daemon.h"
#include "daemon/sweep/output.h"
#include "daemon/sweep/program_job.h"
#include "daemon/sweep/running.h"
#include "sched/sweep/trial.h"
#include "store/read.h"
#include <inttypes.h>
#include <stdio.h>

#define PAGE_BYTES ((size_t)64 * 1024)

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

	sw_buf_init(&text, 4 * PAGE_BYTES);
	q->rc = sw_read_trial(db, q->sweep, q->trial, note_state, o, &q->err);
	if (q->rc == SW_OK)
		q->rc = sw_output_read(o->path, &o->at, PAGE_BYTES, &text, &page, &q->err);
	if (q->rc == SW_OK) {
		(void)snprintf(next, sizeof next, "%" PRIu64 ".%" PRIu64, page.next.file,
			       page.next.offset);
		sw_jw_obj(&q->w);
		sw_jw_kstr(&q->w, "text", text.len > 0 ? text.data : "");
		sw_jw_kstr(&q->w, "next", next);
		sw_jw_kbool(&q->w, "more", page.more);
		sw_jw_kbool(&q->w, "lost", page.lost);
		sw_jw_kbool(&q->w, "ended", o->ended);
		sw_jw_obj_end(&q->w);
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
	o->q.is_long = true;
	sw_lookup_run(&o->q);
}
