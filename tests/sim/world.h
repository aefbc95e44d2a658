/* tests/sim/world.h — the world's parts: lanes and messages, in order of virtual time. */
#ifndef SW_TESTS_SIM_WORLD_H
#define SW_TESTS_SIM_WORLD_H

#include "tests/sim/sim.h"

enum sim_message {
	SIM_ASK,     /* a lane is free */
	SIM_TRAIN,   /* a lane goes on with its trial */
	SIM_REPORT,  /* arrives at the daemon */
	SIM_RESEND,  /* a lane has waited long enough for an answer */
	SIM_TELL,    /* arrives */
	SIM_NOTICED, /* the daemon learns that an attempt is gone */
	SIM_FREE,    /* a lane learns that its trial is over */
	SIM_USER,    /* someone does something */
	SIM_SETTLE,  /* the daemon goes on with the sweep's end */
};

struct sim_at {
	double at;
	uint64_t order; /* equal times: first made, first served */
	enum sim_message kind;
	size_t lane;
	struct sw_event ev;
};

/* What was reported, to be sent again. */
struct sim_sent {
	uint64_t step;
	double value;
	bool has_value, final, result, checkpoint;
};

struct sim_lane {
	uint64_t trial; /* 0: none */
	uint32_t attempt;
	bool dead;         /* it crashed */
	bool expired;      /* cut off: the daemon gives its trial to another, and it trains on */
	uint64_t step;     /* trained */
	uint64_t reported; /* steps up to this one are reported */
	uint64_t until;
	uint64_t ends_at; /* it fails there by itself; 0: it does not */
	enum sw_trial_state end;
	uint64_t made, acked; /* reports: seq of the last made, of the last answered */
	struct sim_sent sent[SIM_WINDOW_MAX]; /* seq acked + 1 .. made, at (seq % SIM_WINDOW_MAX) */
	bool waits;                           /* for an answer, to train on */
	bool told;                            /* it has said how it ended */
	uint64_t last;                        /* step at which it ends by itself */
	double pace_s;
	struct sw_value values[SIM_PARAMS];
};

struct sim_world {
	struct sim_feed *feed;
	const struct sim_plan *plan;
	uint64_t rng;
	double now;
	uint64_t orders;
	struct sim_at *heap;
	size_t n, cap;
	struct sim_lane *lane; /* [plan->workers] */
	size_t *idle, idle_n;  /* lanes that were told that there is nothing */
	size_t *holder;        /* [holder_cap] the lane that a trial was last handed to */
	uint64_t holder_cap;
	bool calm;     /* faults have stopped */
	bool settling; /* a SIM_SETTLE is under way */
};

/* queue.c */
void sim_world_push(struct sim_world *w, double in, struct sim_at m);
bool sim_world_pop(struct sim_world *w, struct sim_at *out);
/* user.c */
/* What the user does now; false: nothing. */
bool sim_user_act(struct sim_world *w, struct sim_event *e);

#endif
