/* tests/daemon/test_start_story.c — a daemon that is started on what another has left. */
#include "tests/daemon/fixture.h"

/* what happens, and what comes of it */
/* clang-format off */
static const struct story stories[] = {
	/* --- on each state of a sweep --- */
	{"on a sweep that runs, with a trial in each state", NULL, "'run_cap':9," PROMOTE,
	 {"a ask 4", "1.1 2.1 3.1 4.1",
	  "a keep 1 1 1 1 0.5", "pause",
	  "a report 2 1 1 9 0.4", "stop",
	  "a tell 3 1 FAILED exit:1", "3 FAILED",
	  "a enqueue {'lr':0.5}", "5 PENDING",
	  "a enqueue {'lr':0.6}", "6 PENDING",
	  "a cancel-trial 5", "5 CANCELLED",
	  "a rows",
	  "1 PAUSED at 1: 0.5 {\"loss\":0.5}, from 1; 2 COMPLETED at 9: 0.4 {\"loss\":0.4}, from 0; 3 FAILED at 0: null "
	  "null, from 0; 4 RUNNING at 0: null null, from 0; 5 CANCELLED at 0: null null, from 0; 6 PENDING at 0: null null, "
	  "from 0",
	  "daemon restarts", "",
	  "a rows",
	  "1 PAUSED at 1: 0.5 {\"loss\":0.5}, from 1; 2 COMPLETED at 9: 0.4 {\"loss\":0.4}, from 0; 3 FAILED at 0: null "
	  "null, from 0; 4 RUNNING at 0: null null, from 0; 5 CANCELLED at 0: null null, from 0; 6 PENDING at 0: null null, "
	  "from 0",
	  "a report 4 1 1 1 0.3", "pause",
	  "a ask 2", "6.1 7.1"}},
	{"on a FAILED sweep", NULL, "'run_cap':1",
	 {"a ask", "1.1",
	  "a tell 1 1 FAILED exit:1", "1 FAILED",
	  "daemon restarts", "",
	  "a get", "FAILED: 1 FAILED (exit:1)",
	  "a extend 4", "refused -32002: the sweep has ended: FAILED (retry runs a failed trial again)"}},
	{"on a sweep that is about to end",
	 NULL, "'run_cap':9,'metric':{'name':'loss','goal':'minimize','target':0.1}",
	 {"a ask 2", "1.1 2.1",
	  "a report 1 1 1 1 0.05", "continue",
	  "daemon restarts", "",
	  "a get", "RUNNING: 2 RUNNING (about to end: target 0.1 reached by trial 1)",
	  "a ask", "none, waiting",
	  "a final 2 1 COMPLETED 1", "2 COMPLETED",
	  "a final 1 1 COMPLETED 1", "1 COMPLETED",
	  "a get", "COMPLETED: 2 COMPLETED (target 0.1 reached by trial 1)"}},
	/* --- who holds what --- */
	{"an attempt that was lost while no daemon was there ran until its last report",
	 "cpu:1", "'run_cap':3",
	 {BEGUN,
	  "time 10", "",
	  "w0 report 1 1 1 1 0.5", "continue",
	  "daemon dies", "",
	  "w0 dies signal:9", "",
	  "time 1000", "",
	  "daemon starts", "worker 0 starts",
	  "rows SELECT ended_ms - started_ms FROM attempt WHERE attempt = 1", "10000"}},
	{"a sweep that waited in its submission is not there", NULL, NULL,
	 {"check holds", "",
	  "a train 'run_cap':3", "",
	  "daemon dies", "",
	  "check works", "",
	  "daemon starts", "",
	  "a get", "refused -32001 /sweep: no sweep 1; there is none yet"}},
	/* --- what is refused --- */
	{"a database of another version", NULL, "'run_cap':3",
	 {"daemon dies", "",
	  "alter PRAGMA user_version = 99", "",
	  "daemon starts",
	  "refused: STATE/sweepd.db was written by sweepd " SW_VERSION " (schema 99), and this is "
	  "sweepd " SW_VERSION " (schema 1): use that one, or another state folder",
	  "alter PRAGMA user_version = 1", ""}},
	{"a file that is no database of sweepd's", NULL, "'run_cap':3",
	 {"daemon dies", "",
	  "alter PRAGMA application_id = 7", "",
	  "daemon starts", "refused: STATE/sweepd.db: not a sweepd database",
	  "alter PRAGMA application_id = 1400325232", ""}},
	{"a value that was altered so that another decision follows", NULL, "'run_cap':9," ASHA,
	 {"a ask 4", "1.1 2.1 3.1 4.1",
	  "a report 1 1 1 1 0.1", "continue",
	  "a report 2 1 1 1 0.2", "continue",
	  "a report 3 1 1 1 0.3", "stop",
	  "daemon dies", "",
	  "alter UPDATE report SET value = 0.01 WHERE trial = 3", "",
	  "daemon starts",
	  "refused: cannot rebuild sweep 1 from the store: sweep 1, event 7: the replay "
	  "decides otherwise than the stored report",
	  "alter UPDATE report SET value = 0.3 WHERE trial = 3", ""}},
	{"a slot with another device: its worker is ended and another starts",
	 "cpu:1", "'run_cap':3",
	 {BEGUN,
	  "daemon restarts gpu:0", "worker 0 is found; worker 0 is killed; worker 0 starts",
	  "a trial 1", "1 PENDING (slot removed)",
	  HELLO,
	  "w0 next", "gets 1/1.2"}},
	{"a GPU that there is not", "cpu:1", NULL,
	 {"daemon dies", "",
	  "daemon starts gpu:7",
	  "refused: --devices gpu:7: no such GPU, or more than one; this machine has 2: "
	  "gpu:0 GPU-0, gpu:1 GPU-1",
	  "daemon starts cpu:1", "worker 0 is found",
	  HELLO}},
};
/* clang-format on */

STORIES(stories)
