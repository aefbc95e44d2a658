/*
 * daemon/sweep/budget.h — how long a sweep has run and how long it has held GPUs, and what ends it
 * when that is as much as was allowed.
 *
 * Time runs while the sweep is RUNNING, trials or not, the daemon up or not; not while its user has
 * paused it, nor while it had ended before it was extended. GPU time is that of every attempt on a
 * slot with a GPU, the live ones included. Both follow from times that the store keeps.
 */
#ifndef SW_DAEMON_SWEEP_BUDGET_H
#define SW_DAEMON_SWEEP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct sw_daemon;
struct sw_host;
struct sw_jw;

struct sw_budget {
	double time_s, gpu_hours; /* what is allowed; 0: no limit */
	int64_t ran_ms;           /* RUNNING, before since_ms */
	int64_t since_ms;         /* wall clock: RUNNING since then; 0: it is not */
	int64_t gpu_ms;           /* of the attempts that ended */
};

/* The sweep is (or is not) RUNNING from now on. Told again, nothing changes. */
void sw_budget_state(struct sw_budget *b, bool running, int64_t now_ms);
int64_t sw_budget_ran_ms(const struct sw_budget *b, int64_t now_ms);
int64_t sw_budget_gpu_ms(const struct sw_host *h, int64_t now_ms); /* O(slots) */

/* Ends the sweep if a budget of it is spent, in a change of its own. True: it did. */
bool sw_budget_check(struct sw_host *h);
/* All sweeps; those that something happened to in this turn of the loop. */
void sw_budget_tick(struct sw_daemon *d);
void sw_budget_changed(struct sw_host *h);
void sw_budget_flush(struct sw_daemon *d);

/* "budget": {"time_s": 60, "time_used_s": 12.5, "gpu_hours": null, "gpu_used_hours": 0} */
void sw_budget_write(const struct sw_host *h, int64_t now_ms, struct sw_jw *w);

#endif
