/* store/tx_trial.c — trials and their attempts. */
#include "store/columns.h"

const struct sw_op_def sw_op_trial_insert = {
	"insert trial",
	{SW_INSERT("trial", SW_TABLE_TRIAL)},
	{false},
};

void sw_tx_trial_insert(struct sw_tx *tx, const struct sw_row_trial *row)
{
	sw_tx_op(tx, SW_OP_TRIAL_INSERT);
	SW_PUT_ROW(SW_TABLE_TRIAL)
}

const struct sw_op_def sw_op_trial_state = {
	"change the state of trial",
	{"UPDATE trial SET state = ?3, cause = ?4, attempt = ?5,"
	 " started_ms = CASE WHEN ?6 <> 0 THEN ?6 ELSE started_ms END, ended_ms = ?7, seconds = ?8"
	 " WHERE sweep = ?1 AND trial = ?2"},
	{false},
};

void sw_tx_trial_state(struct sw_tx *tx, const struct sw_row_trial *row)
{
	sw_tx_op(tx, SW_OP_TRIAL_STATE);
	SW_TX_INTS(tx, row->sweep, row->trial);
	sw_tx_text(tx, row->state);
	sw_tx_text_opt(tx, row->cause);
	SW_TX_INTS(tx, row->attempt, row->started_ms, row->ended_ms);
	sw_tx_real(tx, row->seconds);
}

/* The trial's step and value stay those of the earlier attempt until this one reports: the best
 * trial does not vanish because its worker was lost. */
const struct sw_op_def sw_op_attempt_start = {
	"insert attempt",
	{SW_INSERT("attempt", SW_TABLE_ATTEMPT),
	 /* its row does not name this attempt yet */
	 "UPDATE trial AS t SET standing = (SELECT r.metrics FROM report r WHERE r.sweep = t.sweep"
	 " AND r.trial = t.trial AND " SW_UNCUT SW_STANDING_LAST ")"
	 " WHERE t.sweep = ?1 AND t.trial = ?2 AND t.standing IS NOT NULL"},
	{false, true},
};

void sw_tx_attempt_start(struct sw_tx *tx, const struct sw_row_attempt *row)
{
	sw_tx_op(tx, SW_OP_ATTEMPT_START);
	SW_PUT_ROW(SW_TABLE_ATTEMPT)
}

const struct sw_op_def sw_op_attempt_end = {
	"end attempt",
	{"UPDATE attempt SET ended_ms = ?4, state = ?5, cause = ?6, gpu_bytes = ?7,"
	 " gpu_util = ?8, joules = ?9"
	 " WHERE sweep = ?1 AND trial = ?2 AND attempt = ?3"},
	{false},
};

void sw_tx_attempt_end(struct sw_tx *tx, const struct sw_row_attempt *row)
{
	sw_tx_op(tx, SW_OP_ATTEMPT_END);
	SW_TX_INTS(tx, row->sweep, row->trial, row->attempt, row->ended_ms);
	sw_tx_text(tx, row->state);
	sw_tx_text_opt(tx, row->cause);
	sw_tx_real_opt(tx, row->has_gpu_bytes, row->gpu_bytes);
	sw_tx_real_opt(tx, row->has_gpu_util, row->gpu_util);
	sw_tx_real_opt(tx, row->has_joules, row->joules);
}
