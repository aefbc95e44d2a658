/* tests/daemon/slot/test_room.c — which trial finds room on a slot: lanes, bytes, and the lanes
 * that it then has. */
#include "base/gpu.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "tests/run.h"

#define LANES 4
#define OWN   (SW_GPU_CONTEXT_BYTES + SW_GPU_STAYS_BYTES) /* bytes of a GPU that no trial has */

/* gpu:0 of some lanes, and gpu:1 of one, which is free. */
static struct sw_slot slots[LANES + 1];
static struct sw_worker workers[2];
static struct sw_gpus gpus;
static struct sw_daemon d;
static const struct sw_device_kind kind_gpu = {.gpu = true, .several = true, .watched = true},
				   kind_part = {.gpu = true, .watched = true},
				   kind_cpu = {.several = true}, kind_pilot = {.away = true};

/* state: a letter for each lane of gpu:0: i idle, b busy with 300 bytes, h held by a busy one, s
 * starting. */
static void make_machine(const char *state)
{
	const unsigned n = (unsigned)strlen(state);

	d = (struct sw_daemon){.slot = {.slots = slots,
					.slot_n = n + 1,
					.workers = workers,
					.worker_n = 2,
					.gpus = &gpus}};
	/* never asked: it only has to be there */
	gpus = (struct sw_gpus){.poll = (struct sw_card_poll *)&gpus};
	for (unsigned i = 0; i < 2; i++) {
		gpus.card[i].state = SW_CARD_OK;
		gpus.card[i].now.total = OWN + 1000;
	}
	workers[0] = (struct sw_worker){.slots = &slots[0], .slot_n = n};
	workers[1] = (struct sw_worker){.slots = &slots[n], .slot_n = 1};
	for (unsigned i = 0; i <= n; i++)
		slots[i] = (struct sw_slot){
			.d = &d,
			.worker = &workers[i == n],
			.index = (int32_t)i,
			.device = {.kind = &kind_gpu, .index = i == n, .lanes = i == n ? 1 : n},
			.state = i == n || strchr("ih", state[i]) != NULL ? SW_SLOT_IDLE
				 : state[i] == 'b'                        ? SW_SLOT_BUSY
									  : SW_SLOT_STARTING,
			.bytes = i < n && state[i] == 'b' ? 300 : 0,
			.holder = i < n && state[i] == 'h' ? 1 : -1,
		};
}

static enum sw_room room_for(double gpu, int64_t bytes)
{
	return sw_room_for(&slots[0], &(struct sw_room_need){.gpu = gpu, .bytes = bytes});
}

