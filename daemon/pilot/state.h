/* daemon/pilot/state.h — d->pilot: the jobs that pilots are, and the executor that is asked for
 * them. */
#ifndef SW_DAEMON_PILOT_STATE_H
#define SW_DAEMON_PILOT_STATE_H

#include "daemon/pilot/lines.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/job_shape.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_daemon;
struct sw_worker;

#define SW_PILOT_NAME 64 /* bytes: that of a peer of daemon/net/conn.h */

/* A job of one pilot; behind a struct sw_proc of its worker. */
struct sw_pilot {
	struct sw_worker *w;
	bool used; /* there is one: asked for, or an earlier daemon's */
	sw_ended_cb *ended;
	char name[SW_PILOT_NAME]; /* unique for ever; the identity that it dials with */
	char id[SW_PILOT_ID];     /* the executor's; "": not known (yet) */
	uint64_t batch;           /* of its submission; 0: an earlier daemon's */
	unsigned place;           /* in that */
	unsigned time_s;          /* that it asks for; 0: the cluster's own limit */
	bool told;                /* its row is stored: it may be submitted */
	bool refused;             /* its submission failed: it was, in all likelihood, not */
	bool submitted;           /* it was, or may have been */
	int64_t submitted_us;     /* when that was over; 1: it is under way; 0: it was not */
	/* The executor's last word. */
	enum sw_pilot_state state;
	char node[SW_PILOT_NODE], reason[SW_PILOT_REASON];
	unsigned missed; /* good lists in a row that did not name it */
	/* The worker's own word. */
	bool greeted;       /* ever */
	int64_t began_ms;   /* wall clock, of its first hello; 0: not known */
	char bye[200];      /* why it ends; "": it did not say so */
	bool bye_told;      /* it said that somebody ended it */
	int64_t bye_us;     /* when it said so */
	unsigned bye_lists; /* good lists since */
	int64_t idle_us;    /* when it last had a trial, or began */
	int64_t over_us; /* since when a list calls it over while it is connected; 0: none does */
	int64_t dark_us; /* since when it is not connected, and should be */
	bool idle;       /* for it had no trial */
	bool leaving;    /* it was told to end */
	bool cancel;     /* it is to be cancelled as soon as its id is known */
	enum { SW_PILOT_NOT, SW_PILOT_ASKED, SW_PILOT_DONE_SO } cancelled;
};

enum sw_pilot_verb {
	SW_PILOT_SUBMIT,
	SW_PILOT_LIST,
	SW_PILOT_CANCEL,
	SW_PILOT_CHECK,
	SW_PILOT_VERBS
};

struct sw_daemon_pilot {
	/* How the room above is asked: the shapes of which there is a trial that could begin on a
	 * pilot, and how many of these would now if there were slots of pilots, beyond those that
	 * are free or on their way: at most `most` and all slots are counted. Returns how many
	 * shapes; that of the sweep to be served first leads. */
	size_t (*wanted)(struct sw_daemon *d, size_t most, struct sw_job_want out[SW_JOB_SHAPES]);
	struct sw_pilot *jobs; /* [n]: one for each worker that is away */
	size_t n;
	char program[2 * PATH_MAX]; /* the executor's; "": not found */
	char prefix[32]; /* of all names of this state directory: "sweepd-3f2a91c04b7d-" */
	uint64_t next;   /* number of the next submission; it begins anywhere */
	unsigned placed; /* jobs of the last one that are to be */
	unsigned port;   /* of the last start; 0: none */
	struct sw_errand *run[SW_PILOT_VERBS]; /* those under way; NULL: none */
	bool list_due;                         /* one list is due, whatever is known to be there */
	int64_t listed_us;                     /* when the last list began */
	int64_t list_us;                       /* at least so long between two */
	int64_t dark_us;   /* a job that runs and is not connected for so long is cancelled */
	int64_t first_us;  /* the first pause */
	int64_t cancel_us; /* no cancel before this moment */
	int64_t asked_us;  /* when it was last asked how many are wanted */
	uint64_t submits;  /* the shape of the submission under way */
	char checked[240]; /* what `check` said */
	bool fails[SW_PILOT_VERBS]; /* each verb's last run */
	char trouble[240];          /* what is wrong with the executor, but for its submissions;
				     * "": nothing */
	struct sw_stray
		*strays; /* jobs that no slot wants: to be cancelled, by what submitted them */
	struct sw_pilot_line *others; /* [n_others], by name (daemon/pilot/others.h); NULL: none */
	size_t n_others;
	uint64_t n_submits, n_lists;
};

#endif
