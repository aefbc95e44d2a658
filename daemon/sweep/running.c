#include "daemon/sweep/running.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "proto/json.h"
#include <stdlib.h>
#include <string.h>

struct sw_running *sw_running_of(struct sw_call *call)
{
	const int64_t sweep = sw_call_int(call, "sweep", 0);
	const struct sw_daemon *d = call->d;

	if (sweep >= 1 && (uint64_t)sweep <= d->sweep.sweep_n) {
		struct sw_running *live = d->sweep.sweeps[sweep - 1];

		/* A sweep that is being deleted is hidden from the first mark on, though its files
		 * and rows still go. */
		if (!sw_row_is_gone(live->gone))
			return live;
		sw_call_refuse(call, SW_NOT_FOUND, "/sweep", "sweep %lld was deleted",
			       (long long)sweep);
	} else if (d->sweep.sweep_n == 0)
		sw_call_refuse(call, SW_NOT_FOUND, "/sweep", "no sweep %lld; there is none yet",
			       (long long)sweep);
	else
		sw_call_refuse(call, SW_NOT_FOUND, "/sweep", "no sweep %lld; the last one is %zu",
			       (long long)sweep, d->sweep.sweep_n);
	return NULL;
}

bool sw_running_refuse_record(const struct sw_running *live, struct sw_call *call)
{
	if (live->gone == SW_GONE_NOT)
		return false;
	sw_call_refuse(call, SW_CONFLICT, "/sweep",
		       "sweep %lld was deleted but for its best trial, %lld: `sweep best` and "
		       "`sweep checkpoint` show that one",
		       (long long)live->sweep, (long long)live->spared);
	return true;
}

void sw_running_unload(struct sw_running *live)
{
	sw_spec_destroy(live->spec);
	sw_sweep_destroy(live->sched);
	live->spec = NULL;
	live->sched = NULL;
	free(live->runs);
	live->runs = NULL;
	live->run_cap_n = 0;
	live->oldest = 1;
	/* The number stays, so that one who watched before it was unloaded is still known to be
	 * behind or not. */
	sw_marks_fini(&live->view.changes);
}

static void free_live(struct sw_running *live)
{
	sw_running_unload(live);
	free(live->name);
	free(live->metric);
	free(live->method);
	free(live);
}

static struct sw_running *push_live(struct sw_daemon *d, const char *name, const char *metric,
				    const char *method)
{
	struct sw_running *live = sw_calloc(1, sizeof *live);

	if (live == NULL)
		return NULL;
	/* Copies, because the spec goes when the sweep is unloaded, and lists of sweeps show these
	 * for all. */
	live->name = sw_strdup(name);
	live->metric = metric != NULL ? sw_strdup(metric) : NULL;
	live->metric_seen = metric == NULL; /* reports cannot lack a metric */
	live->method = sw_strdup(method);
	if (live->name == NULL || (metric != NULL && live->metric == NULL) || live->method == NULL)
		goto fail;
	if (!sw_array_reserve(&d->sweep.sweeps, &d->sweep.sweep_cap, d->sweep.sweep_n + 1,
			      sizeof(struct sw_running *)))
		goto fail;
	live->d = d;
	/* Higher than any that an earlier daemon told a watcher. */
	live->view.changes.number = (uint64_t)d->clock->wall_ms() * 1000;
	live->view.changes.dropped = live->view.changes.number;
	live->next_ev = 1;
	live->oldest = 1;
	/* Numbers are dense and from 1: a sweep is found by its place, and never leaves it. */
	d->sweep.sweeps[d->sweep.sweep_n++] = live;
	live->sweep = (int64_t)d->sweep.sweep_n;
	return live;
fail:
	free_live(live);
	return NULL;
}

/* The least account of the others that share the slots: of those that wait for one, or of all. -1:
 * no others. */
static int64_t least_account(const struct sw_running *live, bool waiting)
{
	int64_t least_us = -1;

	for (size_t i = 0; i < live->d->sweep.sweep_n; i++) {
		const struct sw_running *o = live->d->sweep.sweeps[i];

		if (o == live || o->driven || o->sched == NULL || o->state != SW_SWEEP_RUNNING ||
		    (waiting && !sw_sweep_has_work(o->sched)))
			continue;
		/* The other's account as this one's weight has it: only so are the two in one
		 * unit. */
		const int64_t us = sw_share_join(&o->claim.share, 1, live->claim.share.weight);
		if (least_us < 0 || us < least_us)
			least_us = us;
	}
	return least_us;
}

