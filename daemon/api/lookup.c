#include "daemon/api/lookup.h"
#include "base/memory.h"
#include "daemon/api/trial_json.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/sweep/running.h"
#include "store/read.h"
#include "store/store.h"
#include <stdlib.h>

void *sw_lookup_create(struct sw_call *call, struct sw_running *live, size_t size,
		       void (*work)(struct sw_db *db, struct sw_lookup *q))
{
	struct sw_lookup *q = sw_calloc(1, size);

	if (q == NULL) {
		sw_call_refuse(call, SW_NOMEM, "", "out of memory");
		return NULL;
	}
	q->call = call;
	q->work = work;
	q->live = live;
	if (live != NULL)
		live->lookups++;
	q->sweep = live != NULL ? live->sweep : 0;
	q->maximize = live != NULL && live->maximize;
	q->trial = sw_call_int(call, "trial", 0);
	q->now_ms = call->d->clock->wall_ms();
	sw_buf_init(&q->out, SW_REPLY_MAX);
	sw_jw_init_obj(&q->w, &q->out);
	return q;
}

bool sw_lookup_write_trial(const struct sw_row_trial *row, void *q)
{
	struct sw_lookup *at = q;

	sw_trial_json_obj(&at->w, row, at->now_ms);
	return true;
}

static void on_work(struct sw_db *db, void *arg)
{
	struct sw_lookup *q = arg;

	/* The connection cannot be freed while its call is open; its flag may be read from here. */
	if (sw_call_gone(q->call))
		return;
	/* It may have been deleted since the call came, and its rows half gone. */
	enum sw_gone gone = SW_GONE_NOT;
	if (q->sweep != 0)
		q->rc = sw_read_gone(db, q->sweep, &gone, &q->err);
	if (q->rc == SW_OK && sw_row_is_gone(gone))
		q->rc = sw_err_at(&q->err, SW_NOT_FOUND, "/sweep", "sweep %lld was deleted",
				  (long long)q->sweep);
	if (q->rc == SW_OK)
		q->work(db, q);
}

void sw_lookup_drop(struct sw_lookup *q)
{
	if (q->fini != NULL)
		q->fini(q);
	if (q->live != NULL)
		q->live->lookups--;
	sw_buf_fini(&q->out);
	free(q);
}

static void on_done(void *arg)
{
	struct sw_lookup *q = arg;

	if (q->rc != SW_OK) {
		sw_call_error(q->call, &q->err);
	} else {
		if (q->done != NULL)
			q->done(q);
		sw_jw_obj_end(&q->w);
		sw_call_result(q->call, &q->out);
	}
	sw_lookup_drop(q);
}

void sw_lookup_run(struct sw_lookup *q)
{
	/* Answered by on_done(). */
	if (sw_store_read(q->call->d->store, q->is_long ? SW_READ_LONG : SW_READ_SHORT,
			  &q->call->conn->reads, on_work, on_done, q) == SW_OK)
		return;
	sw_call_refuse(q->call, SW_BUSY, "", SW_CALL_BUSY);
	sw_lookup_drop(q);
}
