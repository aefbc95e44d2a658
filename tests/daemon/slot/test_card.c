/* tests/daemon/slot/test_card.c — what is judged of a GPU, reading by reading. */
#include "daemon/slot/card.h"
#include "daemon/slot/xid.h"
#include "tests/run.h"

#define MIB    ((int64_t)1 << 20)
#define SECOND ((int64_t)1000000)

/* A healthy card of 1000 MiB with nothing on it. */
static struct sw_nvml_card quiet(void)
{
	return (struct sw_nvml_card){.total = 1000 * MIB,
				     .used = 50 * MIB,
				     .free = 950 * MIB,
				     .util = 0,
				     .temp = 40,
				     .slowdown = 90,
				     .power_mw = -1,
				     .limit_mw = -1,
				     .energy_mj = -1,
				     .ecc = 0};
}

static void add(struct sw_nvml_card *card, int64_t pid, int64_t session, int64_t mib, bool compute)
{
	card->proc[card->proc_n++] = (struct sw_nvml_proc){.pid = pid,
							   .session = session,
							   .bytes = mib < 0 ? -1 : mib * MIB,
							   .compute = compute,
							   .name = "other"};
	card->used += (mib < 0 ? 0 : mib) * MIB;
}

static const int64_t worker[] = {70};

static struct sw_card c;

static void begin(void)
{
	sw_card_init(&c);
}

static void take(const struct sw_nvml_card *reading, size_t here, int64_t s)
{
	const struct sw_card_ours ours = {.session = worker, .n = here, .here = here};

	(void)sw_card_take(&c, reading, &ours, s * SECOND, 30 * SECOND);
}

#define IS(want, part)                                                                             \
	do {                                                                                       \
		ck_assert_str_eq(sw_card_state_name(c.state), want);                               \
		ck_assert_msg(strstr(c.why, part) != NULL, "\"%s\" lacks \"%s\"", c.why, part);    \
	} while (0)

TEST(card_of_a_stranger_is_held_until_it_is_gone)
{
	struct sw_nvml_card r = quiet();

	ck_assert_str_eq(sw_card_state_name(c.state), "UNKNOWN");
	add(&r, 9, 9, 255, true);
	take(&r, 0, 1);
	IS("OK", ""); /* little enough */
	r = quiet();
	add(&r, 9, 9, 300, true);
	add(&r, 8, -1, 400, true);
	take(&r, 0, 2);
	IS("HELD", "held by pid 8 (other), 700 MiB, and 1 more");
	ck_assert_int_eq(c.strangers, 700 * MIB);
	r = quiet();
	add(&r, 7, 7, 600, false); /* it draws */
	take(&r, 0, 3);
	IS("OK", "");
	r = quiet();
	add(&r, 6, 6, -1, true); /* how much is not said: what nobody else has */
	r.used = 800 * MIB;
	take(&r, 0, 4);
	IS("HELD", "800 MiB");
	r = quiet();
	take(&r, 0, 5);
	IS("OK", "");
	ck_assert_str_eq(c.why, "");
}

TEST(card_knows_its_own_workers_by_their_session)
{
	struct sw_nvml_card r = quiet();
	struct sw_card_ours hidden = {.session = worker, .n = 1, .here = 1, .hidden = true};

	add(&r, 70, 70, 300, true);
	add(&r, 71, 70, 200, true); /* what the worker started */
	take(&r, 1, 1);
	IS("OK", "");
	ck_assert_int_eq(c.ours, 500 * MIB);
	/* in a container nobody can tell, while a worker runs there */
	r = quiet();
	add(&r, 4711, -1, 500, true);
	(void)sw_card_take(&c, &r, &hidden, 2 * SECOND, SECOND);
	IS("OK", "");
	hidden.here = 0;
	(void)sw_card_take(&c, &r, &hidden, 3 * SECOND, SECOND);
	IS("HELD", "pid 4711");
}

