/*
 * trainer/model/stages.h — a pipeline: the operations of a model in as many ranges as there are
 * stages, and the model that a stage trains.
 *
 * Cuts     Between two operations where one value crosses: all that lies behind reads that value or
 *          later ones, so that no residual is open, and no two operations that one call makes are
 *          taken apart. Each stage has parameters.
 * Balance  Of all such cuts those whose heaviest stage has least work: counted are products, and by
 *          an estimate what each element that is written costs. Among those that are within a tenth
 *          of it, the ones whose largest stage needs least memory: of parameters, and of what is
 *          kept for the rows under way.
 * Pure     The same cuts on every rank.
 */
#ifndef SW_TRAINER_MODEL_STAGES_H
#define SW_TRAINER_MODEL_STAGES_H

#include "trainer/model/model.h"
#include "trainer/model/trainer.h"

#define SW_STAGES_MAX 64

/* Of t->stages stages (1 to SW_STAGES_MAX): first[s] becomes the first operation of stage s,
 * first[stages] m->ops_n. t also says how many rows are under way. SW_INVALID: the model cannot be
 * cut into so many. Cost: O(stages operations^2). */
SW_NODISCARD sw_status sw_stages_cut(const struct sw_model *m, const struct sw_trainer *t,
				     size_t first[SW_STAGES_MAX + 1], struct sw_err *err);

/* Of m's [from, to): what the cuts balance, in operations a row. */
double sw_stages_work(const struct sw_model *m, size_t from, size_t to);
/* Operations of a row's training step, as sw_model_flops(), of m's [from, to). */
double sw_stages_flops(const struct sw_model *m, size_t from, size_t to);

/* The model of m's operations [from, to), with plans of its own: its value 0 is what crosses the
 * cut in front of it, its weights and running statistics are *weights and *running floats behind
 * the beginning of m's. out: the caller's. */
void sw_stages_model(struct sw_model *out, const struct sw_model *m, size_t from, size_t to,
		     size_t *weights, size_t *running);

#endif
