#include "daemon/slot/card.h"
#include "daemon/slot/xid.h"
#include <stdio.h>
#include <string.h>

#define MIB(bytes) ((long long)((bytes) >> 20))

const char *sw_card_state_name(enum sw_card_state state)
{
	static const char *const names[] = {"UNKNOWN", "OK", "HOT", "HELD", "FREEING", "DOWN"};

	return names[state];
}

void sw_card_init(struct sw_card *c)
{
	*c = (struct sw_card){.state = SW_CARD_UNKNOWN, .ecc_first = -1, .ecc = -1, .level = -1};
}

static bool is_session_of(int64_t session, const struct sw_card_ours *ours)
{
	for (size_t i = 0; session > 0 && i < ours->n; i++)
		if (ours->session[i] == session)
			return true;
	return false;
}

bool sw_card_is_ours(const struct sw_nvml_proc *p, const struct sw_card_ours *ours)
{
	/* With hidden process numbers nobody can be told apart: with a worker of ours there,
	 * all counts as ours. */
	if (is_session_of(p->session, ours) || (ours->hidden && ours->here > 0))
		return true;
	for (size_t i = 0; i < SW_NVML_ABOVE && p->above[i] != 0; i++)
		if (is_session_of(p->above[i], ours))
			return true;
	return false;
}

/* --- whose memory --- */

struct sums {
	int64_t ours, strangers, rest;
	int64_t programs;                 /* of ours what processes have that are no workers */
	bool dead;                        /* a process of the worker that ended is still there */
	bool vague;                       /* whose the rest is, nobody can tell */
	const struct sw_nvml_proc *worst; /* of the strangers */
	size_t strangers_n;
};

static void sum_memory(const struct sw_card *c, const struct sw_card_ours *ours, struct sums *s)
{
	const struct sw_nvml_card *now = &c->now;
	bool unsaid = false;

	*s = (struct sums){.rest = now->used > 0 ? now->used : 0,
			   .vague = now->unlisted || (c->program && ours->hidden)};
	for (size_t i = 0; i < now->proc_n; i++) {
		const struct sw_nvml_proc *p = &now->proc[i];
		const int64_t bytes = p->bytes > 0 ? p->bytes : 0;

		/* The rest is the driver's, or of a process that NVML does not show. NVML's sum and
		 * its list are not of one moment, so this may go below 0 for a reading. */
		s->rest -= bytes;
		if (sw_card_is_ours(p, ours)) {
			s->ours += bytes;
			if (!is_session_of(p->pid, ours)) /* a worker leads its session */
				s->programs += bytes;
		} else if (c->dead != 0 && p->session == c->dead) {
			s->dead = true;
		} else if (p->compute) {
			s->strangers += bytes;
			s->strangers_n++;
			unsaid = unsaid || p->bytes < 0;
			/* One that does not say how much it has counts as less than any that
			 * does. */
			if (s->worst == NULL || p->bytes > s->worst->bytes)
				s->worst = p;
		}
	}
	if (s->rest < 0)
		s->rest = 0;
	if (unsaid && ours->here == 0) { /* then nobody else can have what no process has */
		s->strangers += s->rest;
		s->rest = 0;
	}
}

static void say_strangers(struct sw_card *c, const struct sums *s)
{
	const struct sw_nvml_proc *p = s->worst;
	char more[40] = "";

	if (s->strangers_n > 1)
		(void)snprintf(more, sizeof more, ", and %zu more", s->strangers_n - 1);
	(void)snprintf(c->why, sizeof c->why, "held by pid %lld (%s), %lld MiB%s",
		       (long long)p->pid, p->name[0] != '\0' ? p->name : "not visible from here",
		       MIB(s->strangers), more);
}

/* --- the judgement --- */

