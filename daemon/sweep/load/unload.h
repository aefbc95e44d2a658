/* daemon/sweep/load/unload.h — a sweep that has ended leaves memory some time after it was needed:
 * a daemon that is busy with small sweeps would else grow for as long as it runs. */
#ifndef SW_DAEMON_SWEEP_LOAD_UNLOAD_H
#define SW_DAEMON_SWEEP_LOAD_UNLOAD_H

#include <stdint.h>

struct sw_daemon;

void sw_unload_tick(struct sw_daemon *d, int64_t now_us);

#endif
