#include "base/turns.h"

void sw_turns_add(struct sw_turns *t, struct sw_turns_client *c, struct sw_turn *work)
{
	if (c->head == NULL) {
		c->tail = &c->head;
		c->next = t->waiting;
		t->waiting = c;
		t->clients++;
		/* One that comes back has no claim from when it was away. */
		if (c->used_us < t->level_us)
			c->used_us = t->level_us;
	}
	work->next = NULL;
	work->client = c;
	*c->tail = work;
	c->tail = &work->next;
	t->n++;
}

struct sw_turn *sw_turns_take(struct sw_turns *t, bool (*may)(const struct sw_turn *w, void *arg),
			      void *arg)
{
	struct sw_turns_client **least = NULL;

	for (struct sw_turns_client **at = &t->waiting; *at != NULL; at = &(*at)->next)
		if ((least == NULL ||
		     (*at)->used_us + (*at)->last_us < (*least)->used_us + (*least)->last_us) &&
		    (may == NULL || may((*at)->head, arg)))
			least = at;
	if (least == NULL)
		return NULL;
	struct sw_turns_client *c = *least;
	struct sw_turn *work = c->head;

	c->head = work->next;
	if (c->head == NULL) {
		*least = c->next;
		t->clients--;
	}
	/* The level follows the one that is served, which had least. */
	if (t->level_us < c->used_us)
		t->level_us = c->used_us;
	t->n--;
	return work;
}

void sw_turns_charge(struct sw_turns *t, struct sw_turns_client *c, int64_t us)
{
	const int64_t share = (int64_t)t->clients + 1;

	c->last_us = us > 0 ? us : 1; /* nothing is free, or one would never be passed over */
	c->used_us += c->last_us;
	t->level_us += (c->last_us + share - 1) / share;
}
