/* daemon/api/handlers_journal.c — journal.append, .read and .delete: logs that programs keep here.
 * What an entry says is theirs. */
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/daemon.h"
#include "daemon/statedir.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/files/quota.h"
#include "proto/json.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>

#define ENTRIES_MAX 1000
#define PAGE_BYTES  ((size_t)1024 * 1024)
#define NAME_BYTES  200 /* as in methods.json */

void sw_handle_journal_append(struct sw_call *call)
{
	const cJSON *entries = sw_json_get(call->params, "entries"), *e;
	const int n = cJSON_GetArraySize(entries);
	uint64_t bytes = 0;
	char ptr[64];
	int i = 0;
	struct sw_jw w;

	/* All are checked before the change begins: half of a call's entries would be worse than
	 * none. */
	if (n < 1 || n > ENTRIES_MAX) {
		sw_call_refuse(call, SW_INVALID, "/entries", "%d entries: 1 to %d go in one call",
			       n, ENTRIES_MAX);
		return;
	}
	cJSON_ArrayForEach (e, entries) {
		if (!cJSON_IsString(e)) {
			(void)snprintf(ptr, sizeof ptr, "/entries/%d", i);
			sw_call_refuse(call, SW_INVALID, ptr, "an entry is a string");
			return;
		}
		bytes += strlen(e->valuestring);
		i++;
	}
	if (!sw_change_allowed(call))
		return;
	if (sw_quota_full(call->d) != NULL) {
		sw_call_refuse(call, SW_FULL, "", "%s, as does journal.delete",
			       sw_quota_full(call->d));
		return;
	}
	/* Counted as they come, for the next walk of the folder may be minutes away. */
	sw_quota_add(call->d, bytes);
	struct sw_change *c = sw_change_begin(call->d, call);
	cJSON_ArrayForEach (e, entries)
		sw_tx_journal(c->tx, sw_call_str(call, "journal", ""), e->valuestring);
	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kint(&w, "appended", n);
	sw_jw_obj_end(&w);
	sw_change_commit(c);
}

static void on_deleted(void *arg)
{
	const struct sw_daemon *d = arg;

	sw_statedir_reserve(d->config.database, true);
}

void sw_handle_journal_delete(struct sw_call *call)
{
	struct sw_daemon *d = call->d;
	struct sw_jw w;

	/* As a sweep's: a full disk does not stop what makes room on it. */
	if (sw_store_stuck(d->store) == NULL && !sw_change_allowed(call))
		return;
	sw_statedir_reserve(d->config.database, false);
	struct sw_change *c = sw_change_begin(d, call);
	sw_tx_journal_delete(c->tx, sw_call_str(call, "journal", ""));
	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kstr(&w, "journal", sw_call_str(call, "journal", ""));
	sw_jw_obj_end(&w);
	sw_change_after(c, on_deleted, d);
	sw_change_commit(c);
}

struct journal_question {
	struct sw_lookup q;
	char journal[NAME_BYTES + 1];
	int64_t after;
	bool more;
};

/* A page has an entry at least, however long that is. */
static bool write_entry(int64_t n, const char *entry, void *arg)
{
	struct journal_question *j = arg;

	(void)n;
	/* Asked before each entry: the page is over its bytes by one entry at most. */
	if (j->q.out.len >= PAGE_BYTES) {
		j->more = true;
		return false;
	}
	sw_jw_str(&j->q.w, entry);
	return true;
}

static void read_journal(struct sw_db *db, struct sw_lookup *q)
{
	struct journal_question *j = (struct journal_question *)q;

	sw_jw_karr(&q->w, "entries");
	q->rc = sw_read_journal(db, j->journal, j->after, write_entry, j, &q->err);
	sw_jw_arr_end(&q->w);
	sw_jw_kbool(&q->w, "more", j->more);
}

void sw_handle_journal_read(struct sw_call *call)
{
	struct journal_question *j = sw_lookup_create(call, NULL, sizeof *j, read_journal);

	if (j == NULL)
		return;
	(void)snprintf(j->journal, sizeof j->journal, "%s", sw_call_str(call, "journal", ""));
	j->after = sw_call_int(call, "after", 0);
	sw_lookup_run(&j->q);
}
