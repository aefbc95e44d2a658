/*
 * daemon/slot/room.h — is there room for a trial on a slot?
 *
 * A trial takes units of one pool, all at once: lanes of one GPU, CPU slots of this machine, or
 * whole GPUs of this machine. A pilot is a pool of one unit. What kinds of need there are, and the
 * words for each, stands in one table (room.c), and sw_room_for() is the one answer: yes, not now,
 * or never, each with its reason.
 *
 * A trial that takes more bytes than the GPU has goes to a larger one if there is one; beside
 * others it goes where its bytes are free. Under --gpu-memory each lane has memory of its own.
 */
#ifndef SW_DAEMON_SLOT_ROOM_H
#define SW_DAEMON_SLOT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct sw_daemon;
struct sw_slot;
struct sw_worker;

#define SW_ROOM_PRECISION 80 /* the compute capability from which GPUs have TF32 and BF16 */
#define SW_ROOM_NO_PILOT  UINT64_MAX

enum sw_room_pool {
	SW_POOL_ANY,   /* a lane of a GPU, or CPU slots that have so many cores together */
	SW_POOL_CORES, /* CPU slots that have so many cores together */
	SW_POOL_CPUS,  /* so many CPU slots, with all their cores */
	SW_POOL_GPU,   /* a part of a GPU up to 1: that part of its lanes, at least one */
	SW_POOL_GPUS,  /* so many whole GPUs, not parts of divided ones */
};

/* A row of the table; NULL: no need of that kind comes to it. */
struct sw_room_kind {
	bool gpu, cpu;    /* the slots that have its units */
	bool whole;       /* a unit is all lanes of a GPU, and the pool all GPUs of this machine */
	const char *unit; /* "it takes 2 ..., 1 free" */
	const char *one;  /* "waits for a ..." */
	const char *is;   /* after it: "none of the 3 slots ..." */
	const char *many; /* "waits for 2 ..." */
	const char *few;  /* after it: why no slot takes as many */
};

struct sw_room_need {
	enum sw_room_pool pool;
	double units;  /* of that; 0: one slot, whatever it has */
	int64_t bytes; /* what a trial takes at most; 0: not known, and then units alone count */
	int64_t data_bytes; /* of these its data set's, which trials of one sweep share on a GPU; 0:
			     * not known, and then each counts it */
	int64_t sweep;
	uint64_t shape; /* pilots whose job has this one; 0: any; SW_ROOM_NO_PILOT */
	bool files; /* it needs files of the daemon's machine: no pilot that does not see them */
	/* Its products are in TF32 or BF16: no CPU slot, and no GPU that is known to be below
	 * SW_ROOM_PRECISION, will do. */
	bool precision;
};

/* The nearest first. */
enum sw_room_is {
	SW_ROOM_YES,
	/* not now */
	SW_ROOM_UNITS, /* too few units of its pool are free */
	SW_ROOM_BYTES, /* too few bytes are free */
	SW_ROOM_SOON, /* too few CPU slots are free, and whichever trial ends next leaves enough: to
			 * keep some meanwhile helps nobody */
	SW_ROOM_ALONE,  /* after its worker's end trials run alone there, and one does */
	SW_ROOM_LARGER, /* it waits for a larger GPU */
	SW_ROOM_DOWN,   /* too few units are up: to keep these for it would help nobody */
	SW_ROOM_OFF,    /* the slot takes no trial: it is not up, or its GPU is not well */
	/* never, as the slots are */
	SW_ROOM_SHAPE, /* a pilot whose job has other options */
	SW_ROOM_BLIND, /* a pilot that does not see the files of this machine */
	SW_ROOM_NO_PRECISION,
	SW_ROOM_FEW, /* no such slot, or its pool has too few units */
};

struct sw_room {
	enum sw_room_is is;
	unsigned units;      /* that the trial takes of the slot's pool */
	unsigned left, free; /* of those there: that are up, or soon will be; free now */
	bool soon; /* has each trial there as many as this, and is no slot on its way up? */
	const struct sw_slot *missing; /* one that is not left; NULL: all are */
};

const struct sw_room_kind *sw_room_kind(const struct sw_room_need *need);
/* Is the slot up, without a trial, and no unit of another's? */
bool sw_room_is_free(const struct sw_slot *s);
/* Is this one of the GPUs of the slot's trial: its own, or one whose lanes it holds? */
bool sw_room_has(const struct sw_slot *s, const struct sw_worker *w);
/* The GPU of that rank of the slot's trial: 0 is its own, the others come in their order. NULL:
 * it has fewer. */
struct sw_worker *sw_room_gpu(const struct sw_slot *s, unsigned rank);
/* Will the GPU, if it takes no trial now, soon do so by itself? */
bool sw_room_comes_back(const struct sw_worker *w);
/* Units that a trial takes on such a slot; 0: none goes there. */
unsigned sw_room_units(const struct sw_slot *s, const struct sw_room_need *need);
/* May the trial begin on the slot? O(lanes of a GPU), of several CPU slots or GPUs O(slots). */
struct sw_room sw_room_for(const struct sw_slot *s, const struct sw_room_need *need);
/* Would it go there, now or once there is room? */
bool sw_room_suits(const struct sw_slot *s, const struct sw_room_need *need);
/* The slot's trial, just begun, has what it takes: the slot itself and the next free units. */
void sw_room_take(struct sw_slot *s, const struct sw_room_need *need);
/* The slot's trial is over: the others that it had are free again. */
void sw_room_leave(struct sw_slot *s);

#endif
