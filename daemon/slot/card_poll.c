#include "daemon/slot/card_poll.h"
#include "base/memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sw_card_poll {
	pthread_t thread;
	pthread_mutex_t lock; /* over all below; never held during a call into NVML */
	pthread_cond_t change;
	bool stop, now, rests, fresh, ended;
	struct sw_nvml_view view; /* the newest */
	int64_t begun_us;
	sw_status rc; /* of opening; SW_BUSY: not yet */
	struct sw_err err;

	const struct sw_clock *clock;
	int64_t every_ms;
	void (*wake)(void *user);
	void *user;

	/* the thread's own */
	struct sw_nvml *nvml;
	struct sw_nvml_view reading;
};

static struct timespec moment_in(int64_t ms)
{
	const int64_t at_us = sw_clock_mono_us() + ms * 1000;

	return (struct timespec){.tv_sec = (time_t)(at_us / 1000000),
				 .tv_nsec = (long)(at_us % 1000000) * 1000};
}

/* With the lock. */
static void tell_owner(struct sw_card_poll *p)
{
	p->fresh = true;
	(void)pthread_cond_broadcast(&p->change);
	if (!p->stop) /* else the owner may be gone */
		p->wake(p->user);
}

/* A reading that nobody took yet is overwritten: only the newest matters, but for its errors. */
static void keep_xids(struct sw_nvml_view *old, struct sw_nvml_view *new)
{
	for (size_t i = 0; i < old->n && i < new->n; i++) {
		struct sw_nvml_card *from = &old->card[i], *to = &new->card[i];

		for (size_t k = 0; k < to->xid_n; k++)
			sw_nvml_keep_xid(from, to->xid[k]);
		/* In the order in which they came: sw_card_take() goes by the last that is a
		 * loss. */
		memcpy(to->xid, from->xid, sizeof to->xid);
		to->xid_n = from->xid_n;
	}
}

/* Waits, with the lock, until it is time for the next reading. False: it is over. */
static bool rest_until_next(struct sw_card_poll *p)
{
	const struct timespec until = moment_in(p->every_ms);

	while (!p->stop && !p->now && !p->rests)
		if (pthread_cond_timedwait(&p->change, &p->lock, &until) != 0)
			break;
	if (p->rests && !p->stop) {
		(void)pthread_mutex_unlock(&p->lock);
		sw_nvml_rest(p->nvml);
		(void)pthread_mutex_lock(&p->lock);
	}
	while (p->rests && !p->stop)
		(void)pthread_cond_wait(&p->change, &p->lock);
	p->now = false;
	return !p->stop;
}

static void *run_poll(void *arg)
{
	struct sw_card_poll *p = arg;
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_nvml_open(&p->nvml, &err);

	(void)pthread_mutex_lock(&p->lock);
	p->rc = rc;
	p->err = err;
	/* The owner waits for a first word, which is then the error. */
	if (rc != SW_OK)
		tell_owner(p);
	while (rc == SW_OK && !p->stop) {
		const int64_t begun_us = p->clock->mono_us();

		/* A call into a driver that hangs may never return: with the lock the loop would
		 * hang with it. */
		(void)pthread_mutex_unlock(&p->lock);
		sw_nvml_read(p->nvml, &p->reading);
		(void)pthread_mutex_lock(&p->lock);
		if (p->fresh)
			keep_xids(&p->view, &p->reading);
		p->view = p->reading;
		/* The beginning, not the end: a reading says nothing of what happened while it was
		 * taken. */
		p->begun_us = begun_us;
		tell_owner(p);
		if (!rest_until_next(p))
			break;
	}
	(void)pthread_mutex_unlock(&p->lock);
	/* It may hang as well as any other call: sw_card_poll_stop() waits for `ended`, with a
	 * limit. */
	sw_nvml_close(p->nvml);
	(void)pthread_mutex_lock(&p->lock);
	p->ended = true;
	(void)pthread_cond_broadcast(&p->change);
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void free_poll(struct sw_card_poll *p)
{
	(void)pthread_cond_destroy(&p->change);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

sw_status sw_card_poll_start(struct sw_card_poll **out, const struct sw_clock *clock,
			     int64_t every_ms, void (*wake)(void *user), void *user)
{
	struct sw_card_poll *p = sw_calloc(1, sizeof *p);
	pthread_condattr_t attr;

	*out = NULL;
	if (p == NULL)
		return SW_NOMEM;
	p->rc = SW_BUSY;
	p->clock = clock;
	p->every_ms = every_ms;
	p->wake = wake;
	p->user = user;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_condattr_init(&attr);
	/* Waits go by the clock that moment_in() reads; the wall clock may be set. */
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&p->change, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (pthread_create(&p->thread, NULL, run_poll, p) != 0) {
		free_poll(p);
		return SW_NOMEM;
	}
	*out = p;
	return SW_OK;
}

void sw_card_poll_stop(struct sw_card_poll *p, int64_t limit_ms)
{
	if (p == NULL)
		return;
	const struct timespec until = moment_in(limit_ms);
	(void)pthread_mutex_lock(&p->lock);
	p->stop = true;
	(void)pthread_cond_broadcast(&p->change);
	while (!p->ended && pthread_cond_timedwait(&p->change, &p->lock, &until) == 0)
		continue;
	const bool ended = p->ended;
	(void)pthread_mutex_unlock(&p->lock);
	if (!ended) { /* it hangs in the driver: it and its memory are left to the end of the
			 process */
		(void)pthread_detach(p->thread);
		return;
	}
	(void)pthread_join(p->thread, NULL);
	free_poll(p);
}

sw_status sw_card_poll_take(struct sw_card_poll *p, int64_t limit_ms, struct sw_nvml_view *out,
			    int64_t *begun_us, struct sw_err *err)
{
	const struct timespec until = moment_in(limit_ms);
	sw_status rc = SW_BUSY; /* no reading since the last one that was taken */

	(void)pthread_mutex_lock(&p->lock);
	while (!p->fresh && limit_ms > 0 &&
	       pthread_cond_timedwait(&p->change, &p->lock, &until) == 0)
		continue;
	if (p->fresh) {
		rc = p->rc;
		/* One taker: the loop. What it has taken it keeps until the next. */
		p->fresh = false;
		*out = p->view;
		*begun_us = p->begun_us;
		if (rc != SW_OK)
			*err = p->err;
	}
	(void)pthread_mutex_unlock(&p->lock);
	return rc;
}

static void tell_thread(struct sw_card_poll *p, bool rests)
{
	(void)pthread_mutex_lock(&p->lock);
	p->now = !rests;
	p->rests = rests;
	(void)pthread_cond_broadcast(&p->change);
	(void)pthread_mutex_unlock(&p->lock);
}

void sw_card_poll_now(struct sw_card_poll *p)
{
	tell_thread(p, false);
}

void sw_card_poll_rest(struct sw_card_poll *p)
{
	tell_thread(p, true);
}
