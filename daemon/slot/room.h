/*
 * daemon/slot/room.h — is there room for a trial on a slot: lanes and bytes of its GPU, or CPU slots
 * with as many cores as it asks for.
 *
 * A trial that takes more bytes than the GPU has goes to a larger one if there is one; beside
 * others it goes where its bytes are free. Under --gpu-memory each lane has memory of its own.
 */
#ifndef SW_DAEMON_SLOT_ROOM_H
#define SW_DAEMON_SLOT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct sw_slot;

struct sw_room_need {
	double gpu;     /* what its spec's resources.gpu asks for: see sw_device_lanes() */
	unsigned cores; /* of a CPU; 0: those of one slot, whatever they are */
	int64_t bytes;  /* what a trial takes at most; 0: not known, and then lanes alone count */
};

enum sw_room {
	SW_ROOM_YES,
	SW_ROOM_LARGER, /* it waits for a larger GPU */
	SW_ROOM_ALONE,  /* after its worker's end trials run alone there, and one does */
	SW_ROOM_LANES,  /* too few lanes are free */
	SW_ROOM_BYTES,  /* too few bytes are free */
};

/* Is the slot up, without a trial, and no lane of another's? */
bool sw_room_is_free(const struct sw_slot *s);
/* The lanes of its GPU that no trial has; 0 beside a trial that is to run alone. The CPU slots that
 * no trial has. */
unsigned sw_room_lanes(const struct sw_slot *s);
/* Lanes, or CPU slots, that a trial takes there; 0: it does not go there. */
unsigned sw_room_takes(const struct sw_slot *s, const struct sw_room_need *need);
/* For a trial that suits the slot (sw_room_takes() is not 0) and would begin on it now. */
enum sw_room sw_room_for(const struct sw_slot *s, const struct sw_room_need *need);
/* The slot's trial, just begun, has what it takes: the slot itself and the next free ones. */
void sw_room_take(struct sw_slot *s, const struct sw_room_need *need);
/* The slot's trial is over: the others that it had are free again. */
void sw_room_leave(struct sw_slot *s);

#endif
