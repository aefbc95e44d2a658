/* store/tx_suggestion.c — how trials came about, and what the sampler needs to go on. */
#include "store/internal.h"

const struct sw_op_def sw_op_suggestion = {
	"insert suggestion",
	{"INSERT INTO suggestion (sweep, trial, known, why) VALUES (?1, ?2, ?3, ?4)"},
	{false},
};

void sw_tx_suggestion(struct sw_tx *tx, const struct sw_row_suggestion *row)
{
	sw_tx_op(tx, SW_OP_SUGGESTION);
	SW_TX_INTS(tx, row->sweep, row->trial, row->known);
	sw_tx_text(tx, row->why);
}

const struct sw_op_def sw_op_sampler = {
	"put sampler",
	{"INSERT INTO sampler (sweep, trial, state) VALUES (?1, ?2, ?3)"
	 " ON CONFLICT (sweep) DO UPDATE SET trial = ?2, state = ?3"},
	{false},
};

void sw_tx_sampler(struct sw_tx *tx, const struct sw_row_sampler *row)
{
	sw_tx_op(tx, SW_OP_SAMPLER);
	SW_TX_INTS(tx, row->sweep, row->trial);
	sw_tx_text(tx, row->state);
}

const struct sw_op_def sw_op_prior = {
	"insert prior",
	{"INSERT INTO prior (sweep, n, params, y, from_sweep, from_trial)"
	 " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
	{false},
};

void sw_tx_prior(struct sw_tx *tx, const struct sw_row_prior *row)
{
	sw_tx_op(tx, SW_OP_PRIOR);
	SW_TX_INTS(tx, row->sweep, row->n);
	sw_tx_text(tx, row->params);
	sw_tx_text(tx, row->y);
	SW_TX_INTS(tx, row->from_sweep, row->from_trial);
}