/* SW_CARD_OK: its memory is back, or none is awaited. */
static enum sw_card_state judge_freeing(struct sw_card *c, const struct sums *s, int64_t now_us,
					int64_t free_us)
{
	/* Nothing has ended since its memory was last seen to be back. */
	if (c->freeing_us == 0)
		return SW_CARD_OK;
	/* Against what was there before: the driver's own part is nobody's. A worker that goes on
	 * keeps what it has itself. */
	const int64_t more = c->program ? s->programs + s->rest - c->level : s->rest - c->rest;
	const bool left = c->program ? s->programs > 0 : s->dead;
	const char *who = c->program ? "program" : "worker";
	if (more <= SW_CARD_SMALL && (c->program || !left)) {
		c->freeing_us = 0;
		c->dead = 0;
		return SW_CARD_OK;
	}
	if (now_us - c->freeing_us < free_us) {
		(void)snprintf(c->why, sizeof c->why, "the memory of its last %s is not back", who);
		return SW_CARD_FREEING;
	}
	/* It may be a desktop's as well, which has grown meanwhile; nothing will ever tell. */
	if (s->vague) {
		if (c->program) /* else the next one, which may begin at once, waits as long */
			c->level = s->programs + s->rest;
		else
			c->rest = s->rest;
		c->freeing_us = 0;
		return SW_CARD_OK;
	}
	(void)snprintf(c->why, sizeof c->why, "%lld s after its %s ended %lld MiB are not back%s",
		       (long long)((now_us - c->freeing_us) / 1000000), who,
		       MIB(more > 0 ? more : 0),
		       left ? ", a process of it is left" : ", and no process has them");
	return SW_CARD_DOWN;
}

static bool judge_heat(struct sw_card *c)
{
	const struct sw_nvml_card *now = &c->now;
	const bool known = now->temp >= 0 && now->slowdown > 0;

	/* Between the two limits it stays what it was, or trials would come and go with a
	 * degree. */
	if (now->throttled || (known && now->temp >= now->slowdown))
		c->hot = true;
	else if (!known || now->temp <= now->slowdown - SW_CARD_COOL)
		c->hot = false;
	return c->hot;
}

static enum sw_card_state judge_reading(struct sw_card *c, const struct sums *s, int64_t now_us,
					int64_t free_us)
{
	const struct sw_nvml_card *now = &c->now;

	c->why[0] = '\0';
	/* First what is worst. A GPU that cannot be read has no other values to judge. */
	if (now->health != SW_NVML_OK) {
		/* A lost GPU that answers again was reset, by hand or by the driver; the XID of
		 * before is answered by that. */
		c->xid = 0; /* from now on its readings say whether it was reset */
		(void)snprintf(c->why, sizeof c->why, "%s: NVML says: %s",
			       now->health == SW_NVML_LOST ? "lost" : "cannot be read", now->why);
		return SW_CARD_DOWN;
	}
	if (c->xid != 0) {
		/* The driver's own word counts more than the catalogue's. */
		const unsigned need = now->need != 0 ? now->need : sw_xid_need(c->xid);

		(void)snprintf(c->why, sizeof c->why, "lost: XID %u: %s%s", c->xid,
			       sw_xid_words(c->xid), sw_gpu_need_words(need));
		return SW_CARD_DOWN;
	}
	if (now->need != 0) {
		(void)snprintf(c->why, sizeof c->why, "%sits driver asks for help%s",
			       sw_gpu_need_is_loss(now->need) ? "lost: " : "",
			       sw_gpu_need_words(now->need));
		return SW_CARD_DOWN;
	}
	if (now->ecc >= 0) /* a reading without the count says nothing of the errors */
		c->ecc = now->ecc;
	/* The count begins anew when the driver is loaded. */
	if (c->ecc_first < 0 || c->ecc < c->ecc_first)
		/* Errors of before the daemon's start are no news: the person who started it has
		 * seen that the GPU works. */
		c->ecc_first = c->ecc;
	if (c->ecc > c->ecc_first) {
		(void)snprintf(c->why, sizeof c->why,
			       "%lld uncorrected ECC errors since the start%s",
			       (long long)(c->ecc - c->ecc_first),
			       sw_gpu_need_words(SW_GPU_NEED_DRAIN_AND_RESET));
		return SW_CARD_DOWN;
	}
	const bool hot = judge_heat(c); /* always: it remembers */
	const enum sw_card_state state = judge_freeing(c, s, now_us, free_us);
	if (state != SW_CARD_OK)
		return state;
	/* Less is what a desktop or a monitoring program has. */
	if (s->strangers > SW_CARD_SMALL) {
		say_strangers(c, s);
		return SW_CARD_HELD;
	}
	if (!hot)
		return SW_CARD_OK;
	(void)snprintf(c->why, sizeof c->why, "%d C: it slows down at %d C%s", (int)now->temp,
		       (int)now->slowdown, now->throttled ? ", and does" : "");
	return SW_CARD_HOT;
}

