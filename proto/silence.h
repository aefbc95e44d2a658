/*
 * proto/silence.h — how long a worker may be silent before the daemon takes it for hung and ends
 * it. A worker that has sent nothing for a sixth of this sends an empty line, which framing skips.
 *
 * SWEEPD_SILENT_MS in the environment is another limit, for tests; a worker has it from the daemon.
 * Threads  Reads the environment: not while another thread changes it.
 */
#ifndef SW_PROTO_SILENCE_H
#define SW_PROTO_SILENCE_H

#include <stdint.h>
#include <stdlib.h>

#define SW_SILENT_US ((int64_t)60 * 1000000)

static inline int64_t sw_silent_us(void)
{
	const char *given = getenv("SWEEPD_SILENT_MS");
	const long ms = given != NULL ? strtol(given, NULL, 10) : 0;

	return ms > 0 && ms <= SW_SILENT_US / 1000 ? (int64_t)ms * 1000 : SW_SILENT_US;
}

#endif
