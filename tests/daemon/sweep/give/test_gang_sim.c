/*
 * tests/daemon/sweep/give/test_gang_sim.c — sweeps whose trials take one slot or several, on a few
 * slots that come and go, on virtual time: 1,000 seeds.
 *
 * Real are the state machines of the sweeps (with promote and populations among them), the room on
 * the slots (daemon/slot/room.h) and who gets one (daemon/sweep/give/claim.h); the world around
 * them is a list of moments. Always true:
 *
 *   all or none   a trial that runs has all its slots, and a slot has one trial
 *   no deadlock   if nothing runs, no sweep has work that the free slots are enough for
 *   no idling     a slot is free beside such work only while it is kept for another sweep
 *   kept briefly  slots are kept for a sweep no longer than the longest trial of each takes, unless
 *   one was
 *                 lost meanwhile
 *   no starving   a sweep whose trials fit on the slots that are up begins one within `bound`
 */
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/give/claim.h"
#include "daemon/sweep/running.h"
#include "sched/space/space.h"
#include "sched/sweep/sweep.h"
#include "tests/run.h"

#define SEEDS      1000
#define A_CASE     50 /* seeds in one test */
#define SLOTS      8
#define SWEEPS     5
#define RESERVE_US ((int64_t)5 * 1000000)
#define STEPS      4

static uint64_t rng;

static uint64_t draw(uint64_t n)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15U;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return (z ^ (z >> 31)) % n;
}

struct sim_sweep {
	struct sw_sweep *sched;
	struct sw_share share;
	struct sw_room_need need;
	unsigned takes;
	int64_t step_us;               /* of its trials, about */
	int64_t short_us, reserved_us; /* as in struct sw_running */
	int64_t waits_us; /* since when it has work that would fit, and began none; -1 */
	bool disturbed;   /* a trial or a slot was lost while slots were kept for it */
};

/* The trial of a slot that leads, and what becomes of the slot. */
struct sim_slot {
	struct sim_sweep *of;
	uint64_t trial, seq, step;
	uint32_t attempt;
	int64_t began_us, next_us; /* of its next report; INT64_MAX: none */
	int64_t up_us;             /* a slot that is down comes back; INT64_MAX: it is up */
};

static const struct sw_device_kind cpu = {.several = true};

static struct {
	struct sw_daemon d;
	struct sw_slot slot[SLOTS];
	struct sw_worker worker[SLOTS];
	struct sim_slot run[SLOTS];
	struct sim_sweep sweep[SWEEPS];
	size_t sweep_n;
	struct sw_actions actions;
	int64_t now_us, bound_us, longest_us; /* longest: an attempt */
	bool loses;
} w;

static int64_t most_wait_us, most_reserved_us;
static uint64_t begun_n;

/* --- sweeps --- */

static struct sw_sweep *make_sched(enum sw_pruner_kind kind, uint64_t cap)
{
	static const struct sw_param param = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	struct sw_sweep_config c = {.seed = draw(UINT64_MAX),
				    .sampler = SW_SAMPLER_RANDOM,
				    .pruner = {.kind = kind,
					       .asha = {.grace_period = 1,
							.max_t = STEPS,
							.reduction_factor = 2,
							.brackets = 1,
							.min_results = 1},
					       .pbt = {.perturbation_interval = 2,
						       .quantile_fraction = .25,
						       .resample_probability = .25,
						       .factor = {1.2, .8},
						       .factor_n = 2,
						       .last_step = STEPS}},
				    .run_cap = cap,
				    .retries = 1000};
	struct sw_err err = SW_ERR_INIT;
	struct sw_space *space;
	struct sw_sweep *s;

	ck_assert_int_eq(sw_space_create(&space), SW_OK);
	ck_assert_int_eq(sw_space_add(space, &param, &err), SW_OK);
	ck_assert_msg(sw_sweep_create(&s, &c, space, &err) == SW_OK, "%s", err.msg);
	return s;
}

static void add_sweep(unsigned takes, uint64_t cap, int64_t step_us)
{
	static const enum sw_pruner_kind kinds[] = {SW_PRUNER_NONE, SW_PRUNER_PROMOTE,
						    SW_PRUNER_PBT};
	struct sim_sweep *s = &w.sweep[w.sweep_n++];
	const enum sw_pruner_kind kind = kinds[draw(3)];

	*s = (struct sim_sweep){
		.sched = make_sched(kind, kind == SW_PRUNER_PBT && cap > 20 ? 20 : cap),
		.share = {.weight = 1},
		.need = {.gpu = -1, .cpu_slots = takes},
		.takes = takes,
		.step_us = step_us,
		.waits_us = -1};
	if (2 * s->step_us * STEPS > w.longest_us)
		w.longest_us = 2 * s->step_us * STEPS;
}

