#include "daemon/slot/losses.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include <stdio.h>
#include <string.h>

/* A trial that another GPU loses, too, was not lost through this one. */
static void strike_trial(struct sw_worker *w, const struct sw_losses_of *of)
{
	struct sw_losses *l = &w->losses;
	unsigned kept = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (l->of[i].sweep != of->sweep || l->of[i].trial != of->trial)
			l->of[kept++] = l->of[i];
	l->n = kept;
	/* Nothing was struck, or it was never out. */
	if (kept == SW_LOSSES_OUT || l->out[0] == '\0')
		return;
	l->out[0] = '\0';
	sw_log(SW_LOG_INFO, "device.back",
	       "device=%s why=\"another GPU has lost trial %lld/%lld, too\"", w->slots->device.card,
	       (long long)of->sweep, (long long)of->trial);
	w->slots->d->slot.due = true;
}

/* Do at least as many others take trials, and lost none last? */
static bool stands_out(const struct sw_daemon *d)
{
	unsigned ill = 0, well = 0;

	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];

		if (w->losses.n > 0)
			ill++;
		else if (w->slots->device.kind->gpu && sw_room_comes_back(w))
			well++;
	}
	return ill <= well;
}

static void take_out(struct sw_worker *w)
{
	struct sw_losses *l = &w->losses;
	size_t n = (size_t)snprintf(l->out, sizeof l->out, "lost %d attempts in a row (",
				    SW_LOSSES_OUT);

	for (unsigned i = 0; i < SW_LOSSES_OUT; i++) {
		const char *comma = i > 0 ? ", " : "";

		if (l->of[i].sweep == 0)
			n += (size_t)snprintf(l->out + n, sizeof l->out - n, "%sGPU lost", comma);
		else
			n += (size_t)snprintf(l->out + n, sizeof l->out - n, "%s%lld/%lld", comma,
					      (long long)l->of[i].sweep, (long long)l->of[i].trial);
	}
	(void)snprintf(l->out + n, sizeof l->out - n,
		       "): it takes no trial until sweepd is started again");
	sw_log(SW_LOG_WARN, "device.out", "device=%s why=\"%s\"", w->slots->device.card, l->out);
}

/* True: it is taken out now. */
static bool add_loss(struct sw_worker *w, const struct sw_losses_of *of)
{
	struct sw_losses *l = &w->losses;

	if (l->n == SW_LOSSES_OUT)
		/* Full, and not taken out, since others lost as many: the oldest goes, so that the
		 * last SW_LOSSES_OUT count. */
		memmove(l->of, l->of + 1, --l->n * sizeof l->of[0]);
	l->of[l->n++] = *of;
	/* Too few in a row, out already, or the others lose as many: then it is no fault of this
	 * one. */
	if (l->n < SW_LOSSES_OUT || l->out[0] != '\0' || !stands_out(w->slots->d))
		return false;
	take_out(w);
	return true;
}

bool sw_losses_before(const struct sw_slot *s)
{
	return !s->stepped && !s->program && s->device.kind->gpu && sw_room_gpu(s, 1) != NULL;
}

const struct sw_worker *sw_losses_attempt(const struct sw_slot *s)
{
	const struct sw_losses_of of = {.sweep = s->sweep, .trial = s->trial};
	struct sw_worker *w = sw_room_gpu(s, s->lost_rank);
	struct sw_daemon *d = s->d;

	/* A core is not taken out; nor a node, for the next pilot has another. */
	if (!s->device.kind->watched || sw_losses_before(s))
		return NULL;
	if (w == NULL) /* a worker says what it likes */
		w = s->worker;
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (&d->slot.workers[i] != w)
			strike_trial(&d->slot.workers[i], &of);
	return add_loss(w, &of) ? w : NULL;
}

void sw_losses_gpu(struct sw_worker *w)
{
	(void)add_loss(w, &(struct sw_losses_of){0});
}

void sw_losses_none(const struct sw_slot *s)
{
	struct sw_worker *w;

	if (s->device.kind->gpu)
		for (unsigned rank = 0; (w = sw_room_gpu(s, rank)) != NULL; rank++)
			if (w->losses.out[0] == '\0')
				w->losses.n = 0;
}
