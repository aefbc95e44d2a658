/* daemon/api/handlers_submit.c — sweep.submit and sweep.validate: what they answer. */
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/give/need.h"
#include "daemon/sweep/load/submit.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <stdio.h>

/* CPU slots that may take a trial of it. */
static size_t cpus_of(const struct sw_submit *s)
{
	const struct sw_room_need need = sw_need_of_spec(s->spec);
	const struct sw_daemon *d = s->call->d;
	size_t cpus = 0;

	for (size_t i = 0; i < d->slot.slot_n; i++)
		cpus += !d->slot.slots[i].device.kind->gpu &&
			sw_room_takes(&d->slot.slots[i], &need) > 0;
	return cpus;
}

/* Trials go where their precision is: here are slots that get none of them. */
static void warn_of_precision(struct sw_jw *w, const struct sw_submit *s)
{
	struct sw_err err = SW_ERR_INIT;
	char line[sizeof err.ptr + sizeof err.msg + 2];

	/* A daemon has refused it by now: it is `sweepd validate` that asks. */
	if (sw_need_check(s->call->d, s->spec, &err) != SW_OK) {
		(void)snprintf(line, sizeof line, "%s: %s", err.ptr, err.msg);
		sw_jw_str(w, line);
	} else if (sw_need_warning(s->call->d, s->spec, line, sizeof line)) {
		sw_jw_str(w, line);
	}
}

/* A grid ends by itself; another search of few points goes on with what it has tried. */
static void warn_of_points(struct sw_jw *w, const struct sw_submit *s)
{
	const uint64_t grid = sw_sweep_points(s->sched), cap = s->spec->run_cap;
	const uint64_t points = grid > 0 ? grid : sw_space_points(sw_sweep_space(s->sched));
	char line[160];

	/* No end, or a run_cap that the points reach. */
	if (points == 0 || cap <= points)
		return;
	(void)snprintf(line, sizeof line,
		       "/run_cap: the %s has %llu point%s: %s before its run_cap of %llu",
		       grid > 0 ? "grid" : "space", (unsigned long long)points,
		       points == 1 ? "" : "s", grid > 0 ? "the sweep ends" : "trials are copies",
		       (unsigned long long)cap);
	sw_jw_str(w, line);
}

/* The worker would refuse each trial for want of memory. */
static void warn_of_memory(struct sw_jw *w, const struct sw_submit *s)
{
	const int64_t most = s->call->d->config.cpu_memory;
	char line[160];

	/* No limit, or room for the data; or no CPU slot would get one of its trials. */
	if (most == 0 || s->facts.data_bytes < most || cpus_of(s) == 0)
		return;
	(void)snprintf(line, sizeof line,
		       "the data set alone has %lld bytes, and --cpu-memory gives a trial %lld: on "
		       "a CPU slot each trial will be INFEASIBLE (oom)",
		       (long long)s->facts.data_bytes, (long long)most);
	sw_jw_str(w, line);
}

/* Operations of a step; two slots of one core gained 13% there (docs/parallel.md). */
#define LITTLE_FLOPS 3.3e6

/* A step may be too little work for CPU slots to share. */
static void warn_of_gang(struct sw_jw *w, const struct sw_submit *s)
{
	const struct sw_spec *spec = s->spec;
	char line[200];

	/* The figure was measured with CPU slots that share a batch, and says nothing of GPUs or of
	 * a pipeline alone. */
	if (spec->gpu > 1 || spec->data_ranks < 2 || s->facts.flops <= 0 ||
	    s->facts.flops > LITTLE_FLOPS)
		return;
	(void)snprintf(
		line, sizeof line,
		"/parallel: a step of the largest configuration is %.2g million operations, too "
		"few for %u slots to gain by sharing it: %u trials at once get more done",
		s->facts.flops / 1e6, sw_spec_ranks(spec), sw_spec_ranks(spec));
	sw_jw_str(w, line);
}