static int64_t some_step_us(void)
{
	static const int64_t about[] = {50000, 1000000, 20000000};

	return about[draw(3)] * (1 + (int64_t)draw(3));
}

static void make_world(uint64_t seed)
{
	unsigned slots;

	rng = seed;
	memset(&w, 0, sizeof w);
	w.now_us = 1;
	switch (seed % 4) {
	case 0: /* gangs of 2 on 3 slots, alone and beside single trials */
		slots = 3;
		add_sweep(2, 20, some_step_us());
		if (draw(3) > 0)
			add_sweep(1, 60, some_step_us());
		break;
	case 1: /* gangs of 4 among 100 single trials */
		slots = 4 + (unsigned)draw(4);
		add_sweep(4, 6, some_step_us());
		add_sweep(1, 100, some_step_us());
		break;
	case 2: /* gangs of different sizes */
		slots = 4 + (unsigned)draw(5);
		for (unsigned k = 0; k < 3; k++)
			add_sweep(2 + (unsigned)draw(slots - 1), 12, some_step_us());
		break;
	default: /* anything */
		slots = 2 + (unsigned)draw(7);
		for (uint64_t n = 2 + draw(SWEEPS - 1); n > 0; n--)
			add_sweep(1 + (unsigned)draw(slots), 5 + draw(30), some_step_us());
	}
	w.loses = draw(2) == 0;
	w.d = (struct sw_daemon){
		.slot = {.slots = w.slot, .slot_n = slots, .workers = w.worker, .worker_n = slots}};
	for (unsigned k = 0; k < slots; k++) {
		w.worker[k] = (struct sw_worker){.slots = &w.slot[k], .slot_n = 1};
		w.slot[k] = (struct sw_slot){
			.d = &w.d,
			.worker = &w.worker[k],
			.index = (int32_t)k,
			.device = {.kind = &cpu, .lanes = 1, .index = k, .cores = 1},
			.state = SW_SLOT_IDLE,
			.holder = -1};
		w.run[k] = (struct sim_slot){.next_us = INT64_MAX, .up_us = INT64_MAX};
	}
	/* Before it is its turn each other sweep may have been served as much; in its turn it
	 * waits for reserve_us and for the longest trial that runs. */
	w.bound_us = 2 * (int64_t)w.sweep_n * (RESERVE_US + w.longest_us);
}

/* --- the daemon's part, as daemon/sweep/give/place.c has it --- */

static enum sw_claim_room room_of(void *who, void *user)
{
	const struct sim_sweep *s = who;

	switch (sw_room_for(user, &s->need)) {
	case SW_ROOM_YES:
		return SW_CLAIM_FITS;
	case SW_ROOM_LANES:
		return SW_CLAIM_SHORT;
	default:
		return SW_CLAIM_OTHER;
	}
}

static void begin(struct sim_sweep *s, struct sw_slot *slot)
{
	const struct sw_event ask = {.kind = SW_EVENT_ASK};
	struct sim_slot *run = &w.run[slot->index];
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_sweep_step(s->sched, &ask, &w.actions, &err) == SW_OK, "%s", err.msg);
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct sw_action *a = &w.actions.v[i];

		if (a->kind == SW_ACTION_START)
			*run = (struct sim_slot){.of = s,
						 .trial = a->trial,
						 .attempt = a->attempt,
						 .step = a->resume_step,
						 .up_us = INT64_MAX};
	}
	run->began_us = w.now_us;
	run->next_us = w.now_us + s->step_us + (int64_t)draw((uint64_t)s->step_us);
	slot->state = SW_SLOT_BUSY;
	sw_room_take(slot, &s->need);
	s->share.running++;
	if (s->waits_us >= 0 && w.now_us - s->waits_us > most_wait_us)
		most_wait_us = w.now_us - s->waits_us;
	if (s->reserved_us != 0 && !s->disturbed && w.now_us - s->reserved_us > most_reserved_us)
		most_reserved_us = w.now_us - s->reserved_us;
	s->short_us = s->reserved_us = 0;
	s->disturbed = false;
	s->waits_us = -1;
	begun_n++;
}

