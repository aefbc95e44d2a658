/*
 * daemon/slot/losses.h — a GPU that loses one attempt after another is taken out.
 *
 * That is when the last SW_LOSSES_OUT attempts which ended on it were lost there: their worker or
 * their rank had ended, or the GPU was lost. No trial begins on it then until the daemon's next
 * start, and the attempt that was lost last does not count against its trial.
 *
 * Two things look like a broken GPU and are not:
 *   - a trial that ends any worker: its losses count only on the GPU that lost it last. If another
 *     was taken out for them, that one takes trials again.
 *   - a sweep, or a machine, on which nothing works: a GPU is taken out only while as many others
 *     take trials and did not lose their last attempt. So the last one stays.
 * A trial on several GPUs counts from its first step on: before that NCCL starts, whose faults are
 * the driver's or its own.
 * CPU slots have no losses: no hardware belongs to one of them alone.
 */
#ifndef SW_DAEMON_SLOT_LOSSES_H
#define SW_DAEMON_SLOT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

struct sw_slot;
struct sw_worker;

#define SW_LOSSES_OUT 3

/* A worker's; zeros: none. */
struct sw_losses {
	struct sw_losses_of {
		int64_t sweep, trial; /* zeros: the GPU itself was lost, whatever the trial */
	} of[SW_LOSSES_OUT];          /* the latest last */
	unsigned n;                   /* in a row; of more the latest are kept */
	char out[240];                /* why it takes no trial; "": it is not taken out */
};

/* Has its trainer on several GPUs begun no step yet? */
bool sw_losses_before(const struct sw_slot *s);
/* The slot's worker ended by the attempt that it has, and no GPU is known to have failed. The
 * GPU that is taken out for that, which is to blame then; NULL: none is. */
const struct sw_worker *sw_losses_attempt(const struct sw_slot *s);
/* The worker's GPU was lost under an attempt. */
void sw_losses_gpu(struct sw_worker *w);
/* The slot's attempt has ended otherwise, well or not. */
void sw_losses_none(const struct sw_slot *s);

#endif