TEST(card_is_given_out_again_when_its_memory_is_back)
{
	struct sw_nvml_card r = quiet(), full = quiet();

	take(&r, 0, 1);
	add(&full, 70, 70, 500, true);
	take(&full, 1, 2);
	sw_card_worker_ended(&c, 70, 3 * SECOND);
	IS("FREEING", "not yet looked at");
	take(&full, 0, 4);
	IS("FREEING", "not back");
	r.used = 900 * MIB; /* the process has gone, its memory has not */
	take(&r, 0, 5);
	IS("FREEING", "not back");
	take(&r, 0, 34);
	IS("DOWN", "31 s after its worker ended 850 MiB are not back, and no process has them");
	take(&full, 0, 35);
	IS("DOWN", "a process of it is left");
	r.unlisted = true; /* it may be a browser's */
	take(&r, 0, 35);
	IS("OK", "");
	sw_card_worker_ended(&c, 70, 35 * SECOND);
	take(&r, 0, 36); /* that is no more than before */
	IS("OK", "");
	r = quiet();
	take(&r, 0, 36);
	IS("OK", "");
	/* what was there before it counts as none of its own */
	r.used = 600 * MIB;
	take(&r, 0, 37);
	sw_card_worker_ended(&c, 70, 38 * SECOND);
	take(&r, 0, 39);
	IS("OK", "");
}

/* A worker of so much and a program of so much, and so much that no process has. */
static struct sw_nvml_card busy(int64_t own, int64_t program, int64_t rest)
{
	struct sw_nvml_card r = quiet();

	add(&r, 70, 70, own, true);
	if (program > 0)
		add(&r, 71, 70, program, true);
	r.used += rest * MIB;
	return r;
}

TEST(card_after_a_program_waits_for_its_memory_and_not_for_its_workers)
{
	struct sw_card_ours ours = {.session = worker, .n = 1, .here = 1, .programs = true};
	struct sw_nvml_card r = busy(0, 800, 0), none = {.health = SW_NVML_SILENT, .ecc = -1};

	sw_card_program_ended(&c, 0);
	ck_assert_str_eq(sw_card_state_name(c.state), "UNKNOWN"); /* nothing to compare with */
	/* a daemon that finds a program there knows what is not that program's */
	(void)sw_card_take(&c, &r, &ours, 1 * SECOND, 30 * SECOND);
	IS("OK", "");
	take(&none, 1, 2); /* says nothing of memory */
	sw_card_program_ended(&c, 2 * SECOND);
	take(&r, 1, 3);
	IS("FREEING", "the memory of its last program is not back");
	r = busy(600, 255, 0); /* the worker has opened the GPU meanwhile */
	take(&r, 1, 4);
	IS("OK", "");
	/* what is there before the next program is not that one's */
	take(&r, 1, 5);
	sw_card_program_ended(&c, 6 * SECOND);
	IS("FREEING", "the memory of its last program is not yet looked at");
	r = busy(600, 511, 0);
	take(&r, 1, 7);
	IS("OK", "");
	r = quiet();
	take(&r, 1, 8);
	sw_card_program_ended(&c, 9 * SECOND);
	r = busy(0, 0, 300);
	take(&r, 1, 10);
	IS("FREEING", "last program is not back");
	take(&r, 1, 40);
	IS("DOWN", "31 s after its program ended 300 MiB are not back, and no process has them");
	r = busy(0, 300, 0);
	take(&r, 1, 40);
	IS("DOWN", "300 MiB are not back, a process of it is left");
	sw_card_worker_ended(&c, 70, 41 * SECOND); /* of which it is a process, too */
	take(&r, 0, 42);
	IS("FREEING", "the memory of its last worker is not back");
	sw_card_program_ended(&c, 60 * SECOND);
	take(&r, 0, 71);
	IS("DOWN", "30 s after its worker ended 50 MiB are not back, a process of it is left");
}

TEST(card_whose_processes_nobody_can_tell_apart_waits_for_a_program_and_no_longer)
{
	struct sw_card_ours ours = {.session = worker, .n = 1, .here = 1, .hidden = true};
	struct sw_nvml_card r = busy(0, 0, 0);

	(void)sw_card_take(&c, &r, &ours, 1 * SECOND, 30 * SECOND);
	sw_card_program_ended(&c, 2 * SECOND);
	add(&r, 4711, -1, 500, true);
	(void)sw_card_take(&c, &r, &ours, 3 * SECOND, 30 * SECOND);
	IS("FREEING", "not back");
	(void)sw_card_take(&c, &r, &ours, 32 * SECOND, 30 * SECOND);
	IS("OK", "");
	ours.programs = true; /* the next one begins at once */
	(void)sw_card_take(&c, &r, &ours, 33 * SECOND, 30 * SECOND);
	ours.programs = false;
	sw_card_program_ended(&c, 34 * SECOND);
	(void)sw_card_take(&c, &r, &ours, 35 * SECOND, 30 * SECOND);
	IS("OK", "");
}

