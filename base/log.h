/*
 * base/log.h — one event, one line:
 *
 *   2026-11-21T10:31:07.123Z info worker.exit slot=1 cause=signal:9
 *
 * Format   The format string holds the key=value pairs; the caller puts values that may hold
 *          anything in double quotes: name=\"%s\". Quotes and backslashes that come with a value
 *          are escaped by a backslash, so that no value can say more than itself. Lines over 1 KiB
 *          are cut; what base/text.h names becomes '?'.
 * Threads  Any thread may log: a line is one write(2) to a descriptor opened with O_APPEND.
 */
#ifndef SW_BASE_LOG_H
#define SW_BASE_LOG_H

#include "base/status.h"

enum sw_log_level { SW_LOG_DEBUG, SW_LOG_INFO, SW_LOG_WARN, SW_LOG_ERROR };

/* Until this is called, lines of SW_LOG_INFO and above go to stderr. path NULL: stderr. */
SW_NODISCARD sw_status sw_log_open(const char *path, enum sw_log_level least, struct sw_err *err);
/* The file of that path in place of the one that was opened: it was renamed, say. Lines that other
 * threads write meanwhile go to the one or the other. On failure the old one goes on. */
SW_NODISCARD sw_status sw_log_reopen(const char *path, struct sw_err *err);
SW_NODISCARD sw_status sw_log_level_parse(const char *name, enum sw_log_level *out);

/* event: dotted, lower case, fixed ("worker.exit"). fmt: key=value pairs, "" for none. */
void sw_log(enum sw_log_level level, const char *event, const char *fmt, ...) SW_PRINTF(3, 4);

#endif