static bool feed(struct sw_slot *slot)
{
	struct sw_claim claim[SWEEPS];
	size_t n = 0;
	void *kept;

	if (!sw_room_is_free(slot))
		return false;
	for (size_t i = 0; i < w.sweep_n; i++) {
		struct sim_sweep *s = &w.sweep[i];

		if (sw_sweep_has_work(s->sched) && sw_room_takes(slot, &s->need) > 0)
			claim[n++] = (struct sw_claim){s, s->share, &s->short_us};
	}
	struct sim_sweep *s = sw_claim_pick(claim, n, room_of, slot, w.now_us, RESERVE_US, &kept);
	slot->worker->reserved_for = 0;
	if (kept != NULL) {
		struct sim_sweep *k = kept;

		slot->worker->reserved_for = 1 + (k - w.sweep);
		ck_assert_msg(w.now_us - k->short_us >= RESERVE_US, "slots are kept too soon");
		if (k->reserved_us == 0)
			k->reserved_us = w.now_us;
	}
	if (s == NULL)
		return false;
	begin(s, slot);
	return true;
}

/* --- what is always true --- */

static unsigned count_slots(enum sw_slot_state state)
{
	unsigned n = 0;

	for (size_t k = 0; k < w.d.slot.slot_n; k++)
		n += state == SW_SLOT_IDLE ? sw_room_is_free(&w.slot[k]) : w.slot[k].state == state;
	return n;
}

static void check_slots(void)
{
	for (size_t k = 0; k < w.d.slot.slot_n; k++) {
		const struct sw_slot *s = &w.slot[k];
		unsigned has = 1;

		if (s->holder >= 0)
			ck_assert_msg(s->state != SW_SLOT_BUSY &&
					      w.slot[s->holder].state == SW_SLOT_BUSY,
				      "slot %zu is held by %d", k, s->holder);
		if (s->state != SW_SLOT_BUSY)
			continue;
		for (size_t i = 0; i < w.d.slot.slot_n; i++)
			has += w.slot[i].holder == (int32_t)k;
		ck_assert_msg(has == w.run[k].of->takes, "a trial of %u slots has %u",
			      w.run[k].of->takes, has);
	}
}

static void check_progress(void)
{
	const unsigned free = count_slots(SW_SLOT_IDLE), busy = count_slots(SW_SLOT_BUSY);
	const unsigned up = (unsigned)w.d.slot.slot_n - count_slots(SW_SLOT_DOWN);
	bool kept = false;

	for (size_t k = 0; k < w.d.slot.slot_n; k++)
		kept = kept || (sw_room_is_free(&w.slot[k]) && w.worker[k].reserved_for != 0);
	for (size_t i = 0; i < w.sweep_n; i++) {
		struct sim_sweep *s = &w.sweep[i];
		const bool work = sw_sweep_has_work(s->sched);

		ck_assert_msg(!work || s->takes > free || busy > 0, "nothing runs: deadlock");
		ck_assert_msg(!work || s->takes > free || kept,
			      "%u slots are free, and sweep %zu waits for %u", free, i + 1,
			      s->takes);
		/* While too few slots are up nobody promises anything. */
		if (!work || s->takes > up)
			s->waits_us = -1;
		else if (s->waits_us < 0)
			s->waits_us = w.now_us;
		ck_assert_msg(s->waits_us < 0 || w.now_us - s->waits_us <= w.bound_us,
			      "sweep %zu has waited for %.1f s for %u of %zu slots", i + 1,
			      (double)(w.now_us - s->waits_us) / 1e6, s->takes, w.d.slot.slot_n);
		ck_assert_msg(s->reserved_us == 0 || s->disturbed ||
				      w.now_us - s->reserved_us <=
					      (int64_t)w.sweep_n * w.longest_us,
			      "slots are kept for sweep %zu for %.1f s", i + 1,
			      (double)(w.now_us - s->reserved_us) / 1e6);
	}
}

/* --- the world --- */

/* The slot's attempt is over: its slots are free. */
static void leave(struct sw_slot *slot)
{
	struct sim_slot *run = &w.run[slot->index];

	run->of->share.running--;
	sw_running_account(&run->of->share, w.now_us - run->began_us, slot->lanes_used);
	slot->state = SW_SLOT_IDLE;
	sw_room_leave(slot);
	run->next_us = INT64_MAX;
}

static void step_sched(struct sim_sweep *s, const struct sw_event *e)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_sweep_step(s->sched, e, &w.actions, &err) == SW_OK, "%s", err.msg);
	/* A population ends members that wait or run elsewhere. */
	for (size_t i = 0; i < w.actions.n; i++)
		for (size_t k = 0; k < w.d.slot.slot_n; k++)
			if (w.actions.v[i].kind == SW_ACTION_STOP &&
			    w.slot[k].state == SW_SLOT_BUSY && w.run[k].of == s &&
			    w.run[k].trial == w.actions.v[i].trial)
				leave(&w.slot[k]);
}

