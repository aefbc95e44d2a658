/*
 * tls/dial.h — the other side of tls/listen.h: a unix socket in a private folder under $TMPDIR (or
 * /tmp). Each connection to it gets a TLS connection of its own to the listener; where that cannot
 * be had, it ends, and the side that opened it tries again.
 *
 * Threads  One of its own, with all signals blocked. It also looks the host up.
 * Log      `tls.dialled`, and `tls.not_dialled` with why, which is not said again until it changes.
 */
#ifndef SW_TLS_DIAL_H
#define SW_TLS_DIAL_H

#include "base/status.h"

struct sw_tls_dial; /* opaque */

/* Copies what it is given; the key is wiped by sw_tls_dial_close(). Dials nobody yet.
 * Errors: SW_NOMEM; SW_INVALID (identity, port); SW_IO with one line. */
SW_NODISCARD sw_status sw_tls_dial(struct sw_tls_dial **out, const char *host, unsigned port,
				   const char *identity, const unsigned char key[32],
				   struct sw_err *err);

const char *sw_tls_dial_path(const struct sw_tls_dial *d); /* until it is closed */

/* Waits at most 10 s until what was written to the socket by connections that are closed by now has
 * gone out; removes the folder. NULL is allowed. */
void sw_tls_dial_close(struct sw_tls_dial *d);

#endif
