/* store/tx_suggestion.c — how trials came about, and what the sampler needs to go on. */
#include "store/columns.h"

const struct sw_op_def sw_op_suggestion = {
	"insert suggestion",
	{SW_INSERT("suggestion", SW_TABLE_SUGGESTION)},
	{false},
};

void sw_tx_suggestion(struct sw_tx *tx, const struct sw_row_suggestion *row)
{
	sw_tx_op(tx, SW_OP_SUGGESTION);
	SW_PUT_ROW(SW_TABLE_SUGGESTION)
}

const struct sw_op_def sw_op_sampler = {
	"put sampler",
	{SW_INSERT("sampler",
		   SW_TABLE_SAMPLER) " ON CONFLICT (sweep) DO UPDATE SET trial = ?2, state = ?3"},
	{false},
};

void sw_tx_sampler(struct sw_tx *tx, const struct sw_row_sampler *row)
{
	sw_tx_op(tx, SW_OP_SAMPLER);
	SW_PUT_ROW(SW_TABLE_SAMPLER)
}

const struct sw_op_def sw_op_prior = {
	"insert prior",
	{SW_INSERT("prior", SW_TABLE_PRIOR)},
	{false},
};

void sw_tx_prior(struct sw_tx *tx, const struct sw_row_prior *row)
{
	sw_tx_op(tx, SW_OP_PRIOR);
	SW_PUT_ROW(SW_TABLE_PRIOR)
}
