/* tests/daemon/slot/test_losses.c — which GPU is taken out, loss by loss. */
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/losses.h"
#include "daemon/slot/slot.h"
#include "tests/run.h"

#define GPUS 4

static struct sw_slot slots[GPUS + 1];
static struct sw_worker workers[GPUS + 1];
static struct sw_daemon d;

static const struct sw_device_kind kinds[] = {{.gpu = false}, {.gpu = true, .watched = true}};

/* n GPUs, of which NVML says nothing, and a CPU slot. */
static void make_machine(unsigned n)
{
	d = (struct sw_daemon){
		.clock = &sw_clock_system,
		.slot = {.slots = slots, .slot_n = n + 1, .workers = workers, .worker_n = n + 1}};
	for (unsigned i = 0; i <= n; i++) {
		workers[i] = (struct sw_worker){.slots = &slots[i], .slot_n = 1};
		slots[i] =
			(struct sw_slot){.d = &d,
					 .worker = &workers[i],
					 .index = (int32_t)i,
					 .device = {.kind = &kinds[i < n], .index = i, .lanes = 1},
					 .holder = -1};
		(void)snprintf(slots[i].device.card, sizeof slots[i].device.card, "gpu:%u", i);
	}
}

/* What happens, word by word: "0a" GPU 0 loses an attempt of trial a; "01a" one of trial a,
 * which has GPUs 0 and 1, ends by its last; "0." one ends otherwise, "01." on both; "0!" GPU 0
 * is lost under one; "0x" GPU 0's worker does not come up any more. True: the last one was to
 * blame. */
static bool play(const char *events)
{
	bool blamed = false;

	while (*events != '\0') {
		const size_t n = strcspn(events, " ");
		const char what = events[n - 1];
		struct sw_slot *s = &slots[events[0] - '0'], *second = NULL;

		if (n == 3) {
			second = &slots[events[1] - '0'];
			second->holder = s->index;
		}
		s->sweep = 1;
		s->trial = what;
		s->lost_rank = second != NULL;
		blamed = false;
		if (what == '!')
			sw_losses_gpu(s->worker);
		else if (what == 'x')
			s->worker->early = SW_WORKER_EARLY_MAX + 1;
		else if (what == '.')
			sw_losses_none(s);
		else { /* in its training */
			s->stepped = true;
			blamed = sw_losses_attempt(s) != NULL;
		}
		if (second != NULL)
			second->holder = -1;
		events += n + (events[n] == ' ');
	}
	return blamed;
}

static const struct {
	unsigned gpus;
	const char *events, *out;
	bool blamed;
} rows[] = {
	/* in a row */
	{2, "0a 0b", "", false},
	{2, "0a 0b 0c", "0", true},
	{2, "0a 0a 0a", "0", true},
	{2, "0a 0b 0. 0c", "", false},
	{2, "0a 0b 1. 0c", "0", true},
	{2, "0! 0! 0!", "0", false},
	{2, "0! 0a 0!", "0", false},
	{2, "0a 0b 0c 0d", "0", false},
	/* the trial is to blame */
	{3, "0a 1a 2a 0a 1a 2a 0a 1a 2a", "", false},
	{3, "0a 0a 1a 0a", "", false},
	{3, "0a 0a 0a 1a", "", false},
	{3, "0b 0a 0c 1a", "", false},
	{3, "0b 0a 0c 1d", "0", false},
	{3, "0! 0! 0! 1a", "0", false},
	{3, "0a 0a 0a 1a 0b", "", false},
	/* all that runs here fails, or hardly anything is left */
	{1, "0a 0b 0c 0d", "", false},
	{2, "1a 0b 0c 0d", "", false},
	{2, "1a 0b 0c 0d 1. 0e", "0", true},
	{2, "0a 0b 0c 1d 1e 1f 1g", "0", false},
	{2, "1x 0a 0b 0c", "", false},
	{3, "0a 0b 0c 1d 1e 1f", "0", false},
	{4, "0a 0b 0c 1d 1e 1f", "01", true},
	{4, "0a 0b 0c 1d 1e 1f 2g 2h 2i 3j 3k 3l", "01", false},
	/* several GPUs */
	{3, "01a 01a 01a", "1", true},
	{3, "01a 01a 21a", "1", true},
	{3, "01a 01a 01. 01a", "", false},
	{3, "0a 0b 10. 0c", "", false},
	{3, "01a 01a 10a", "", false},
	/* CPU slots: the last of them */
	{2, "2a 2b 2c", "", false},
	{2, "0a 0b 2a 0c", "0", true},
};

TEST_ROWS(losses_row_takes_out_what_stands_out, rows)
{
	const char *why;
	bool blamed;

	make_machine(rows[_i].gpus);
	blamed = play(rows[_i].events);
	for (unsigned i = 0; i < d.slot.slot_n; i++) {
		const bool out = strchr(rows[_i].out, (int)('0' + i)) != NULL;

		ck_assert_msg(sw_gpus_may_begin(&d, &slots[i], &why) == !out, "%s: slot %u: \"%s\"",
			      rows[_i].events, i, why);
		ck_assert_int_eq(sw_gpus_may_start(&d, &slots[i], &why), !out);
		ck_assert_int_eq(*why != '\0', out);
	}
	ck_assert_msg(blamed == rows[_i].blamed, "%s: blamed %d", rows[_i].events, blamed);
}

TEST(losses_are_named_by_their_trials)
{
	make_machine(2);
	slots[0].sweep = INT64_MAX;
	slots[0].trial = INT64_MAX;
	sw_losses_gpu(&workers[0]);
	ck_assert_ptr_null(sw_losses_attempt(&slots[0]));
	ck_assert_ptr_eq(sw_losses_attempt(&slots[0]), &workers[0]);
	ck_assert_str_eq(workers[0].losses.out,
			 "lost 3 attempts in a row (GPU lost, "
			 "9223372036854775807/9223372036854775807, "
			 "9223372036854775807/9223372036854775807): it takes no trial until sweepd "
			 "is started again");
}

RUN_TESTS(NULL, NULL)
