#include "web/link.h"
#include "base/clock.h"
#include <errno.h>
#include <string.h>
#include <time.h>

#define RETRY_US ((int64_t)1000000) /* between two tries to connect */

static sw_status connect_link(struct sw_link *l, struct sw_err *err)
{
	if (l->client != NULL)
		return SW_OK;
	/* Whoever asks meanwhile gets the answer at once: a page asks for a dozen things. */
	if (sw_clock_mono_us() < l->retry_at)
		return sw_err_set(err, SW_NOT_FOUND, "the daemon is away");
	const sw_status rc =
		l->host != NULL ? sw_client_dial(&l->client, l->host, true, err)
				: sw_client_open(&l->client, l->socket, SW_CLIENT_CONNECT_MS, err);
	if (rc != SW_OK)
		l->retry_at = sw_clock_mono_us() + RETRY_US;
	return rc;
}

sw_status sw_link_call(struct sw_link *l, const char *method, const char *params, bool changes,
		       struct sw_reply *r, struct sw_err *err)
{
	for (;;) {
		const bool old = l->client != NULL;
		struct sw_err first;
		sw_status rc = connect_link(l, err);

		if (rc != SW_OK)
			return rc;
		rc = sw_client_call(l->client, method, params, l->reply_ms, r, err);
		if (rc == SW_OK || rc == SW_INVALID)
			return rc;
		sw_client_close(l->client);
		l->client = NULL;
		first = *err;
		*err = (struct sw_err)SW_ERR_INIT;
		if (changes)
			return sw_err_set(err, rc,
					  "%s; whether it was done before nobody knows: look, then "
					  "do it again",
					  first.msg);
		/* A daemon that was started anew has closed the connection that was there. One that
		 * gives no answer gives none to a second question. */
		if (!old || rc == SW_BUSY)
			return sw_err_set(err, rc, "%s", first.msg);
	}
}

/* The next call; NULL: it is time to tick. */
static struct sw_link_call *take(struct sw_link *l)
{
	struct sw_link_call *call;
	int late = 0;

	(void)pthread_mutex_lock(&l->lock);
	while (l->head == NULL && late != ETIMEDOUT) {
		const struct timespec until = {.tv_sec = l->next_tick / 1000000,
					       .tv_nsec = l->next_tick % 1000000 * 1000};
		late = l->tick == NULL ? pthread_cond_wait(&l->wake, &l->lock)
				       : pthread_cond_timedwait(&l->wake, &l->lock, &until);
	}
	call = l->head;
	if (call != NULL) {
		l->head = call->next;
		if (l->head == NULL)
			l->tail = &l->head;
		l->n--;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return call;
}

static void *link_main(void *arg)
{
	struct sw_link *l = arg;

	for (;;) {
		struct sw_link_call *call = take(l);

		if (call != NULL) {
			call->rc = sw_link_call(l, call->method, call->params, call->changes,
						&call->reply, &call->err);
			call->done(call);
		}
		/* Also where calls never cease. */
		if (l->tick != NULL && sw_clock_mono_us() >= l->next_tick) {
			l->tick(l, l->arg);
			l->next_tick = sw_clock_mono_us() + (int64_t)l->tick_ms * 1000;
		}
	}
	return NULL;
}

sw_status sw_link_start(struct sw_link *l, struct sw_client *client, struct sw_err *err)
{
	pthread_condattr_t by_mono;

	(void)pthread_condattr_init(&by_mono);
	(void)pthread_condattr_setclock(&by_mono, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->wake, &by_mono);
	(void)pthread_condattr_destroy(&by_mono);
	l->client = client;
	l->tail = &l->head;
	l->next_tick = sw_clock_mono_us();
	const int failed = pthread_create(&l->thread, NULL, link_main, l);
	return failed == 0 ? SW_OK : sw_err_set(err, SW_NOMEM, "thread: %s", strerror(failed));
}

bool sw_link_ask(struct sw_link *l, struct sw_link_call *call)
{
	(void)pthread_mutex_lock(&l->lock);
	const bool room = l->n < SW_LINK_WAITING;
	if (room) {
		call->next = NULL;
		*l->tail = call;
		l->tail = &call->next;
		l->n++;
		(void)pthread_cond_signal(&l->wake);
	}
	(void)pthread_mutex_unlock(&l->lock);
	return room;
}
