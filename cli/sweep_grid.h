/* cli/sweep_grid.h — sweeps as a grid: what `ls` and `compare` show of each. */
#ifndef SW_CLI_SWEEP_GRID_H
#define SW_CLI_SWEEP_GRID_H

#include "cli/cli.h"
#include "cli/grid.h"

/* The columns. g is the caller's (sw_grid_fini). */
void sw_sweep_grid_init(struct sw_grid *g, bool utf8);
/* A row: s is one of sweep.list, or the result of sweep.get. */
void sw_sweep_grid_add(struct sw_grid *g, const cJSON *s);
/* Appends the table to c->out, and ends the grid. */
void sw_sweep_grid_print(struct sw_cli *c, struct sw_grid *g);

#endif
