/* cli/worker.h — verbs that let sweep-worker do the work: it lies beside this program. */
#ifndef SW_CLI_WORKER_H
#define SW_CLI_WORKER_H

#include "cli/cli.h"

#define SW_WORKER_WORDS 4 /* at most */

/* Runs `sweep-worker WORD ...` and waits for it; its output and errors are this program's. words:
 * up to SW_WORKER_WORDS, NULL behind the last. input: the text of its stdin; NULL: this program's.
 * An exit status; what went wrong it has said itself. */
int sw_worker_run(struct sw_cli *c, const char *const *words, const char *input);

/* If only a sweep is named, c->trial becomes its best trial. Returns an exit status. */
int sw_worker_trial(struct sw_cli *c);

#endif
