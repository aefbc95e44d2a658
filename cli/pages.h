/*
 * cli/pages.h — the trials of a sweep and the reports of a trial, one after the other: the daemon
 * gives them a page at a time, and no more than a page is held.
 *
 * A callback gets `arg` and a tree that lives until it returns; it may make calls of its own. What
 * it returns, an exit status, ends the walk unless it is SW_EXIT_DONE.
 */
#ifndef SW_CLI_PAGES_H
#define SW_CLI_PAGES_H

#include "cli/cli.h"

#define SW_PAGES_TRIALS 500 /* of a page */

/* The page of trials of c->sweep (with --state of those in it) after number *next, which becomes
 * that of the page's last trial, or 0 if no page follows. An exit status. */
int sw_pages_next(struct sw_cli *c, uint64_t *next, struct sw_reply *r);

int sw_pages_trials(struct sw_cli *c, int (*on_trial)(void *arg, const cJSON *trial), void *arg);

/* A report's place: those after it follow. {0, 0}: before the first. */
struct sw_pages_place {
	uint64_t attempt, seq;
};

/* reports: an array, a page of those behind *at, which moves on to the last of them. */
int sw_pages_reports(struct sw_cli *c, uint64_t trial, struct sw_pages_place *at,
		     int (*on_page)(void *arg, const cJSON *reports), void *arg);

#endif
