#include "daemon/api/why_words.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/files/quota.h"
#include "daemon/sweep/give/need.h"
#include "daemon/sweep/give/place.h"
#include "daemon/sweep/running.h"
#include <stdio.h>

#define SLOTS_SHOWN 8

/* Six digits that mean something, as people write numbers. */
static const char *show(double v, char out[32])
{
	(void)snprintf(out, 32, "%.6g", v);
	return out;
}

/* --- decisions --- */

static void by_rank(const struct sw_row_decision *row, const char *place, const char *cutoff,
		    const char *value, char *out, size_t cap)
{
	(void)snprintf(out, cap, "at %s %lld: rank %lld of %lld, cutoff %s, value %s", place,
		       (long long)row->rung, (long long)row->better + 1, (long long)row->n, cutoff,
		       value);
}

static void by_threshold(const struct sw_row_decision *row, const char *value, const char *bound,
			 char *out, size_t cap)
{
	const bool above = row->value > row->cutoff;

	/* Only a value that crosses a bound has a row, and its cutoff is that bound. */
	(void)snprintf(out, cap, "at step %lld: %s is %s the %s bound %s", (long long)row->rung,
		       value, above ? "above" : "below", above ? "upper" : "lower", bound);
}

void sw_why_decision(enum sw_pruner_kind kind, bool brackets, const struct sw_row_decision *row,
		     char *out, size_t cap)
{
	char cutoff[32] = "none yet", value[32], place[48] = "rung";
	const long long step = row->rung, others = row->n - 1;

	if (row->has_cutoff)
		(void)show(row->cutoff, cutoff);
	(void)show(row->value, value);
	switch (kind) {
	case SW_PRUNER_MEDIAN:
		(void)snprintf(out, cap, "at step %lld: best so far %s, median of %lld other%s %s",
			       step, value, others, others == 1 ? "" : "s", cutoff);
		return;
	case SW_PRUNER_PATIENCE:
		(void)snprintf(
			out, cap,
			"at step %lld: %lld report%s in a row not better than %s, this one %s",
			step, (long long)row->n, row->n == 1 ? "" : "s", cutoff, value);
		return;
	case SW_PRUNER_THRESHOLD:
		by_threshold(row, value, cutoff, out, cap);
		return;
	case SW_PRUNER_PBT:
		by_rank(row, "step", cutoff, value, out, cap);
		return;
	case SW_PRUNER_HYPERBAND:
		by_rank(row, "band", cutoff, value, out, cap);
		return;
	default:
		if (brackets)
			(void)snprintf(place, sizeof place, "bracket %lld, rung",
				       (long long)row->bracket);
		by_rank(row, place, cutoff, value, out, cap);
		return;
	}
}

/* --- queues --- */

void sw_why_place(enum sw_pruner_kind kind, const struct sw_pruner_turn *p, struct sw_buf *out)
{
	if (kind == SW_PRUNER_PBT) { /* its turn comes, whatever its rank */
		(void)sw_buf_addf(out,
				  "waits at step %llu, ranked %llu of %llu: members behind it come "
				  "first",
				  (unsigned long long)p->rung, (unsigned long long)p->rank,
				  (unsigned long long)p->n);
		if (p->ahead == 0)
			(void)sw_buf_adds(out, "; the next of those paused");
		else
			(void)sw_buf_addf(out, "; %llu of those paused before it",
					  (unsigned long long)p->ahead);
		return;
	}
	(void)sw_buf_addf(out, "waits at rung %llu: rank %llu of %llu", (unsigned long long)p->rung,
			  (unsigned long long)p->rank, (unsigned long long)p->n);
	if (p->keep == 0) {
		(void)sw_buf_adds(out, ", too few for any to go on");
		return;
	}
	if (p->keep == 1)
		(void)sw_buf_adds(out, ", of which the best goes on");
	else
		(void)sw_buf_addf(out, ", of which the best %llu go on",
				  (unsigned long long)p->keep);
	if (p->rank > p->keep)
		(void)sw_buf_adds(out, "; not among them so far");
	else if (p->ahead == 0)
		(void)sw_buf_adds(out, "; the next to be resumed");
	else
		(void)sw_buf_addf(out, "; %llu to be resumed before it",
				  (unsigned long long)p->ahead);
}

/* --- waits --- */

