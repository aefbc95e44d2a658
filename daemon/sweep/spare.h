/*
 * daemon/sweep/spare.h — the cores that --devices auto leaves over beside GPUs: which sweeps' trials
 * begin there.
 *
 * Those that ask for no GPU (resources.gpu 0), and those of built-in trainers where a core is worth it
 * (daemon/sweep/pace.h). A program says nothing of its speed: without resources.gpu it goes to a GPU.
 */
#ifndef SW_DAEMON_SWEEP_SPARE_H
#define SW_DAEMON_SWEEP_SPARE_H

#include "proto/json.h"
#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;
struct sw_live;
struct sw_slot;

/* Is the slot a spare core that waits for other trials than the sweep's? True: why, in a few words. */
bool sw_spare_waits(const struct sw_slot *s, const struct sw_live *live, char *why, size_t cap);
/* device.list's "auto": lines that say what was chosen and why; none without spare cores. */
void sw_spare_write(struct sw_daemon *d, struct sw_jw *w);

#endif
