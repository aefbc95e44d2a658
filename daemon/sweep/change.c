#include "daemon/sweep/change.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include <stdlib.h>

struct sw_change_effect {
	struct sw_change_effect *next;
	void (*run)(void *arg);
	void *arg;
};

struct sw_change *sw_change_begin(struct sw_daemon *d, struct sw_call *call)
{
	struct sw_change *c = sw_calloc(1, sizeof *c);

	/* No memory is no answer here: the caller is about to move the state machine, which has no
	 * way back. */
	if (c == NULL || sw_tx_create(&c->tx) != SW_OK)
		sw_daemon_die("begin a change", SW_NOMEM);
	c->d = d;
	c->call = call;
	c->effects_tail = &c->effects;
	c->uid = call != NULL ? (int64_t)call->conn->uid : -1;
	c->now_ms = d->clock->wall_ms(); /* once: its rows and its decisions have one time */
	sw_buf_init(&c->reply, SW_REPLY_MAX);
	return c;
}

void sw_change_after(struct sw_change *c, void (*run)(void *arg), void *arg)
{
	struct sw_change_effect *e = sw_daemon_calloc(1, sizeof *e, "act on a change");

	*e = (struct sw_change_effect){.run = run, .arg = arg};
	/* In order: files of a trial go before a next slice may end its sweep. */
	*c->effects_tail = e;
	c->effects_tail = &e->next;
}

static void free_change(struct sw_change *c)
{
	struct sw_change_effect *next;

	for (struct sw_change_effect *e = c->effects; e != NULL; e = next) {
		next = e->next;
		free(e);
	}
	sw_actions_fini(&c->actions);
	sw_buf_fini(&c->reply);
	free(c);
}

void sw_change_drop(struct sw_change *c)
{
	/* Only where no step was taken: the rows of a step that was taken and thrown away would
	 * leave the store behind the state machine for ever. */
	sw_tx_destroy(c->tx); /* a commit takes it instead */
	free_change(c);
}

static void on_committed(void *arg)
{
	struct sw_change *c = arg;

	/* The answer first: what runs next may take steps, and hold the loop for a slice of a
	 * sweep. The call's connection may have closed meanwhile; then the text is dropped, and the
	 * change counts. */
	if (c->call != NULL)
		sw_call_result(c->call, &c->reply);
	for (const struct sw_change_effect *e = c->effects; e != NULL; e = e->next)
		e->run(e->arg);
	free_change(c);
}

void sw_change_commit(struct sw_change *c)
{
	sw_actions_fini(&c->actions); /* thousands, where a sweep with many open trials ends */
	const sw_status rc = sw_store_commit(c->d->store, c->tx, on_committed, c);

	if (rc != SW_OK) /* the state machine has moved; only a restart can make the two agree */
		sw_daemon_die("record a change", rc);
}

bool sw_change_allowed(struct sw_call *call)
{
	const char *stuck = sw_store_stuck(call->d->store);

	/* Asked before anything moves: the state machine cannot take a step back. */
	if (stuck != NULL)
		sw_call_refuse(call, SW_FULL, "",
			       "%s; nothing is lost, try again once that is over", stuck);
	else if (!sw_store_has_room(call->d->store))
		sw_call_refuse(call, SW_BUSY, "", "too many changes wait for the disk; try again");
	else if (call->d->phase != SW_UP)
		sw_call_refuse(call, SW_BUSY, "", "the daemon is stopping");
	else
		return true;
	return false;
}
