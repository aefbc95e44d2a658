/*
 * base/turns.h — whose turn it is: work of many clients, next the one that has had least.
 *
 * A client is charged for what its work took, and the next one to be served is that which will have
 * had least if its work takes as long as its last did: fair queueing by virtual time. One that
 * comes with nothing waiting starts level with those that wait: what it did not use while it was
 * away is no claim. Of equals the one that came last goes first. So a client that asks for a small
 * thing now and then does not stand behind what a hundred others have piled up. The level rises
 * with the time that passes, shared by all that wait, so that no number of newcomers can go before
 * one client for ever.
 *
 * Threads  None of its own: the caller holds the lock.
 * Memory   All of it is the caller's; a client stays while its work waits or is to be charged.
 * Cost     add O(1), take O(clients that wait).
 */
#ifndef SW_BASE_TURNS_H
#define SW_BASE_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_turn { /* part of what waits */
	struct sw_turn *next;
	struct sw_turns_client *client;
};

struct sw_turns_client {              /* zeroed at first */
	struct sw_turn *head, **tail; /* its work, in its order */
	struct sw_turns_client *next; /* of those that wait */
	int64_t used_us, last_us;
};

struct sw_turns {
	struct sw_turns_client *waiting; /* the last that came first */
	int64_t level_us;                /* what a newcomer counts as having had */
	size_t n, clients;               /* work that waits, and of how many clients */
};

void sw_turns_add(struct sw_turns *t, struct sw_turns_client *c, struct sw_turn *work);
/* NULL: nothing waits, or may() says no to the first of each client. may NULL: all may. */
struct sw_turn *sw_turns_take(struct sw_turns *t, bool (*may)(const struct sw_turn *w, void *arg),
			      void *arg);
/* Charges the client for its work. */
void sw_turns_charge(struct sw_turns *t, struct sw_turns_client *c, int64_t us);

#endif
