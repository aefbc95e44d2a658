/* cli/watch.h — follows sweeps until they end: the live table on a terminal, plain blocks
 * elsewhere. */
#ifndef SW_CLI_WATCH_H
#define SW_CLI_WATCH_H

#include "cli/cli.h"
#include <stddef.h>
#include <stdint.h>

/* Returns an exit status: SW_EXIT_DONE when all have ended or the watcher left (q, Ctrl-C),
 * SW_EXIT_REFUSED when the daemon refused or a sweep ended FAILED, SW_EXIT_NO_DAEMON when the
 * daemon was away for a minute. */
int sw_watch_run(struct sw_cli *c, const uint64_t *sweeps, size_t n);

#endif