static void add_slots(const struct sw_running *live, struct sw_buf *out)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const struct sw_daemon *d = live->d;
	size_t suits = 0, idle = 0;
	unsigned takes = 1, free = 0; /* of CPU slots: all at once */
	const char *why;
	char hinder[80];
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		if (sw_room_takes(&d->slot.slots[i], &need) == 0)
			continue;
		suits++;
		if (!d->slot.slots[i].device.kind->gpu) {
			takes = sw_room_takes(&d->slot.slots[i], &need);
			free = sw_room_lanes(&d->slot.slots[i]);
		}
		idle += sw_room_is_free(&d->slot.slots[i]) &&
			sw_slot_may_begin(&d->slot.slots[i], &why) &&
			!sw_place_hinders(&d->slot.slots[i], live, hinder, sizeof hinder);
	}
	if (takes > 1)
		(void)sw_buf_addf(out, "waits for %u CPU slots at once: %zu of %zu suit, %u free",
				  takes, suits, d->slot.slot_n, free);
	else
		(void)sw_buf_addf(out, "waits for a %sslot: %zu of %zu suit, %zu free",
				  live->spec->needs_gpu ? "GPU " : "", suits, d->slot.slot_n, idle);
	for (size_t i = 0; i < d->slot.slot_n && i < SLOTS_SHOWN; i++) {
		const struct sw_slot *s = &d->slot.slots[i];

		const bool ready = sw_slot_may_begin(s, &why);

		(void)sw_buf_addf(out, ", %s ", s->device.name);
		if (!ready)
			(void)sw_buf_addf(out, "takes none (%s)", why);
		else if (sw_place_hinders(s, live, hinder, sizeof hinder))
			(void)sw_buf_addf(out, "free (%s)", hinder);
		else if (s->holder >= 0 && d->slot.slots[s->holder].state == SW_SLOT_BUSY)
			(void)sw_buf_addf(out, "held by %lld/%lld with %s",
					  (long long)d->slot.slots[s->holder].sweep,
					  (long long)d->slot.slots[s->holder].trial,
					  d->slot.slots[s->holder].device.name);
		else if (s->state == SW_SLOT_BUSY)
			(void)sw_buf_addf(out, "held by %lld/%lld", (long long)s->sweep,
					  (long long)s->trial);
		else
			(void)sw_buf_adds(out, s->state == SW_SLOT_DOWN       ? "down"
					       : s->state == SW_SLOT_STARTING ? "starting"
					       : s->program || s->holder >= 0
						       ? "still ends a program"
						       : "free");
	}
	if (d->slot.slot_n > SLOTS_SHOWN)
		(void)sw_buf_addf(out, ", and %zu more", d->slot.slot_n - SLOTS_SHOWN);
	const struct sw_job_shape *sh = sw_job_shape_find(live->d, need.shape);
	if (sh != NULL && sh->why[0] != '\0')
		(void)sw_buf_addf(out, "; %s", sh->why);
}

void sw_why_slots(const struct sw_running *live, int64_t trial, struct sw_buf *out)
{
	const struct sw_daemon *d = live->d;
	const struct sw_slot *lead = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < d->slot.slot_n && lead == NULL; i++)
		if (d->slot.slots[i].state == SW_SLOT_BUSY &&
		    d->slot.slots[i].sweep == live->sweep && d->slot.slots[i].trial == trial)
			lead = &d->slot.slots[i];
	/* The slot is its own already, and the program of the attempt before still ends
	 * elsewhere. */
	if (lead != NULL && lead->job.data != NULL) {
		const struct sw_slot *before = sw_slot_ending(d, live->sweep, trial);

		(void)sw_buf_addf(out, " on %s once the attempt before has ended on %s",
				  lead->device.name,
				  before != NULL ? before->device.name : "its slot");
		return;
	}
	/* A client has it, or one slot is all that it takes. */
	if (lead == NULL || lead->lanes_used <= 1)
		return;
	(void)sw_buf_addf(out, " on %s with", lead->device.name);
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (d->slot.slots[i].holder == lead->index && n++ < SLOTS_SHOWN)
			(void)sw_buf_addf(out, "%s %s", n > 1 ? "," : "",
					  d->slot.slots[i].device.name);
	if (n > SLOTS_SHOWN)
		(void)sw_buf_addf(out, " and %u more", n - SLOTS_SHOWN);
}

void sw_why_settling(const struct sw_running *live, struct sw_buf *out)
{
	const char *why = sw_sweep_end_cause(live->sched);

	(void)sw_buf_addf(out, "waits for its end: the sweep is about to be %s%s%s",
			  sw_sweep_state_name(sw_sweep_end_state(live->sched)),
			  *why != '\0' ? ": " : "", why);
}

void sw_why_waiting(const struct sw_running *live, struct sw_buf *out)
{
	uint64_t counts[SW_TRIAL_STATE_N];
	size_t rivals;

	sw_sweep_counts(live->sched, counts);
	if (sw_sweep_settling(live->sched)) {
		sw_why_settling(live, out);
		return;
	}
	if (live->state == SW_SWEEP_PAUSED) {
		const char *cause = sw_sweep_cause(live->sched);

		(void)sw_buf_addf(out, "waits: the sweep is paused%s%s", *cause != '\0' ? ": " : "",
				  cause);
		return;
	}
	if (live->settings.max_concurrent > 0 &&
	    counts[SW_TRIAL_RUNNING] >= live->settings.max_concurrent) {
		(void)sw_buf_addf(out,
				  "waits: %llu trials of the sweep run, max_concurrent is %llu",
				  (unsigned long long)counts[SW_TRIAL_RUNNING],
				  (unsigned long long)live->settings.max_concurrent);
		return;
	}
	if (live->driven) {
		(void)sw_buf_adds(out, "waits for a client's trial.ask");
		return;
	}
	if (sw_quota_full(live->d) != NULL) {
		(void)sw_buf_addf(out, "waits: %s", sw_quota_full(live->d));
		return;
	}
	if (live->d->draining) {
		(void)sw_buf_adds(out,
				  "waits: the daemon is draining, it hands out no more trials");
		return;
	}
	add_slots(live, out);
	const struct sw_running *first = sw_place_next(live, &rivals);
	/* Nobody else wants such a slot. */
	if (rivals == 0)
		return;
	(void)sw_buf_addf(out, "; the next goes to sweep %lld (weight %.6g, %llu on slots",
			  (long long)first->sweep, first->settings.weight,
			  (unsigned long long)first->claim.share.running);
	if (first == live)
		(void)sw_buf_addf(out, "), this one, before %zu other%s", rivals,
				  rivals == 1 ? "" : "s");
	else
		(void)sw_buf_addf(out, "; this one: weight %.6g, %llu)", live->settings.weight,
				  (unsigned long long)live->claim.share.running);
}