bool sw_card_take(struct sw_card *c, const struct sw_nvml_card *reading,
		  const struct sw_card_ours *ours, int64_t now_us, int64_t free_us)
{
	const enum sw_card_state before = c->state;
	const struct sw_nvml_card last = c->now;
	struct sums s;

	c->now = *reading;
	if (c->now.uuid[0] == '\0') { /* one that is lost does not say who it is */
		memcpy(c->now.uuid, last.uuid, sizeof c->now.uuid);
		memcpy(c->now.name, last.name, sizeof c->now.name);
		memcpy(c->now.bus, last.bus, sizeof c->now.bus);
	}
	if (last.need != 0 && c->now.need == 0)
		c->xid = 0; /* the driver has taken back what it asked for */
	for (size_t i = 0; i < c->now.xid_n; i++)
		if (sw_gpu_need_is_loss(sw_xid_need(c->now.xid[i])))
			c->xid = c->now.xid[i];
	/* Before the judgement, which asks for its sums, and for every state: a trial is charged by
	 * c->ours even while the GPU is hot. */
	sum_memory(c, ours, &s);
	c->ours = s.ours;
	if (ours->hidden && ours->here > 0 && c->now.proc_n == 0 && s.rest > c->rest)
		c->ours = s.rest - c->rest; /* NVML names no process: what came with ours */
	c->strangers = s.strangers;
	c->taken_us = now_us;
	/* Memory that no process has while none of ours runs is the driver's own; a worker's
	 * memory that is on its way back must not count as that. */
	if (ours->here == 0 && c->freeing_us == 0)
		c->rest = s.rest;
	/* Of a program that runs at the first reading nobody knows what was there before. */
	if (c->now.health == SW_NVML_OK &&
	    (c->level < 0 || (!ours->programs && c->freeing_us == 0)))
		c->level = s.rest + (ours->programs ? 0 : s.programs);
	c->state = judge_reading(c, &s, now_us, free_us);
	return c->state != before;
}

bool sw_card_is_lost(const struct sw_card *c)
{
	return c->now.health == SW_NVML_LOST || c->xid != 0 || sw_gpu_need_is_loss(c->now.need);
}

bool sw_card_silent(struct sw_card *c, const char *why)
{
	const bool changed = c->state != SW_CARD_DOWN;

	c->state = SW_CARD_DOWN;
	(void)snprintf(c->why, sizeof c->why, "%s", why);
	return changed;
}

static void await_memory(struct sw_card *c, const char *who, int64_t now_us)
{
	c->freeing_us = now_us;
	/* The fault that it has stays the reason. */
	if (c->state == SW_CARD_DOWN)
		return;
	c->state = SW_CARD_FREEING;
	(void)snprintf(c->why, sizeof c->why, "the memory of its last %s is not yet looked at",
		       who);
}

void sw_card_worker_ended(struct sw_card *c, int64_t session, int64_t now_us)
{
	/* Without an earlier reading the next has nothing to be compared with. */
	if (c->state == SW_CARD_UNKNOWN)
		return;
	c->dead = session;
	c->program = false;
	await_memory(c, "worker", now_us);
}

void sw_card_program_ended(struct sw_card *c, int64_t now_us)
{
	/* As above; or a worker's memory is awaited, that of its programs with it. */
	if (c->level < 0 || c->freeing_us != 0)
		return;
	c->program = true;
	await_memory(c, "program", now_us);
}
