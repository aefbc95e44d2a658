/*
 * tests/daemon/fixture.h — a daemon as a story: what is said or happens a line, and what comes of
 * it.
 *
 * The daemon is sweepd's own, in this process, with fixture_world.h's machine around it. After each
 * line its loop turns until nothing moves any more. Nothing waits and no time passes, but by a line
 * that says so. After its last line every story ends with the machine's power, and a daemon started
 * on what was stored must accept it (it replays each sweep and compares each decision).
 *
 *   client    NAME ask [N [WAIT_S]] | report T A SEQ STEP VALUE |
 *             keep T A SEQ STEP VALUE (a report with a checkpoint) |
 *             note T A SEQ STEP (without the metric) | beat T A | tell T A STATE [CAUSE] |
 *             final T A STATE VALUE STEP | enqueue PARAMS | retry T | cancel-trial T | trial T |
 *             rows | get | pause | resume | cancel | extend N | edit KEYS | watch |
 *             follow [WAIT_S] (since the last watch or follow) | submit KEYS |
 *             train KEYS (with a trainer) | devices | stats | drain | call METHOD PARAMS |
 *             closes | deaf | hears | send TEXT (`$`: a line's end) | repeat N VERB...
 *             VERB@2 is about sweep 2. LINE && LINE: both at once. What the speaker gets is shown
 *             without a name, what others get with theirs.
 *   worker    w0 hello [S T A] | hello as SLOT | next | refuses WHY | bye [RANK] |
 *             dies CAUSE [SAID] |
 *             report, keep, note, tell as above | log T A TEXT
 *             All of slot 0, but `as`; hello's id is that which the daemon gave it.
 *   time      time S | jump S (no timer runs meanwhile) |
 *             slow US (each look at the clock takes it) | clock set S
 *   disk      disk holds | full | blinks | breaks | behind | removed | works
 *   pool      pool holds | works | one (does one job and holds on)
 *   checks    check holds | works | refuses WHY | bytes N [N of the data set]
 *   GPUs      card N fine | lost | ecc | held | kept | leaks | small | silent (of two)
 *   workers   workers stubborn | willing | fail | start | pid N
 *   daemon    daemon keeps N (days, from its next start on) | stopping (it begins to) |
 *             stops | dies (killed: nothing more is stored) |
 *             starts [DEVICES] | restarts [DEVICES] (dies and starts)
 *   files     socket removed | taken (another daemon's lies there);
 *             state link NAME | unlink NAME (a link where a folder of the state directory would be)
 *             | make NAME (a folder) | has NAME
 *   memory    loaded (the sweeps whose state machine is in memory)
 *   store     rows SELECT ... | alter SQL (the file, while no daemon is there)
 */
#ifndef SW_TESTS_DAEMON_FIXTURE_H
#define SW_TESTS_DAEMON_FIXTURE_H

#include "tests/run.h"
#include <stddef.h>

/* JSON in a story has ' for ". */
#define BAYES "'method':'bayes','run_cap':9"
#define ASHA  "'early_terminate':{'type':'asha','max_t':9,'grace_period':1,'reduction_factor':3}"
#define PROMOTE                                                                                    \
	"'early_terminate':{'type':'asha','variant':'promote','max_t':9,'grace_period':1,"         \
	"'reduction_factor':3}"

/* How most stories of workers begin: one or two of them, with a trial each. */
#define HELLO      "w0 hello", "welcome"
#define BOTH       "w0 hello && w1 hello", "welcome; w1 welcome"
#define BEGUN      HELLO, "w0 next", "gets 1/1.1"
#define BOTH_BEGUN BOTH, "w0 next", "gets 1/1.1", "w1 next", "gets 1/2.1"

struct story {
	const char *name;
	const char *devices;  /* NULL: no slot */
	const char *spec;     /* keys of sweep 1 beside fixture.c's; NULL: there is no sweep */
	const char *line[96]; /* what happens, what comes of it, ... */
};

/* The suite of a file of stories: each as it is told, and again with a disk that breaks at its
 * first commit, its second ... SW_STORY_PRINT in the environment: what each line causes is
 * printed, for whoever writes one. */
#define STORIES(stories)                                                                           \
	SUITE(tcase)                                                                               \
	{                                                                                          \
		fixture_add_stories(tcase, stories, ROWS(stories));                                \
	}
void fixture_add_stories(TCase *tcase, const struct story *stories, size_t n);

/* Tells the story, for a test of what it leaves: the state folder, until it is forgotten. */
const char *fixture_tell(const struct story *story);
void fixture_forget(void);

#endif
