/*
 * trainer/allowance.h — how much of its device's memory the trial of a lane may have, and whether
 * it is the trial's own fault that there was too little.
 */
#ifndef SW_TRAINER_ALLOWANCE_H
#define SW_TRAINER_ALLOWANCE_H

#include "trainer/net/net.h"
#include "trainer/runner.h"

/* Bytes that a data set may have on the device: half of the memory, so that arenas have room beside
 * it. 0: no limit. */
size_t sw_allowance_of_data(const struct sw_runner *r);

/* t->memory: of a cap each lane may have an equal part of what the data set leaves. SW_NOMEM: it
 * leaves nothing. */
SW_NODISCARD sw_status sw_allowance_of_trial(const struct sw_runner *r, const struct sw_data *data,
					     struct sw_trainer *t, struct sw_err *err);

/* Drops data sets of earlier trials where an arena for whole batches does not fit beside them. */
void sw_allowance_make_room(const struct sw_runner *r, const struct sw_model *m,
			    const struct sw_trainer *t, const struct sw_data *data);

/* Drops what of them the cap does not leave beside the arenas. */
void sw_allowance_trim(const struct sw_runner *r, const struct sw_trainer *t,
		       const struct sw_net *net);

/* Would the trial, a row at a time, fit the device if it had that alone, and its own share? Then a
 * want of memory says nothing of its parameters. */
bool sw_allowance_would_do(const struct sw_runner *r, const struct sw_model *m,
			   const struct sw_trainer *t, const struct sw_data *data);

#endif
