#include "daemon/api/why_facts.h"
#include "daemon/plan/warm.h"
#include "store/read.h"
#include <string.h>

/* A sweep whose results the sampler began with. */
struct earlier {
	int64_t sweep, results;
};

struct reading {
	cJSON *stored; /* NULL: none */
	struct earlier earlier[SW_SPEC_MAX_WARM];
	size_t earlier_n;
	int64_t uid;   /* -1: none */
	int64_t again; /* a trial that failed; 0: none */
	bool found;
	sw_status rc;
	struct sw_err *err;
};

/* --- what is read --- */

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct reading *r = arg;

	(void)row;
	r->found = true;
	return false;
}

static bool take_own(const struct sw_row_suggestion *row, void *arg)
{
	struct reading *r = arg;

	if (row->why != NULL)
		r->rc = sw_json_parse(&r->stored, row->why, strlen(row->why), r->err);
	return false;
}

static bool take_uid(const struct sw_row_event *row, void *arg)
{
	((struct reading *)arg)->uid = row->uid;
	((struct reading *)arg)->again = row->trial;
	return false;
}

static bool take_prior(const struct sw_row_prior *row, void *arg)
{
	struct reading *r = arg;
	size_t i = 0;

	while (i < r->earlier_n && r->earlier[i].sweep != row->from_sweep)
		i++;
	if (i < SW_SPEC_MAX_WARM) {
		if (i == r->earlier_n)
			r->earlier[r->earlier_n++] = (struct earlier){.sweep = row->from_sweep};
		r->earlier[i].results++;
	}
	return true;
}

static sw_status read_all(struct reading *r, struct sw_db *db, int64_t sweep, int64_t trial,
			  int64_t enqueued)
{
	sw_status rc = sw_read_sweeps(db, sweep, take_sweep, r, r->err);

	if (rc == SW_OK && !r->found)
		return sw_err_set(r->err, SW_NOT_FOUND, "no sweep %lld", (long long)sweep);
	if (rc == SW_OK && r->rc == SW_OK)
		rc = sw_read_suggestion(db, sweep, trial, take_own, r, r->err);
	if (rc == SW_OK && r->rc == SW_OK && enqueued > 0)
		rc = sw_read_enqueued(db, sweep, enqueued, take_uid, r, r->err);
	if (rc == SW_OK && r->rc == SW_OK)
		rc = sw_read_priors(db, sweep, take_prior, r, r->err);
	return r->rc != SW_OK ? r->rc : rc;
}

/* --- what is written --- */

static void write_number(struct sw_jw *w, const char *key, int64_t v, int64_t none)
{
	sw_jw_kint_opt(w, key, v != none, v);
}

static void write_all(const struct reading *r, struct sw_jw *w)
{
	sw_jw_obj(w);
	sw_jw_key(w, "stored");
	sw_jw_cjson(w, r->stored);
	write_number(w, "uid", r->uid, -1);
	write_number(w, "again", r->again, 0);
	sw_jw_karr(w, "earlier");
	for (size_t i = 0; i < r->earlier_n; i++) {
		sw_jw_obj(w);
		sw_jw_kint(w, "sweep", r->earlier[i].sweep);
		sw_jw_kint(w, "results", r->earlier[i].results);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
	sw_jw_obj_end(w);
}

sw_status sw_why_facts_read(struct sw_db *db, int64_t sweep, int64_t trial, int64_t enqueued,
			    struct sw_jw *w, struct sw_err *err)
{
	struct reading r = {.uid = -1, .err = err};
	const sw_status rc = read_all(&r, db, sweep, trial, enqueued);

	if (rc == SW_OK)
		write_all(&r, w);
	cJSON_Delete(r.stored);
	return rc;
}
