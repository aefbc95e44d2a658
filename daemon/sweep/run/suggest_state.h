/* daemon/sweep/run/suggest_state.h — a sampler's state as the store keeps it: hexadecimal text. */
#ifndef SW_DAEMON_SWEEP_RUN_SUGGEST_STATE_H
#define SW_DAEMON_SWEEP_RUN_SUGGEST_STATE_H

#include "base/buf.h"
#include "base/status.h"
#include <stddef.h>

void sw_suggest_state_write(const unsigned char *state, size_t n, struct sw_buf *out);

/* Into a new block, the caller's (NULL for ""). SW_INVALID: not a state; SW_NOMEM. */
SW_NODISCARD sw_status sw_suggest_state_read(const char *text, unsigned char **state, size_t *n);

#endif
