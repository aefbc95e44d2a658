/*
 * daemon/slot/room.h — is there room for a trial on a slot: lanes and bytes of its GPU, or CPU
 * slots with as many cores as it asks for, or several whole GPUs.
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

struct sw_room_need {
	double gpu;         /* what its spec's resources.gpu asks for: see sw_device_lanes() */
	unsigned gpus;      /* so many whole GPUs, not parts of divided ones; 0: at most one */
	unsigned cores;     /* of a CPU; 0: those of one slot, whatever they are */
	unsigned cpu_slots; /* whole ones; 0: as many as have the cores */
	int64_t bytes; /* what a trial takes at most; 0: not known, and then lanes alone count */
	int64_t data_bytes; /* of these its data set's, which trials of one sweep share on a GPU; 0:
			     * not known, and then each counts it */
	int64_t sweep;
	uint64_t shape; /* pilots whose job has this one; 0: any; SW_ROOM_NO_PILOT */
	bool files; /* it needs files of the daemon's machine: no pilot that does not see them */
	/* Its products are in TF32 or BF16: no CPU slot, and no GPU that is known to be below
	 * SW_ROOM_PRECISION, will do. */
	bool precision;
	bool trains; /* the trainer's: its worker opens the GPU */
	bool alone;  /* on a GPU it takes all lanes: others had memory that it lacked */
};

enum sw_room {
	SW_ROOM_YES,
	SW_ROOM_SHUT,   /* its GPU did not open for the trainer, or sums with others wrongly */
	SW_ROOM_LARGER, /* it waits for a larger GPU */
	SW_ROOM_ALONE,  /* after its worker's end trials run alone there, and one does */
	SW_ROOM_LANES,  /* too few lanes are free */
	SW_ROOM_BYTES,  /* too few bytes are free */
	SW_ROOM_SOON, /* too few CPU slots are free, and whichever trial ends next leaves enough: to
			 * keep some meanwhile helps nobody */
	SW_ROOM_DOWN, /* too few CPU slots are up: to keep these for it would help nobody */
};

/* Until when a trial of the trainer does not begin there; 0: it may. */
int64_t sw_room_shut_us(const struct sw_slot *s, const struct sw_room_need *need);
/* Is the slot up, without a trial or the rest of one, and no lane of another's? */
bool sw_room_is_free(const struct sw_slot *s);
/* The lanes of its GPU that no trial has; 0 beside a trial that is to run alone. The CPU slots that
 * no trial has. */
unsigned sw_room_lanes(const struct sw_slot *s);
/* GPUs that a trial of several may have now: whole ones, without any trial. */
unsigned sw_room_gpus(const struct sw_daemon *d, const struct sw_room_need *need);
/* Is this one of the GPUs of the slot's trial: its own, or one whose lanes it holds? */
bool sw_room_has(const struct sw_slot *s, const struct sw_worker *w);
/* The GPU of that rank of the slot's trial: 0 is its own, the others come in their order. NULL:
 * it has fewer. */
struct sw_worker *sw_room_gpu(const struct sw_slot *s, unsigned rank);
/* Will the GPU, if it takes no trial now, soon do so by itself? */
bool sw_room_comes_back(const struct sw_worker *w);
/* Does the slot compute in TF32 and BF16, as far as is known? */
bool sw_room_has_precision(const struct sw_slot *s);
/* Lanes, or CPU slots, that a trial takes there; 0: it does not go there. */
unsigned sw_room_takes(const struct sw_slot *s, const struct sw_room_need *need);
/* Is it the shape of the pilot's job alone that keeps the trial from there? */
bool sw_room_other_shape(const struct sw_slot *s, const struct sw_room_need *need);
/* For a trial that suits the slot (sw_room_takes() is not 0) and would begin on it now. */
enum sw_room sw_room_for(const struct sw_slot *s, const struct sw_room_need *need);
/* The slot's trial, just begun, has what it takes: the slot itself and the next free ones. */
void sw_room_take(struct sw_slot *s, const struct sw_room_need *need);
/* The slot's trial is over: the others that it had are free again. */
void sw_room_leave(struct sw_slot *s);

#endif
