/* tests/daemon/fixture_cards.c — GPUs as NVML would show them. In the place of card_poll.c and its
 * thread: a reading comes when it is asked for, and each second of the story. */
#include "daemon/slot/card_poll.h"
#include "tests/daemon/fixture_world.h"

#define CARDS     2
#define CARD_SIZE ((int64_t)16 << 30)

struct sw_card_poll {
	const struct sw_clock *clock;
	int64_t every_us, begun_us;
	bool asked, fresh, rests;
	void (*wake)(void *user);
	void *user;
};

static struct sw_card_poll *poll; /* NULL: nobody reads */
static struct sw_nvml_view view;
static bool silent; /* NVML hangs */
static bool sleeps; /* it is a laptop */

void fixture_cards_init(void)
{
	silent = sleeps = false;
	poll = NULL;
	view = (struct sw_nvml_view){.n = CARDS};
	for (size_t i = 0; i < CARDS; i++)
		fixture_card_is(i, "fine");
}

void fixture_card_is(size_t i, const char *what)
{
	struct sw_nvml_card *c = &view.card[i];

	*c = (struct sw_nvml_card){.total = CARD_SIZE,
				   .free = CARD_SIZE,
				   .util = -1,
				   .temp = 40,
				   .slowdown = 90,
				   .power_mw = -1,
				   .limit_mw = -1,
				   .energy_mj = -1};
	(void)snprintf(c->name, sizeof c->name, "Card");
	(void)snprintf(c->uuid, sizeof c->uuid, "GPU-%zu", i);
	silent = strcmp(what, "silent") == 0;
	if (strcmp(what, "held") == 0 || strcmp(what, "kept") == 0) {
		c->proc_n = 1;
		c->used = c->proc[0].bytes = (int64_t)4 << 30;
		c->proc[0].pid = 77;
		c->proc[0].session = *what == 'k' ? fixture_worker_pid : -1;
		c->proc[0].compute = true;
	} else if (strcmp(what, "lost") == 0) {
		c->health = SW_NVML_LOST;
		(void)snprintf(c->why, sizeof c->why, "GPU is lost");
	} else if (strcmp(what, "ecc") == 0) {
		c->ecc = 1;
	} else if (strcmp(what, "leaks") == 0) {
		c->used = (int64_t)4 << 30;
	} else if (strcmp(what, "small") == 0) {
		c->total = c->free = (int64_t)2 << 30;
	}
	c->sleeps = sleeps = sleeps || strcmp(what, "sleeps") == 0;
	if (poll != NULL)
		poll->asked = true;
}

/* A reading is never begun in the same microsecond as what it follows. */
static void read_cards(void)
{
	poll->begun_us = ++fixture_time.now_us;
	poll->asked = false;
	poll->fresh = true;
}

bool fixture_cards_turn(void)
{
	if (poll == NULL || silent || poll->rests ||
	    (!poll->asked && fixture_time.now_us - poll->begun_us < poll->every_us))
		return false;
	read_cards();
	poll->wake(poll->user);
	return true;
}

/* --- what the daemon asks --- */

sw_status sw_card_poll_start(struct sw_card_poll **out, const struct sw_clock *clock,
			     int64_t every_ms, void (*wake)(void *user), void *user)
{
	*out = poll = calloc(1, sizeof *poll);
	ck_assert_ptr_nonnull(poll);
	*poll = (struct sw_card_poll){
		.clock = clock, .every_us = every_ms * 1000, .wake = wake, .user = user};
	return SW_OK;
}

void sw_card_poll_stop(struct sw_card_poll *p, int64_t limit_ms)
{
	(void)limit_ms;
	free(p);
	poll = NULL;
}

/* Of no time but at the start, where NVML itself may be missing. */
sw_status sw_card_poll_take(struct sw_card_poll *p, int64_t limit_ms, struct sw_nvml_view *out,
			    int64_t *begun_us, struct sw_err *err)
{
	if (limit_ms > 0 && view.n == 0)
		return sw_err_set(err, SW_NOT_FOUND, "there is no NVML");
	if (limit_ms > 0 && !silent)
		read_cards();
	if (!p->fresh)
		return sw_err_set(err, SW_BUSY, "no reading");
	p->fresh = false;
	*out = view;
	*begun_us = p->begun_us;
	return SW_OK;
}

void sw_card_poll_now(struct sw_card_poll *p)
{
	p->asked = true;
	p->rests = false;
	fixture_moved = true;
}

void sw_card_poll_rest(struct sw_card_poll *p)
{
	p->rests = true;
}
