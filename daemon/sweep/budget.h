/*
 * daemon/sweep/budget.h — how long a sweep has run and how long it has held GPUs. Its end when that
 * is as much as was allowed is daemon/sweep/run/budget_end.h's.
 *
 * Time runs while the sweep is RUNNING, trials or not, the daemon up or not; not while its user has
 * paused it, nor while it had ended before it was extended. GPU time is that of every attempt on a
 * slot with a GPU, the live ones included. Both follow from times that the store keeps.
 */
#ifndef SW_DAEMON_SWEEP_BUDGET_H
#define SW_DAEMON_SWEEP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define SW_BUDGET_HOUR_MS 3600000.0

struct sw_running;
struct sw_jw;

struct sw_budget {
	int64_t ran_ms;   /* RUNNING, before since_ms */
	int64_t since_ms; /* wall clock: RUNNING since then; 0: it is not */
	int64_t gpu_ms;   /* of the attempts that ended */
};

/* The sweep is (or is not) RUNNING from now on. Told again, nothing changes. */
void sw_budget_state(struct sw_budget *b, bool running, int64_t now_ms);
int64_t sw_budget_ran_ms(const struct sw_budget *b, int64_t now_ms);
int64_t sw_budget_gpu_ms(const struct sw_running *live, int64_t now_ms); /* O(slots) */
/* Is one of them used up? cause (of SW_CAUSE_MAX bytes) says which; else it is "". */
bool sw_budget_spent(const struct sw_running *live, int64_t now_ms, char *cause);

/* "budget": {"time_s": 60, "time_used_s": 12.5, "gpu_hours": null, "gpu_used_hours": 0} */
void sw_budget_write(const struct sw_running *live, int64_t now_ms, struct sw_jw *w);

#endif
