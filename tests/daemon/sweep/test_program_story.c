/* tests/daemon/sweep/test_program_story.c — sweeps whose trials are the user's own program. */
#include "tests/daemon/fixture.h"

#define PROGRAM "'program':'train.py','run':{'cwd':'/home'}"

/* what happens, and what comes of it */
/* clang-format off */
static const struct story stories[] = {
	{"a program is handed out to a slot, and ends as its worker says", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':1", "sweep 1",
	  "w0 hello", "welcome",
	  "w0 next", "gets 1/1.1 runs ${env} in /home to /logs/1/1.log",
	  "w0 report 1 1 1 1 0.5", "continue",
	  "w0 tell 1 1 COMPLETED", "1 COMPLETED",
	  "a get", "COMPLETED: 1 COMPLETED"}},
	{"a program may report other metrics first", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':1", "sweep 1",
	  "w0 hello", "welcome",
	  "w0 next", "gets 1/1.1 runs ${env} in /home to /logs/1/1.log",
	  "w0 note 1 1 1 1", "continue",
	  "a get", "RUNNING: 1 RUNNING (no report carries the sweep's metric \"loss\": report it by that name, or "
	  "name in the spec one that is reported: other)",
	  "w0 report 1 1 2 2 0.5", "continue",
	  "a get", "RUNNING: 1 RUNNING",
	  "w0 tell 1 1 COMPLETED", "1 COMPLETED"}},
	{"a program that never reports the metric has none", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':1", "sweep 1",
	  "w0 hello", "welcome",
	  "w0 next", "gets 1/1.1 runs ${env} in /home to /logs/1/1.log",
	  "w0 note 1 1 1 1", "continue",
	  "w0 tell 1 1 COMPLETED", "1 FAILED"}},
	{"clients cannot run a program's trials", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':3", "sweep 1",
	  "a ask", "refused -32002 /sweep: sweep 1 has a trainer or a command: sweepd's own workers "
	  "run its trials",
	  "a edit 'lease_s':5",
	  "refused -32602 /lease_s: a lease is for trials that clients run; this sweep's are run on "
	  "slots"}},
	{"a program that needs a GPU waits where there is none", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':1,'resources':{'gpu':1}", "sweep 1",
	  "w0 hello", "welcome",
	  "w0 next", ""}},
	{"a program's checkpoint is what its next attempt goes on from", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':1," PROMOTE, "sweep 1",
	  "w0 hello", "welcome",
	  "w0 next", "gets 1/1.1 runs ${env} in /home to /logs/1/1.log",
	  "w0 keep 1 1 1 1 0.5", "pause",
	  "w0 next", ""}},
	{"a spec of a program without a folder is refused", "cpu:1", NULL,
	 {"a submit 'program':'train.py'",
	  "refused -32602 /spec/run: \"run\" is missing: {\"cwd\": \"/the/folder\"}, in which the "
	  "command is run (`sweep submit` fills in its own)"}},
	{"a program lives through the death of the daemon", "cpu:1", NULL,
	 {"a submit " PROGRAM ",'run_cap':1", "sweep 1",
	  "w0 hello", "welcome",
	  "w0 next", "gets 1/1.1 runs ${env} in /home to /logs/1/1.log",
	  "w0 report 1 1 1 1 0.5", "continue",
	  "daemon restarts", "worker 0 is found",
	  "w0 hello 1 1 1", "goes on",
	  "w0 report 1 1 2 2 0.4", "continue",
	  "w0 tell 1 1 COMPLETED", "1 COMPLETED"}},
};
/* clang-format on */

STORIES(stories)
