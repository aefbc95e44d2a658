#include "cli/view.h"
#include "base/memory.h"
#include "proto/json.h"
#include <stdlib.h>
#include <string.h>

const char *const sw_states[SW_STATE_N] = {"RUNNING", "PAUSED", "PENDING",    "COMPLETED",
					   "PRUNED",  "FAILED", "INFEASIBLE", "CANCELLED"};

enum { RANK_RUNNING, RANK_PAUSED, RANK_PENDING, RANK_ENDED }; /* the order of sw_states */

static int state_rank(const char *state)
{
	for (int i = 0; i < RANK_ENDED; i++)
		if (strcmp(state, sw_states[i]) == 0)
			return i;
	return RANK_ENDED;
}

bool sw_view_all_failed(const struct sw_view *v)
{
	return strcmp(sw_json_text(v->head, "state", ""), "COMPLETED") == 0 &&
	       sw_view_count(v, "FAILED") + sw_view_count(v, "INFEASIBLE") > 0 &&
	       sw_view_count(v, "COMPLETED") + sw_view_count(v, "PRUNED") == 0;
}

bool sw_view_is_end(const char *state)
{
	return state_rank(state) == RANK_ENDED;
}

void sw_view_init(struct sw_view *v, uint64_t sweep)
{
	*v = (struct sw_view){.sweep = sweep};
}

static void drop_rows(struct sw_view *v)
{
	while (v->n > 0)
		cJSON_Delete(v->rows[--v->n].json);
}

void sw_view_fini(struct sw_view *v)
{
	drop_rows(v);
	free(v->rows);
	cJSON_Delete(v->head);
	sw_view_init(v, v->sweep);
}

static sw_status add_row(struct sw_view *v, cJSON *json)
{
	const cJSON *state = sw_json_get(json, "state");
	struct sw_view_row row = {.json = json, .change = v->changes};

	if (!sw_json_u64(sw_json_get(json, "trial"), &row.trial) || !cJSON_IsString(state)) {
		cJSON_Delete(json);
		return SW_PARSE;
	}
	row.rank = state_rank(state->valuestring);
	row.at_us = v->at_us;
	for (size_t i = 0; i < v->n; i++)
		if (v->rows[i].trial == row.trial) {
			cJSON_Delete(v->rows[i].json);
			v->rows[i] = row;
			return SW_OK;
		}
	if (!sw_array_reserve(&v->rows, &v->cap, v->n + 1, sizeof *v->rows)) {
		cJSON_Delete(json);
		return SW_NOMEM;
	}
	v->rows[v->n++] = row;
	return SW_OK;
}

/* Running ones first, by number, so that they keep their places; then those that wait for their
 * first lane; the rest by the latest change, those of one message by number, the highest first.
 * Paused ones, of which the promote variant has many, stand among those that ended. */
static int by_rank(const void *pa, const void *pb)
{
	const struct sw_view_row *a = pa, *b = pb;
	const int x = a->rank == RANK_PAUSED ? RANK_ENDED : a->rank;
	const int y = b->rank == RANK_PAUSED ? RANK_ENDED : b->rank;

	if (x != y)
		return x - y;
	if (x == RANK_RUNNING)
		return (a->trial > b->trial) - (a->trial < b->trial);
	if (a->change != b->change)
		return a->change < b->change ? 1 : -1;
	return (a->trial < b->trial) - (a->trial > b->trial);
}

sw_status sw_view_merge(struct sw_view *v, cJSON *message, int64_t now_us)
{
	cJSON *trials = NULL;
	sw_status rc = SW_OK;

	if (cJSON_IsString(sw_json_get(message, "state")))
		trials = cJSON_DetachItemFromObjectCaseSensitive(message, "trials");
	if (trials == NULL || !cJSON_IsArray(trials)) {
		cJSON_Delete(trials);
		cJSON_Delete(message);
		return SW_PARSE;
	}
	/* A snapshot stands by itself: nothing says whether the rows from before it still hold. */
	if (cJSON_IsTrue(sw_json_get(message, "reset")))
		drop_rows(v);
	v->changes++;
	v->at_us = now_us;
	v->lost_at_us = 0;
	cJSON_Delete(v->head);
	v->head = message;
	while (trials->child != NULL) {
		const sw_status one = add_row(v, cJSON_DetachItemViaPointer(trials, trials->child));

		if (rc == SW_OK && one == SW_NOMEM)
			rc = one; /* a malformed trial is left out without a word */
	}
	cJSON_Delete(trials);
	if (v->n > 0)
		qsort(v->rows, v->n, sizeof v->rows[0], by_rank);
	/* After the sort, so that those go that changed longest ago. */
	while (v->n > SW_VIEW_MAX)
		cJSON_Delete(v->rows[--v->n].json);
	return rc;
}

uint64_t sw_view_count(const struct sw_view *v, const char *state)
{
	return sw_json_uint(sw_json_get(v->head, "counts"), state);
}

uint64_t sw_view_ended_n(const struct sw_view *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SW_STATE_N; i++)
		if (sw_view_is_end(sw_states[i]))
			n += sw_view_count(v, sw_states[i]);
	return n;
}

bool sw_view_halted(const struct sw_view *v)
{
	return cJSON_IsTrue(sw_json_get(v->head, "halted"));
}

bool sw_view_ended(const struct sw_view *v)
{
	const char *state = sw_json_text(v->head, "state", "RUNNING");

	return sw_view_halted(v) || (strcmp(state, "RUNNING") != 0 && strcmp(state, "PAUSED") != 0);
}