TEST(card_that_is_hot_waits_until_it_has_cooled)
{
	static const struct {
		int32_t temp, slowdown;
		bool throttled;
		const char *state;
	} readings[] = {
		{89, 90, false, "OK"},  {90, 90, false, "HOT"}, {86, 90, false, "HOT"},
		{85, 90, false, "OK"},  {86, 90, false, "OK"},  {60, 90, true, "HOT"},
		{60, 90, false, "OK"},  {-1, 90, true, "HOT"},  {-1, 90, false, "OK"},
		{120, -1, false, "OK"},
	};

	for (size_t i = 0; i < ROWS(readings); i++) {
		struct sw_nvml_card r = quiet();

		r.temp = readings[i].temp;
		r.slowdown = readings[i].slowdown;
		r.throttled = readings[i].throttled;
		take(&r, 0, (int64_t)i + 1);
		ck_assert_msg(strcmp(sw_card_state_name(c.state), readings[i].state) == 0,
			      "reading %zu: %s", i, sw_card_state_name(c.state));
	}
}

TEST(card_after_an_error_that_only_a_reset_ends_is_lost_until_then)
{
	struct sw_nvml_card r = quiet(), gone = {.health = SW_NVML_LOST, .why = "gone", .ecc = -1};

	r.xid_n = 1;
	r.xid[0] = 31; /* of a program */
	take(&r, 0, 1);
	IS("OK", "");
	ck_assert(!sw_card_is_lost(&c));
	r.xid_n = 2;
	r.xid[1] = 95;
	take(&r, 0, 2);
	IS("DOWN", "lost: XID 95: a memory error");
	IS("DOWN", "; stop sweepd and reset the GPU");
	r.xid_n = 0;
	take(&r, 0, 3); /* its readings are as good as before */
	IS("DOWN", "lost: XID 95");
	ck_assert(sw_card_is_lost(&c));
	take(&gone, 0, 4);
	IS("DOWN", "lost: NVML says: gone");
	take(&r, 0, 5);
	IS("OK", "");
	ck_assert(!sw_card_is_lost(&c));
}

static const struct {
	unsigned need;
	bool lost;
	const char *words; /* after XID 95, of which the catalogue says: reset; and without one */
} needs[] = {
	{SW_GPU_NEED_RESET, true, "; stop sweepd and reset the GPU"},
	{SW_GPU_NEED_REBOOT, true, "; reboot the machine"},
	{SW_GPU_NEED_DRAIN_P2P, false, "; end all that copies between"},
	{SW_GPU_NEED_DRAIN_AND_RESET, false, "; reset the GPU once its programs have ended"},
	{SW_GPU_NEED_BUS_RESET, true, "bus"},
	{SW_GPU_NEED_SYSTEM_REBOOT, true, "; reboot the machine"},
	{99, false, "nvidia-smi -q"},
};

TEST_ROWS(card_whose_driver_asks_for_something_is_down_until_it_has_it, needs)
{
	struct sw_nvml_card r = quiet();

	r.need = needs[_i].need;
	take(&r, 0, 1);
	IS("DOWN", needs[_i].words);
	ck_assert_int_eq(sw_card_is_lost(&c), needs[_i].lost);
	ck_assert_int_eq(strncmp(c.why, "lost: ", 6) == 0, needs[_i].lost);
	r.need = SW_GPU_NEED_NONE;
	r.xid_n = 1;
	r.xid[0] = 95;
	take(&r, 0, 2); /* the error is told before the driver knows what it needs */
	IS("DOWN", "lost: XID 95: a memory error");
	r.xid_n = 0;
	r.need = needs[_i].need;
	take(&r, 0, 3);
	IS("DOWN", "lost: XID 95: a memory error");
	IS("DOWN", needs[_i].words);
	ck_assert(sw_card_is_lost(&c));
	r.need = SW_GPU_NEED_NONE;
	take(&r, 0, 4);
	IS("OK", "");
	ck_assert(!sw_card_is_lost(&c));
}

