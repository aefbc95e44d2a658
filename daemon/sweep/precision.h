/*
 * daemon/sweep/precision.h — which slots trials lose by their trainer.precision: a CPU has fp32
 * alone, and TF32 and BF16 take a GPU of compute capability SW_ROOM_PRECISION (daemon/slot/room.h).
 *
 * A GPU whose capability is not known counts as one that will do. Slots that would not do in fp32
 * either count for nothing here.
 *
 * Threads  The loop's.
 * Cost     Each slot is looked at once; nothing is kept.
 */
#ifndef SW_DAEMON_SWEEP_PRECISION_H
#define SW_DAEMON_SWEEP_PRECISION_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;
struct sw_spec;

/* SW_INVALID at the trainer's option, or at the parameter: there are slots that would take its
 * trials, and none computes in a precision that it names. */
SW_NODISCARD sw_status sw_precision_check(const struct sw_daemon *d, const struct sw_spec *spec,
					  struct sw_err *err);

/* True, and one line in out (cut at cap), when some slots get none of the spec's trials. */
bool sw_precision_warning(const struct sw_daemon *d, const struct sw_spec *spec, char *out,
			  size_t cap);

#endif
