/* daemon/sweep/state.h — d->sweep: the sweeps, and which of them have something to do. */
#ifndef SW_DAEMON_SWEEP_STATE_H
#define SW_DAEMON_SWEEP_STATE_H

#include "daemon/sweep/files/files.h"
#include "daemon/sweep/files/quota.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_daemon_sweep {
	struct sw_running **sweeps; /* sweeps[i] is sweep i + 1 */
	size_t sweep_n, sweep_cap;
	struct sw_running *due; /* list: looked at at the end of this turn of the loop */

	const struct sw_driver_events *driver_events;
	uv_timer_t suggest_timer;      /* suggest_wait_ms of asks; runs only while one waits */
	struct sw_long_ask *long_asks; /* list; daemon/sweep/give/ask.c */
	bool ask_slice;                /* a slice of those is to begin */
	struct sw_running *settling;   /* list; daemon/sweep/run/settle.c */
	bool slice_busy;               /* a slice of the first is being stored */
	struct sw_erase *erasing;      /* list; daemon/sweep/files/erase.c */
	atomic_bool stopping;          /* what the pool does with files ends early */
	struct sw_files_work files;    /* daemon/sweep/files/files.c */
	struct sw_quota quota;         /* daemon/sweep/files/quota.c */
	int64_t unload_us;             /* the next look for sweeps that nobody needs */
	int64_t reserve_us;            /* after so long a wait slots are reserved for a trial */
	int64_t hold_tick_us;          /* of the last tick; daemon/sweep/run/hold.c */
	uint64_t n_reports;
};

#endif