/* Of the catalogue's immediate actions: those that end a GPU, those that let programs end first. */
TEST(xid_has_what_is_to_be_done)
{
	static const unsigned lost[] = {46, 62, 64, 79, 95, 110, 119, 120, 140, 143, 158},
			      later[] = {48, 74, 94, 109, 156};

	for (size_t i = 0; i < ROWS(lost); i++)
		ck_assert_int_eq(sw_xid_need(lost[i]),
				 lost[i] == 79 ? SW_GPU_NEED_REBOOT : SW_GPU_NEED_RESET);
	for (size_t i = 0; i < ROWS(later); i++)
		ck_assert_int_eq(sw_xid_need(later[i]), SW_GPU_NEED_DRAIN_AND_RESET);
	ck_assert_int_eq(sw_xid_need(31), SW_GPU_NEED_NONE);
	ck_assert_int_eq(sw_xid_need(154), SW_GPU_NEED_NONE);
	ck_assert_str_eq(sw_gpu_need_words(SW_GPU_NEED_NONE), "");
}

TEST(card_with_new_ecc_errors_is_down_until_they_are_reset)
{
	struct sw_nvml_card r = quiet();

	r.ecc = 3; /* those from before are past */
	take(&r, 0, 1);
	IS("OK", "");
	r.ecc = 5;
	take(&r, 1, 2);
	IS("DOWN", "2 uncorrected ECC errors");
	take(&r, 0, 3);
	IS("DOWN", "2 uncorrected");
	r.ecc = -1; /* the count cannot be read this once: the errors are not gone */
	take(&r, 0, 4);
	IS("DOWN", "2 uncorrected");
	r.ecc = 5;
	take(&r, 0, 5);
	IS("DOWN", "2 uncorrected");
	r.ecc = 0;
	take(&r, 0, 6);
	IS("OK", "");
	r.ecc = 1;
	take(&r, 0, 7);
	IS("DOWN", "1 uncorrected");
}

/* In a container NVML may name no process at all. */
TEST(card_without_processes_counts_what_came_with_ours)
{
	struct sw_card_ours ours = {.session = worker, .hidden = true};
	struct sw_nvml_card r = quiet();

	(void)sw_card_take(&c, &r, &ours, 1 * SECOND, 30 * SECOND);
	ck_assert_int_eq(c.ours, 0);
	ours.n = ours.here = 1;
	r.used += 300 * MIB;
	(void)sw_card_take(&c, &r, &ours, 2 * SECOND, 30 * SECOND);
	IS("OK", "");
	ck_assert_int_eq(c.ours, 300 * MIB);
	ours.hidden = false; /* a process that no one names is not ours where NVML names ours */
	(void)sw_card_take(&c, &r, &ours, 3 * SECOND, 30 * SECOND);
	ck_assert_int_eq(c.ours, 0);
}

TEST(card_that_was_hot_when_it_was_lost_is_hot_when_it_is_back)
{
	struct sw_nvml_card r = quiet(), silent = {.health = SW_NVML_SILENT, .why = "?", .ecc = -1};

	r.temp = 91;
	take(&r, 0, 1);
	IS("HOT", "91 C");
	silent.temp = -1;
	take(&silent, 0, 2);
	IS("DOWN", "cannot be read: NVML says: ?");
	r.temp = 87; /* not cool enough */
	take(&r, 0, 3);
	IS("HOT", "87 C");
	r.temp = 85;
	take(&r, 0, 4);
	IS("OK", "");
}

TEST(card_that_is_lost_or_silent_is_down_until_it_is_read_again)
{
	struct sw_nvml_card r = quiet(), lost = {.health = SW_NVML_LOST,
						 .why = "GPU is lost",
						 .used = -1,
						 .ecc = -1,
						 .temp = -1};

	strcpy(r.uuid, "GPU-1");
	strcpy(r.name, "Card");
	take(&r, 0, 1);
	take(&lost, 1, 2);
	IS("DOWN", "lost: NVML says: GPU is lost");
	ck_assert_str_eq(c.now.uuid, "GPU-1"); /* who it was is still shown */
	take(&r, 0, 3);
	IS("OK", "");
	ck_assert(sw_card_silent(&c, "no answer"));
	ck_assert(!sw_card_silent(&c, "no answer for long"));
	IS("DOWN", "no answer for long");
	sw_card_worker_ended(&c, 70, 4 * SECOND);
	IS("DOWN", "no answer");
	take(&r, 0, 5);
	IS("OK", "");
}

RUN_TESTS(begin, NULL)
