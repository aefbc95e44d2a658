#include "base/thread.h"
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESET_ON_FORK 1      /* SCHED_FLAG_RESET_ON_FORK */
#define SLICE_NS      100000 /* the shortest that there is */

/* The kernel's struct sched_attr in its first form; Debian 12's C library has none. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void sw_thread_prompt(void)
{
	struct attr a = {.size = sizeof a};

	/* What else the thread has, its nice value above all, stays. */
	if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != SCHED_OTHER)
		return;
	a.size = sizeof a;
	a.flags = RESET_ON_FORK; /* neither its threads nor the programs that it starts have it */
	a.runtime = SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}