static void write_warnings(const struct sw_submit *s, struct sw_jw *w)
{
	struct sw_room_need need = sw_need_of_spec(s->spec);
	const struct sw_daemon *d = s->call->d;
	bool suits = d->slot.slot_n == 0;
	const cJSON *said;

	need.precision = false; /* it has a line of its own */
	for (size_t i = 0; i < d->slot.slot_n; i++)
		suits = suits || sw_room_takes(&d->slot.slots[i], &need) > 0;
	sw_jw_karr(w, "warnings");
	if (!sw_spec_driven(s->spec) && d->slot.slot_n == 0)
		sw_jw_str(w, "this daemon has no slots (--devices none): its trials will wait");
	else if (!sw_spec_driven(s->spec) && !suits)
		sw_jw_str(w, need.gpus > 1 ? "there are fewer GPUs than resources.gpu asks for: "
					     "its trials will wait"
			     : s->spec->needs_gpu ? "no slot has a GPU, which resources.gpu asks "
						    "for: its trials will wait"
			     : need.cpu_slots > 1 ? "there are fewer CPU slots than "
						    "resources.cpu_slots asks for: its trials will "
						    "wait"
			     : need.cores > 1     ? "the CPU slots have fewer cores together than "
						    "resources.cpu asks for: its trials will wait"
						  : "every slot has a GPU, and resources.gpu is 0: "
						    "its trials will wait");
	if (s->spec->trainer != NULL)
		warn_of_precision(w, s);
	if (s->call->d->store == NULL && s->spec->n_warm_start > 0)
		sw_jw_str(w, "/warm_start: not checked: a daemon has the earlier sweeps");
	if (s->warm.outside > 0) {
		char line[120];

		(void)snprintf(line, sizeof line,
			       "warm_start: %zu trials lie outside this space and are left out",
			       s->warm.outside);
		sw_jw_str(w, line);
	}
	if (sw_sweep_run_cap(s->sched) == 0)
		sw_jw_str(w, "no run_cap: the sweep goes on until it is cancelled");
	if (s->warning[0] != '\0')
		sw_jw_str(w, s->warning);
	warn_of_memory(w, s);
	warn_of_gang(w, s);
	warn_of_points(w, s);
	for (size_t i = 0; i < s->spec->n_warnings; i++) {
		const struct sw_err *warning = &s->spec->warnings[i];
		char line[sizeof warning->ptr + sizeof warning->msg + 2];

		(void)snprintf(line, sizeof line, "%s: %s", warning->ptr, warning->msg);
		sw_jw_str(w, line);
	}
	cJSON_ArrayForEach (said, s->facts.warnings)
		sw_jw_cjson(w, said);
	sw_jw_arr_end(w);
}

/* Null without one. Of a pipeline what the worker has counted of its stages. */
static void write_gang(struct sw_jw *w, const struct sw_spec *spec,
		       const struct sw_speccheck *facts)
{
	if (sw_spec_ranks(spec) <= 1) {
		sw_jw_knull(w, "gang");
		return;
	}
	sw_jw_kobj(w, "gang");
	sw_jw_kint(w, "ranks", sw_spec_ranks(spec));
	if (spec->stages > 1 && facts->stage_flops > 0 && facts->parts > 0) {
		sw_jw_kint(w, "stages", spec->stages);
		sw_jw_knum(w, "heaviest", facts->stage_flops / facts->flops);
		sw_jw_knum(w, "bubble",
			   (spec->stages - 1.0) / ((double)facts->parts + spec->stages - 1.0));
	}
	sw_jw_obj_end(w);
}

static void answer_validate(const struct sw_submit *s, struct sw_jw *w)
{
	const struct sw_pruner *pruner = sw_sweep_pruner(s->sched);
	const uint64_t points = sw_sweep_points(s->sched);
	const bool known = s->facts.bytes > 0;

	sw_jw_kbool(w, "ok", true);
	sw_jw_kstr(w, "name", s->spec->name);
	sw_jw_kint(w, "parameters", (int64_t)s->spec->n_params);
	sw_jw_kint_opt(w, "weights", known, s->facts.parameters);
	sw_jw_kint_opt(w, "bytes", known, s->facts.bytes);
	write_gang(w, s->spec, &s->facts);
	sw_jw_kint_opt(w, "points", points > 0, (int64_t)points);
	sw_jw_karr(w, "rungs");
	for (size_t k = 0; k < sw_pruner_rung_n(pruner, 0); k++)
		sw_jw_int(w, (int64_t)sw_pruner_rung_step(pruner, 0, k));
	sw_jw_arr_end(w);
	write_warnings(s, w);
}

void sw_handle_sweep_submit(struct sw_call *call)
{
	/* Before the spec is read, which may take a worker's minute: what cannot be stored need not
	 * be checked. accept_submit() asks again. */
	if (sw_change_allowed(call))
		sw_submit_begin(call, true, write_warnings);
}

void sw_handle_sweep_validate(struct sw_call *call)
{
	sw_submit_begin(call, false, answer_validate);
}