static const struct {
	const char *state; /* of gpu:0; its first lane is asked */
	double gpu;
	int64_t bytes;
	unsigned solo;
	int64_t strangers;         /* bytes on gpu:0 */
	enum sw_card_state second; /* gpu:1 */
	int64_t second_total;
	bool gpu_memory; /* --gpu-memory */
	enum sw_room room;
} asked[] = {
	{"i", 0, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	/* lanes */
	{"ibbb", 0, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	{"ibbb", .5, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_LANES},
	{"iibb", .5, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	{"ibih", 1, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_LANES},
	{"isbb", .5, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_LANES},
	{"iiii", 1, 0, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	/* alone, to find out which of them ended the worker */
	{"iibi", 0, 0, 2, 0, SW_CARD_OK, 1000, false, SW_ROOM_ALONE},
	{"iiii", 0, 0, 2, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	/* bytes beside others */
	{"ibbi", 0, 400, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	{"ibbi", 0, 401, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_BYTES},
	{"ibbi", 0, 401, 0, 0, SW_CARD_OK, 1000, true, SW_ROOM_YES},
	{"ibbi", 0, 350, 0, 100, SW_CARD_OK, 1000, false, SW_ROOM_BYTES},
	{"ibbi", 0, 0, 0, 900, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	/* more than the GPU has */
	{"i", 0, 1001, 0, 0, SW_CARD_OK, 1000, false, SW_ROOM_YES},
	{"i", 0, 1001, 0, 0, SW_CARD_OK, 2000, false, SW_ROOM_LARGER},
	{"i", 0, 1001, 0, 0, SW_CARD_HOT, 2000, false, SW_ROOM_LARGER},
	{"i", 0, 1001, 0, 0, SW_CARD_DOWN, 2000, false, SW_ROOM_YES},
	{"i", 0, 1001, 0, 0, SW_CARD_HELD, 2000, false, SW_ROOM_YES},
	{"i", 0, 950, 0, 100, SW_CARD_OK, 1000, false, SW_ROOM_LARGER},
};

TEST_ROWS(room_row_is_found_or_said_why_not, asked)
{
	make_machine(asked[_i].state);
	workers[0].solo = asked[_i].solo;
	gpus.card[0].strangers = asked[_i].strangers;
	gpus.card[1].state = asked[_i].second;
	gpus.card[1].now.total = OWN + asked[_i].second_total;
	d.config.gpu_memory = asked[_i].gpu_memory ? 250 : 0;
	ck_assert_int_eq(room_for(asked[_i].gpu, asked[_i].bytes), asked[_i].room);
}

/* Two trials of 300 bytes, 100 of them their data sets', and of these sweeps; asked for 400 with as
 * many of its data set, of 1000 that the GPU has. */
static const struct {
	int64_t of[2], sweep, data_bytes, most;
} sharing[] = {
	{{1, 2}, 3, 100, 400},                      /* three data sets */
	{{1, 2}, 2, 100, 500},                      /* its own lies there */
	{{1, 1}, 3, 100, 500},                      /* those two share one */
	{{1, 1}, 1, 100, 600}, {{1, 1}, 1, 0, 500}, /* how much of it is data is not known */
};

TEST_ROWS(room_is_taken_by_a_data_set_once, sharing)
{
	struct sw_room_need need = {.sweep = sharing[_i].sweep,
				    .data_bytes = sharing[_i].data_bytes,
				    .bytes = sharing[_i].most};

	make_machine("ibbi");
	for (int k = 0; k < 2; k++) {
		slots[1 + k].sweep = sharing[_i].of[k];
		slots[1 + k].data_bytes = 100;
	}
	ck_assert_int_eq(sw_room_for(&slots[0], &need), SW_ROOM_YES);
	need.bytes++;
	ck_assert_int_eq(sw_room_for(&slots[0], &need), SW_ROOM_BYTES);
}

/* _i: GiB of the GPU. A worker has its context once, however many its lanes; of a large GPU a
 * fiftieth stays free. */
TEST_LOOP(room_is_not_in_what_cuda_has_for_itself, 1, 26)
{
	const int64_t total = (int64_t)_i << 30;
	const int64_t own = SW_GPU_CONTEXT_BYTES + (_i < 13 ? SW_GPU_STAYS_BYTES : total / 50);

	make_machine("ibbi");
	gpus.card[0].now.total = gpus.card[1].now.total = total;
	ck_assert_int_eq(room_for(0, total - own - 600), SW_ROOM_YES);
	ck_assert_int_eq(room_for(0, total - own - 599), SW_ROOM_BYTES);
}

TEST(room_for_a_larger_gpu_is_not_awaited_when_its_worker_ends_early_again)
{
	make_machine("i");
	gpus.card[1].now.total = OWN + 2000;
	workers[1].early = SW_WORKER_EARLY_MAX;
	ck_assert_int_eq(room_for(0, 1500), SW_ROOM_LARGER);
	workers[1].early++;
	ck_assert_int_eq(room_for(0, 1500), SW_ROOM_YES);
}

/* Two GPUs for one trial, whose slot is the first of gpu:0. */
static const struct {
	const char *state; /* of gpu:0 */
	enum sw_card_state second;
	bool part, busy; /* gpu:1 */
	unsigned gpus, takes;
	enum sw_room room;
} whole[] = {
	{"ii", SW_CARD_OK, false, false, 2, 2, SW_ROOM_YES},
	{"ib", SW_CARD_OK, false, false, 2, 2, SW_ROOM_LANES},
	{"ii", SW_CARD_OK, false, true, 2, 2, SW_ROOM_LANES},
	{"ii", SW_CARD_HOT, false, false, 2, 2, SW_ROOM_LANES},
	{"ii", SW_CARD_FREEING, false, false, 2, 2, SW_ROOM_LANES},
	{"ii", SW_CARD_HELD, false, false, 2, 2, SW_ROOM_DOWN},
	{"ii", SW_CARD_DOWN, false, false, 2, 2, SW_ROOM_DOWN},
	{"ii", SW_CARD_OK, true, false, 2, 0, SW_ROOM_DOWN},
	{"ii", SW_CARD_OK, false, false, 3, 0, SW_ROOM_DOWN},
};

TEST_ROWS(room_of_several_gpus_is_all_their_lanes_or_none, whole)
{
	const struct sw_room_need need = {.gpu = whole[_i].gpus, .gpus = whole[_i].gpus};
	const bool begins = whole[_i].room == SW_ROOM_YES;

	make_machine(whole[_i].state);
	gpus.card[1].state = whole[_i].second;
	if (whole[_i].part)
		slots[2].device.kind = &kind_part;
	if (whole[_i].busy)
		slots[2].state = SW_SLOT_BUSY;
	ck_assert_uint_eq(sw_room_takes(&slots[0], &need), whole[_i].takes);
	ck_assert_int_eq(sw_room_for(&slots[0], &need), whole[_i].room);
	if (!begins)
		return;
	slots[0].state = SW_SLOT_BUSY;
	sw_room_take(&slots[0], &need);
	ck_assert_uint_eq(slots[0].lanes_used, 3);
	ck_assert(slots[0].holder < 0 && slots[1].holder == 0 && slots[2].holder == 0);
	ck_assert(sw_room_has(&slots[0], &workers[0]) && sw_room_has(&slots[0], &workers[1]));
	sw_room_leave(&slots[0]);
	ck_assert(slots[1].holder < 0 && slots[2].holder < 0);
	ck_assert(!sw_room_has(&slots[0], &workers[1]));
}

static const struct {
	bool gpu;
	int capability;
	unsigned takes;
} precise[] = {{true, 90, 1}, {true, 80, 1}, {true, 75, 0}, {true, 0, 1}, {false, 0, 0}};

TEST_ROWS(room_for_tf32_and_bf16_is_on_gpus_that_may_have_it, precise)
{
	make_machine("i");
	slots[0].device.kind = precise[_i].gpu ? &kind_gpu : &kind_cpu;
	slots[0].device.capability = precise[_i].capability;
	ck_assert_uint_eq(sw_room_takes(&slots[0], &(struct sw_room_need){.precision = true}),
			  precise[_i].takes);
	ck_assert_uint_eq(sw_room_takes(&slots[0], &(struct sw_room_need){.bytes = 1}), 1);
}

TEST(room_on_a_cpu_slot_is_for_every_trial)
{
	make_machine("i");
	slots[0].device = (struct sw_device){.kind = &kind_cpu, .lanes = 1};
	ck_assert_int_eq(room_for(0, INT64_MAX), SW_ROOM_YES);
}

static const struct {
	const char *state;
	double gpu;
	int32_t holder[LANES]; /* after the trial of the second lane took its own */
	unsigned used;
} taken[] = {
	{"ibii", 0, {-1, -1, -1, -1}, 1},
	{"ibii", .5, {1, -1, -1, -1}, 2},
	{"bbii", .75, {-1, -1, 1, 1}, 3},
	/* lanes of a worker that was just found again are the trial's own, too */
	{"sbss", 1, {1, -1, 1, 1}, 4},
	{"bbib", 1, {-1, -1, 1, -1}, 2},
};

TEST_ROWS(room_row_is_taken_with_the_next_free_lanes, taken)
{
	make_machine(taken[_i].state);
	sw_room_take(&slots[1], &(struct sw_room_need){.gpu = taken[_i].gpu, .bytes = 77});
	ck_assert_int_eq(slots[1].bytes, 77);
	ck_assert_uint_eq(slots[1].lanes_used, taken[_i].used);
	for (size_t k = 0; k < LANES; k++)
		ck_assert_msg(slots[k].holder == taken[_i].holder[k], "lane %zu is held by %d", k,
			      slots[k].holder);
	ck_assert_int_eq(slots[LANES].holder, -1);
}

/* The same machine as CPU slots of 2 cores each, the last one busy. */
static void make_cpus(const char *state)
{
	make_machine(state);
	for (unsigned i = 0; i < d.slot.slot_n; i++) {
		slots[i].worker = &workers[1];
		slots[i].device =
			(struct sw_device){.kind = &kind_cpu, .lanes = 1, .index = i, .cores = 2};
	}
	slots[d.slot.slot_n - 1].state = SW_SLOT_BUSY;
}

static const struct {
	const char *state;
	unsigned cores, cpu_slots, takes;
	enum sw_room room;
	int32_t holder[LANES]; /* after the trial of the second slot took what it takes */
} on_cpus[] = {
	{"iiii", 0, 0, 1, SW_ROOM_YES, {-1, -1, -1, -1}},
	{"iiii", 2, 0, 1, SW_ROOM_YES, {-1, -1, -1, -1}},
	{"iiii", 3, 0, 2, SW_ROOM_YES, {1, -1, -1, -1}},
	{"iibi", 6, 0, 3, SW_ROOM_YES, {1, -1, -1, 1}},
	{"iibb", 5, 0, 3, SW_ROOM_LANES, {1, -1, -1, -1}},
	{"ibbb", 3, 0, 2, SW_ROOM_LANES, {1, -1, -1, -1}},
	{"iiii", 10, 0, 5, SW_ROOM_LANES, {1, -1, 1, 1}},
	{"iiii", 11, 0, 0, SW_ROOM_YES, {-1, -1, -1, -1}}, /* never: not asked */
	{"iiii", 0, 1, 1, SW_ROOM_YES, {-1, -1, -1, -1}},
	{"iibi", 0, 3, 3, SW_ROOM_YES, {1, -1, -1, 1}},
	{"iibb", 1, 3, 3, SW_ROOM_LANES, {1, -1, -1, -1}},
	{"iiii", 0, 6, 0, SW_ROOM_YES, {-1, -1, -1, -1}},
};

TEST_ROWS(room_of_several_cores_is_several_cpu_slots, on_cpus)
{
	const struct sw_room_need need = {.cores = on_cpus[_i].cores,
					  .cpu_slots = on_cpus[_i].cpu_slots};

	make_cpus(on_cpus[_i].state);
	ck_assert_uint_eq(sw_room_takes(&slots[0], &need), on_cpus[_i].takes);
	ck_assert_int_eq(sw_room_for(&slots[0], &need), on_cpus[_i].room);
	slots[1].state = SW_SLOT_BUSY;
	sw_room_take(&slots[1], &need);
	for (size_t k = 0; k < LANES; k++)
		ck_assert_msg(slots[k].holder == on_cpus[_i].holder[k], "slot %zu is held by %d", k,
			      slots[k].holder);
	sw_room_leave(&slots[1]);
	for (size_t k = 0; k < LANES; k++)
		ck_assert_int_eq(slots[k].holder, -1);
}

TEST(room_is_not_awaited_on_cpu_slots_that_are_down)
{
	const struct sw_room_need all = {.cores = 10}, fewer = {.cores = 8};

	make_cpus("iiii");
	ck_assert_int_eq(sw_room_for(&slots[0], &all), SW_ROOM_LANES);
	slots[2].state = SW_SLOT_DOWN;
	ck_assert_int_eq(sw_room_for(&slots[0], &all), SW_ROOM_DOWN);
	ck_assert_int_eq(sw_room_for(&slots[0], &fewer), SW_ROOM_LANES);
}

/* Trials that run on the first slots, by how many each has; others are free, or starting (s). */
static const struct {
	const char *state;
	unsigned used[LANES];
	unsigned wants;
	enum sw_room room;
} ends[] = {
	{"bhbi", {2, 0, 1}, 3, SW_ROOM_LANES}, /* 2 and the one that is kept make 3 */
	{"bhhi", {3}, 3, SW_ROOM_SOON},        /* 3 come at once */
	{"bhhi", {3}, 2, SW_ROOM_SOON},
	{"bhbi", {2, 0, 1}, 2, SW_ROOM_LANES}, /* the third may end first */
	{"bhsi", {2}, 2, SW_ROOM_LANES},       /* the third is soon there */
};

TEST_ROWS(room_is_not_awaited_where_whichever_trial_ends_leaves_enough, ends)
{
	make_cpus(ends[_i].state);
	slots[LANES].state = SW_SLOT_DOWN;
	for (unsigned k = 0; k < LANES; k++) {
		slots[k].lanes_used = ends[_i].used[k];
		slots[k].holder = ends[_i].state[k] == 'h' ? 0 : -1;
	}
	ck_assert_int_eq(
		sw_room_for(&slots[3], &(struct sw_room_need){.cpu_slots = ends[_i].wants}),
		ends[_i].room);
}

static const struct {
	uint64_t wants, has; /* has 0: the slot has no job */
	bool takes, other;
} shapes[] = {
	{0, 7, true, false},
	{7, 7, true, false},
	{8, 7, false, true},
	{8, 0, true, false},
	{SW_ROOM_NO_PILOT, 7, false, true},
	{SW_ROOM_NO_PILOT, 0, false, true},
};

TEST_ROWS(room_on_a_pilot_is_for_the_shape_of_its_job, shapes)
{
	const struct sw_room_need need = {.shape = shapes[_i].wants};
	struct sw_slot *local = &slots[1];

	make_cpus("iiii");
	slots[0].device.kind = &kind_pilot;
	slots[0].worker->shape = shapes[_i].has != 0 ? shapes[_i].has : 7;
	/* never asked: it only has to be there */
	slots[0].worker->proc = shapes[_i].has != 0 ? (struct sw_proc *)&gpus : NULL;
	ck_assert_int_eq(sw_room_takes(&slots[0], &need) > 0, shapes[_i].takes);
	ck_assert_int_eq(sw_room_other_shape(&slots[0], &need), shapes[_i].other);
	ck_assert_uint_gt(sw_room_takes(local, &need), 0);
	ck_assert(!sw_room_other_shape(local, &need));
}

/* A CPU slot and two others, each with a worker of its own: how many a trial may have of them. */
TEST(room_of_several_slots_is_on_those_of_one_kind)
{
	static const struct sw_device_kind other = {.several = true}, alone = {.several = false};
	static const struct {
		const struct sw_device_kind *kind[2];
		unsigned first, last; /* most of its own kind */
	} rows[] = {
		{{&kind_cpu, &kind_cpu}, 3, 3}, {{&kind_cpu, &other}, 2, 1},
		{{&other, &other}, 1, 2},       {{&kind_cpu, &kind_pilot}, 2, 1},
		{{&alone, &alone}, 1, 1},
	};
	struct sw_worker own[3] = {0};

	for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
		make_cpus("ii");
		for (unsigned i = 0; i < 3; i++)
			slots[i].worker = &own[i];
		slots[1].device.kind = rows[r].kind[0];
		slots[2].device.kind = rows[r].kind[1];
		for (unsigned n = 1; n < 5; n++) {
			const struct sw_room_need need = {.cpu_slots = n};

			ck_assert_uint_eq(sw_room_takes(&slots[0], &need),
					  n <= rows[r].first ? n : 0);
			ck_assert_uint_eq(sw_room_takes(&slots[2], &need),
					  n <= rows[r].last ? n : 0);
		}
	}
}

RUN_TESTS(NULL, NULL)