static bool is_over(const struct sim_sweep *s, uint64_t trial)
{
	return sw_sweep_trial(s->sched, trial)->state != SW_TRIAL_RUNNING;
}

static void report(struct sw_slot *slot)
{
	struct sim_slot *run = &w.run[slot->index];
	struct sim_sweep *s = run->of;
	const uint64_t trial = run->trial;
	const struct sw_event said = {.kind = SW_EVENT_REPORT,
				      .trial = trial,
				      .attempt = run->attempt,
				      .seq = ++run->seq,
				      .step = ++run->step,
				      .has_value = true,
				      .checkpoint = true,
				      .value = (double)draw(1000)};
	const struct sw_event end = {.kind = SW_EVENT_TELL,
				     .trial = trial,
				     .attempt = run->attempt,
				     .end = SW_TRIAL_COMPLETED};

	run->next_us = w.now_us + s->step_us;
	step_sched(s, &said);
	if (!is_over(s, trial) && run->step >= STEPS)
		step_sched(s, &end);
	if (is_over(s, trial) && slot->state == SW_SLOT_BUSY && run->trial == trial)
		leave(slot);
}

/* The slot goes away for a while, and the trial that has it goes on elsewhere. */
static void lose_slot(struct sw_slot *slot)
{
	struct sw_slot *lead = slot->holder >= 0 ? &w.slot[slot->holder] : slot;

	if (slot->state == SW_SLOT_DOWN)
		return;
	if (lead->state == SW_SLOT_BUSY) {
		const struct sim_slot run = w.run[lead->index];
		const struct sw_event lost = {
			.kind = SW_EVENT_RELEASE, .trial = run.trial, .attempt = run.attempt};

		leave(lead);
		step_sched(run.of, &lost);
	}
	slot->state = SW_SLOT_DOWN;
	w.run[slot->index].up_us = w.now_us + 1 + (int64_t)draw(30000000);
	for (size_t i = 0; i < w.sweep_n; i++)
		w.sweep[i].disturbed = w.sweep[i].reserved_us != 0;
}

/* The slot at which something happens next; NULL: nothing does any more. */
static struct sw_slot *next_moment(void)
{
	struct sw_slot *best = NULL;
	int64_t at = INT64_MAX;

	for (size_t k = 0; k < w.d.slot.slot_n; k++) {
		const struct sim_slot *r = &w.run[k];
		const int64_t t = r->next_us < r->up_us ? r->next_us : r->up_us;

		if (t < at) {
			at = t;
			best = &w.slot[k];
		}
	}
	if (best != NULL)
		w.now_us = at;
	return best;
}

static void run_world(uint64_t seed)
{
	struct sw_slot *s;

	make_world(seed);
	do {
		for (bool moved = true; moved;) {
			moved = false;
			for (size_t k = 0; k < w.d.slot.slot_n; k++)
				moved = feed(&w.slot[k]) || moved;
		}
		check_slots();
		check_progress();
		s = next_moment();
		if (s == NULL)
			break;
		if (s->state == SW_SLOT_DOWN) {
			s->state = SW_SLOT_IDLE;
			w.run[s->index].up_us = INT64_MAX;
		} else if (w.loses && draw(40) == 0) {
			lose_slot(&w.slot[draw(w.d.slot.slot_n)]);
		} else {
			report(s);
		}
	} while (true);
	for (size_t i = 0; i < w.sweep_n; i++) {
		ck_assert_msg(sw_sweep_state(w.sweep[i].sched) == SW_SWEEP_COMPLETED,
			      "sweep %zu is not at its end", i + 1);
		sw_sweep_destroy(w.sweep[i].sched);
	}
	sw_actions_fini(&w.actions);
}

TEST_LOOP(gang_seed_runs_to_its_end, 0, SEEDS / A_CASE)
{
	for (uint64_t seed = (uint64_t)_i * A_CASE; seed < (uint64_t)(_i + 1) * A_CASE; seed++)
		run_world(seed);
	printf("seeds %d..%d: %llu attempts, longest wait %.1f s, slots kept for %.1f s at most\n",
	       _i * A_CASE, (_i + 1) * A_CASE - 1, (unsigned long long)begun_n,
	       (double)most_wait_us / 1e6, (double)most_reserved_us / 1e6);
}

RUN_TESTS(NULL, NULL)
