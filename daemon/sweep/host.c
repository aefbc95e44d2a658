#include "daemon/sweep/host.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include <stdlib.h>
#include <string.h>

/* From 1; NULL with SW_NOT_FOUND in err. */
static struct sw_host *find_host(struct sw_daemon *d, int64_t sweep, struct sw_err *err)
{
	if (sweep >= 1 && (uint64_t)sweep <= d->host_n)
		return d->hosts[sweep - 1];
	if (d->host_n == 0)
		(void)sw_err_at(err, SW_NOT_FOUND, "/sweep", "no sweep %lld; there is none yet",
				(long long)sweep);
	else
		(void)sw_err_at(err, SW_NOT_FOUND, "/sweep", "no sweep %lld; the last one is %zu",
				(long long)sweep, d->host_n);
	return NULL;
}

struct sw_host *sw_host_of(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_host *h = find_host(call->d, sw_call_int(call, "sweep", 0), &err);

	if (h == NULL)
		sw_call_error(call, &err);
	return h;
}

static void free_host(struct sw_host *h)
{
	if (h == NULL)
		return;
	sw_spec_destroy(h->spec);
	sw_sweep_destroy(h->sched);
	free(h->name);
	free(h->metric);
	free(h->method);
	free(h->runs);
	sw_changes_fini(&h->changes);
	free(h->heirs.v);
	free(h->keeping.open);
	free(h->keeping.ended);
	free(h);
}

static struct sw_host *push(struct sw_daemon *d, const char *name, const char *metric,
			    const char *method)
{
	struct sw_host *h = sw_calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->name = sw_strdup(name);
	h->metric = sw_strdup(metric);
	h->method = sw_strdup(method);
	if (h->name == NULL || h->metric == NULL || h->method == NULL)
		goto fail;
	if (d->host_n == d->host_cap) {
		const size_t cap = d->host_cap == 0 ? 16 : d->host_cap * 2;
		struct sw_host **grown = sw_realloc(d->hosts, cap * sizeof(struct sw_host *));

		if (grown == NULL)
			goto fail;
		d->hosts = grown;
		d->host_cap = cap;
	}
	h->d = d;
	h->next_ev = 1;
	h->oldest = 1;
	d->hosts[d->host_n++] = h;
	h->sweep = (int64_t)d->host_n;
	return h;
fail:
	free_host(h);
	return NULL;
}

/* The accounts of the others that share the slots: of those that wait for one, or of all. */
static size_t active_shares(const struct sw_host *h, bool waiting, struct sw_share *to)
{
	size_t n = 0;

	for (size_t i = 0; i < h->d->host_n; i++) {
		const struct sw_host *o = h->d->hosts[i];

		if (o != h && !o->driven && o->sched != NULL && o->state == SW_SWEEP_RUNNING &&
		    (!waiting || sw_sweep_has_work(o->sched)))
			to[n++] = o->share;
	}
	return n;
}

void sw_host_level(struct sw_host *h)
{
	struct sw_share *active = sw_malloc((h->d->host_n + 1) * sizeof *active);

	if (active == NULL)
		return; /* a backlog is no reason to fail */
	size_t n = active_shares(h, true, active);
	if (n == 0)
		n = active_shares(h, false, active);
	const int64_t level_us = n > 0 ? sw_share_join(active, n, h->share.weight) : 0;
	if (h->share.used_us < level_us)
		h->share.used_us = level_us;
	free(active);
}

struct sw_host *sw_host_add(struct sw_daemon *d, struct sw_spec *spec, struct sw_sweep *sched,
			    uint64_t seed, int64_t now_ms)
{
	struct sw_host *h = push(d, spec->name, spec->metric, spec->method);

	if (h == NULL) {
		sw_spec_destroy(spec);
		sw_sweep_destroy(sched);
		return NULL;
	}
	h->spec = spec;
	h->sched = sched;
	h->maximize = spec->maximize;
	h->driven = spec->trainer == NULL;
	h->seed = spec->has_seed ? spec->seed : seed;
	h->run_cap = (int64_t)sw_sweep_asked_cap(sched);
	h->created_ms = now_ms;
	h->state = SW_SWEEP_RUNNING;
	struct sw_settings settings;
	sw_settings_init(&settings, spec);
	sw_settings_use(h, &settings);
	sw_budget_state(&h->budget, true, now_ms);
	sw_host_level(h);
	return h;
}

struct sw_host *sw_host_restore(struct sw_daemon *d, const struct sw_row_sweep *row)
{
	struct sw_host *h = push(d, row->name, row->metric, row->method);

	if (h == NULL)
		return NULL;
	h->maximize = row->maximize;
	h->driven = row->driven;
	h->seed = (uint64_t)row->seed;
	h->run_cap = row->run_cap;
	h->bytes = row->bytes;
	h->created_ms = row->created_ms;
	h->ended_ms = row->ended_ms;
	if (sw_sweep_state_find(row->state, &h->state) != SW_OK)
		h->state = SW_SWEEP_FAILED;
	return h;
}

void sw_host_free_all(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->host_n; i++)
		free_host(d->hosts[i]);
	free(d->hosts);
	d->hosts = NULL;
	d->host_n = d->host_cap = 0;
}

sw_status sw_host_runs(struct sw_host *h, uint64_t n)
{
	size_t cap = h->run_cap_n == 0 ? 64 : h->run_cap_n;

	if (n <= h->run_cap_n)
		return SW_OK;
	while (cap < n)
		cap *= 2;
	struct sw_run *grown = sw_realloc(h->runs, cap * sizeof *grown);
	if (grown == NULL)
		return SW_NOMEM;
	memset(grown + h->run_cap_n, 0, (cap - h->run_cap_n) * sizeof *grown);
	h->runs = grown;
	h->run_cap_n = cap;
	return SW_OK;
}