void sw_running_level(struct sw_running *live)
{
	/* Those that wait are who it is up against. If none does, it must still not begin ahead of
	 * those that will. */
	int64_t level_us = least_account(live, true);
	if (level_us < 0)
		level_us = least_account(live, false);
	/* Lifted only: one that has had more than the others has to wait for them all the same. */
	if (live->claim.share.used_us < level_us)
		live->claim.share.used_us = level_us;
}

void sw_running_account(struct sw_share *share, int64_t us, unsigned slots)
{
	const int64_t slot_us = us * (slots > 1 ? (int64_t)slots : 1);

	share->used_us += slot_us;
	share->ended++;
	share->ended_us += slot_us;
}

struct sw_running *sw_running_add(struct sw_daemon *d, struct sw_spec *spec, struct sw_sweep *sched,
				  uint64_t seed, int64_t now_ms)
{
	struct sw_running *live = push_live(d, spec->name, spec->metric, spec->method);

	if (live == NULL) {
		sw_spec_destroy(spec);
		sw_sweep_destroy(sched);
		return NULL;
	}
	live->spec = spec;
	live->sched = sched;
	live->maximize = spec->maximize;
	live->asked_us = d->clock->mono_us();
	live->driven = sw_spec_driven(spec);
	/* The one drawn is stored like one given, so that the sweep can be run again. */
	live->seed = spec->has_seed ? spec->seed : seed;
	live->run_cap = (int64_t)sw_sweep_asked_cap(sched);
	live->created_ms = now_ms;
	live->state = SW_SWEEP_RUNNING;
	struct sw_settings settings;
	sw_settings_init(&settings, spec);
	sw_settings_use(live, &settings);
	sw_budget_state(&live->budget, true, now_ms);
	sw_running_level(live);
	return live;
}

struct sw_running *sw_running_restore(struct sw_daemon *d, const struct sw_row_sweep *row)
{
	struct sw_running *live = push_live(d, row->name, row->metric, row->method);

	if (live == NULL)
		return NULL;
	live->maximize = row->maximize;
	live->asked_us = d->clock->mono_us();
	live->driven = row->driven;
	live->seed = (uint64_t)row->seed;
	live->run_cap = row->run_cap;
	live->bytes = row->bytes;
	live->data_bytes = row->data_bytes;
	live->data_sum = row->data_sum;
	live->created_ms = row->created_ms;
	live->ended_ms = row->ended_ms;
	live->gone = row->gone;
	live->spared = row->kept;
	/* A damaged row is no reason to refuse all other sweeps: this one does not run. */
	if (sw_sweep_state_find(row->state, &live->state) != SW_OK)
		live->state = SW_SWEEP_FAILED;
	return live;
}

void sw_running_free_all(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		free_live(d->sweep.sweeps[i]);
	free(d->sweep.sweeps);
	d->sweep.sweeps = NULL;
	d->sweep.sweep_n = d->sweep.sweep_cap = 0;
}

void sw_running_due(struct sw_running *live)
{
	if (live->due)
		return;
	live->due = true;
	live->next_due = live->d->sweep.due;
	live->d->sweep.due = live;
}

void sw_running_write_state(const struct sw_running *live, bool run_cap, struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kint(&w, "sweep", live->sweep);
	sw_jw_kstr(&w, "state", sw_sweep_state_name(live->state));
	if (run_cap)
		sw_jw_kint(&w, "run_cap", live->run_cap);
	sw_jw_obj_end(&w);
}

sw_status sw_running_runs(struct sw_running *live, uint64_t n)
{
	const size_t had = live->run_cap_n;

	if (!sw_array_reserve(&live->runs, &live->run_cap_n, n, sizeof *live->runs))
		return SW_NOMEM;
	/* A run of zeros is that of a trial that does not run. */
	if (live->run_cap_n > had)
		/* The array may have moved: nobody keeps a pointer to a run over a step. */
		memset(live->runs + had, 0, (live->run_cap_n - had) * sizeof *live->runs);
	return SW_OK;
}
