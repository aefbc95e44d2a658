/* tests/daemon/slot/test_gpus.c — what follows from readings for the slots of a daemon, with the
 * stand-in of tests/fake/nvml.c. */
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/slot.h"
#include "tests/run.h"
#include "tests/walk.h"

#define SLOTS 4 /* gpu:0 of two lanes, gpu:1, cpu:0 */

static char path[64];
static uv_loop_t loop;
static struct sw_daemon d;
static struct sw_slot slots[SLOTS];
static struct sw_worker workers[] = {
	{.slots = &slots[0], .slot_n = 2},
	{.slots = &slots[2], .slot_n = 1},
	{.slots = &slots[3], .slot_n = 1},
};

static void on_async(uv_async_t *handle)
{
	(void)handle;
}

static const struct sw_device_kind gpu = {.gpu = true, .watched = true}, cpu = {.gpu = false};

static void set_up(void)
{
	FILE *f;

	(void)snprintf(path, sizeof path, "/tmp/sw-gpus-%ld", (long)getpid());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs("card uuid=GPU-a total=1000 used=10 temp=50 slow=90\n"
			       "card uuid=GPU-b total=2000 used=10 temp=95 slow=90\n",
			       f),
			 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(setenv("SWEEPD_FAKE_NVML", path, 1), 0);
	ck_assert_int_eq(setenv("SWEEPD_NVML", SW_TEST_NVML, 1), 0);
	ck_assert_int_eq(setenv("SWEEPD_NVML_MS", "3600000,60000,30000", 1), 0);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	d = (struct sw_daemon){
		.loop = &loop,
		.clock = &sw_clock_system,
		.slot = {.slots = slots, .slot_n = SLOTS, .workers = workers, .worker_n = 3}};
	strcpy(d.config.devices, "gpu:0:2,1+cpu:1");
	ck_assert_int_eq(uv_async_init(&loop, &d.slot.gpu_wake, on_async), 0);
	for (int32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct sw_slot){.d = &d, .index = i, .holder = -1};
	slots[0].device = (struct sw_device){.kind = &gpu, .lanes = 2};
	slots[1].device = (struct sw_device){.kind = &gpu, .lanes = 2, .lane = 1};
	slots[2].device = (struct sw_device){.kind = &gpu, .index = 1, .lanes = 1};
	slots[0].worker = slots[1].worker = &workers[0];
	slots[2].worker = &workers[1];
	slots[3].worker = &workers[2];
	slots[3].device = (struct sw_device){.kind = &cpu, .lanes = 1};
}

static void tear_down(void)
{
	sw_gpus_stop(&d);
	sw_gpus_free(&d);
	uv_close((uv_handle_t *)&d.slot.gpu_wake, NULL);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	(void)unlink(path);
}

TEST(gpus_row_says_what_each_slot_may)
{
	static const struct {
		const char *state;
		bool start, begin, card;
	} want[SLOTS] = {{"OK", true, true, true},
			 {"OK", true, true, true},
			 {"HOT", true, false, true},
			 {NULL, true, true, false}};
	struct sw_err err = SW_ERR_INIT;
	const char *why;

	ck_assert_int_eq(sw_gpus_start(&d, &err), SW_OK);
	ck_assert_ptr_nonnull(sw_gpus_view(&d));
	ck_assert(sw_gpus_judge(&d));
	for (size_t i = 0; i < SLOTS; i++) {
		const struct sw_card *c = sw_gpus_card(&d, &slots[i]);

		ck_assert_int_eq(c != NULL, want[i].card);
		if (c != NULL)
			ck_assert_str_eq(sw_card_state_name(c->state), want[i].state);
		ck_assert_int_eq(sw_gpus_may_start(&d, &slots[i], &why), want[i].start);
		ck_assert_int_eq(sw_gpus_may_begin(&d, &slots[i], &why), want[i].begin);
		ck_assert_int_eq(*why != '\0', i == 2);
	}
}

TEST(gpus_without_a_worker_wait_for_a_reading_that_began_since)
{
	struct sw_err err = SW_ERR_INIT;
	const char *why;
	bool failed = true;

	ck_assert_int_eq(sw_gpus_start(&d, &err), SW_OK);
	ck_assert(sw_gpus_judge(&d));
	const int64_t died_us = d.slot.gpus->begun_us;
	ck_assert(!sw_gpus_looked_at(&d, &slots[0], died_us, &failed));
	ck_assert(!failed);
	ck_assert(sw_gpus_looked_at(&d, &slots[0], died_us - 1, &failed));
	sw_gpus_worker_ended(&d, &slots[0], 77);
	ck_assert(!sw_gpus_may_start(&d, &slots[1], &why) && *why != '\0');
	ck_assert(!sw_gpus_may_begin(&d, &slots[1], &why) && *why != '\0');
	ck_assert(sw_gpus_may_start(&d, &slots[3], &why));
	ck_assert(sw_gpus_looked_at(&d, &slots[3], INT64_MAX, &failed)); /* no GPU to look at */
	/* a driver that says nothing any more puts the card down, and then there is nothing to
	 * see */
	sw_gpus_tick(&d, d.slot.gpus->heard_us + (int64_t)3660000 * 1000 - 1);
	ck_assert(!sw_gpus_looked_at(&d, &slots[0], died_us, &failed));
	sw_gpus_tick(&d, d.slot.gpus->heard_us + (int64_t)3660000 * 1000);
	ck_assert(sw_gpus_looked_at(&d, &slots[0], died_us, &failed));
	ck_assert(!failed);
}

#ifdef SW_FAULTS
/* The daemon's own memory and the poller's end the start; NVML's leaves the GPUs unwatched. */
TEST(gpus_without_memory_fail_cleanly_at_each_call)
{
	unsigned unwatched = 0, refused = 0;

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;

		walk_arm();
		const sw_status rc = sw_gpus_start(&d, &err);
		const unsigned fired = walk_disarm();
		if (rc == SW_OK && fired) {
			unwatched++;
			ck_assert_ptr_null(sw_gpus_view(&d));
			ck_assert_int_eq(d.slot.gpus->err.code, SW_NOMEM);
			ck_assert_ptr_null(sw_gpus_card(&d, &slots[0]));
			ck_assert(!sw_gpus_judge(&d));
		} else if (fired) {
			refused++;
			ck_assert_int_eq(rc, SW_NOMEM);
			ck_assert_int_eq(err.code, SW_NOMEM);
		} else {
			ck_assert_int_eq(rc, SW_OK);
			ck_assert_ptr_nonnull(sw_gpus_view(&d));
		}
		sw_gpus_stop(&d);
		sw_gpus_free(&d);
	}
	ck_assert_uint_eq(refused, 2);
	ck_assert_uint_eq(unwatched, 1);
}
#endif

RUN_TESTS(set_up, tear_down)
