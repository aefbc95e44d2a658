/* store/tx_sweep.c — sweeps and the events that their state machines took. */
#include "store/internal.h"

const struct sw_op_def sw_op_sweep_insert = {
	"insert sweep",
	{"INSERT INTO sweep (sweep, name, spec, state, cause, metric, method, seed, maximize,"
	 " driven, run_cap, created_ms, ended_ms, uid, bytes, data_bytes, data_sum)"
	 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"},
	{false},
};

void sw_tx_sweep_insert(struct sw_tx *tx, const struct sw_row_sweep *row)
{
	sw_tx_op(tx, SW_OP_SWEEP_INSERT);
	sw_tx_int(tx, row->sweep);
	sw_tx_text_opt(tx, row->name);
	sw_tx_text(tx, row->spec);
	sw_tx_text(tx, row->state);
	sw_tx_text_opt(tx, row->cause);
	sw_tx_text_opt(tx, row->metric);
	sw_tx_text_opt(tx, row->method);
	SW_TX_INTS(tx, row->seed, row->maximize, row->driven, row->run_cap, row->created_ms,
		   row->ended_ms, row->uid, row->bytes, row->data_bytes, row->data_sum);
}

const struct sw_op_def sw_op_sweep_state = {
	"change the state of sweep",
	{"UPDATE sweep SET ended_ms = ?2, run_cap = ?3, state = ?4, cause = ?5 WHERE sweep = ?1"},
	{false},
};

void sw_tx_sweep_state(struct sw_tx *tx, int64_t sweep, const char *state, const char *cause,
		       int64_t ended_ms, int64_t run_cap)
{
	sw_tx_op(tx, SW_OP_SWEEP_STATE);
	SW_TX_INTS(tx, sweep, ended_ms, run_cap);
	sw_tx_text(tx, state);
	sw_tx_text_opt(tx, cause);
}

const struct sw_op_def sw_op_sweep_gone = {
	"delete sweep",
	{"UPDATE sweep SET gone = ?2, kept = ?3, cause = coalesce(?4, cause) WHERE sweep = ?1",
	 "UPDATE sweep SET name = '', spec = '{}', metric = NULL, cause = NULL, tags = NULL,"
	 " note = NULL"
	 " WHERE sweep = ?1 AND ?2 = 2"},
	{false, true},
};
_Static_assert(SW_GONE_ALL == 2, "as in the statement above and in schema.sql");

void sw_tx_sweep_gone(struct sw_tx *tx, int64_t sweep, enum sw_gone gone, int64_t kept,
		      const char *cause)
{
	sw_tx_op(tx, SW_OP_SWEEP_GONE);
	SW_TX_INTS(tx, sweep, gone, kept);
	sw_tx_text_opt(tx, cause);
}

const struct sw_op_def sw_op_sweep_annotate = {
	"annotate sweep",
	{"UPDATE sweep SET tags = coalesce(?2, tags), note = coalesce(?3, note) WHERE sweep = ?1"},
	{false},
};

void sw_tx_sweep_annotate(struct sw_tx *tx, int64_t sweep, const char *tags, const char *note)
{
	sw_tx_op(tx, SW_OP_SWEEP_ANNOTATE);
	sw_tx_int(tx, sweep);
	sw_tx_text_opt(tx, tags);
	sw_tx_text_opt(tx, note);
}

const struct sw_op_def sw_op_event = {
	"insert event",
	{"INSERT INTO event (sweep, ev, kind, trial, attempt, state, cause, run_cap, time_ms, uid)"
	 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
	{false},
};

void sw_tx_event(struct sw_tx *tx, const struct sw_row_event *row)
{
	sw_tx_op(tx, SW_OP_EVENT);
	SW_TX_INTS(tx, row->sweep, row->ev);
	sw_tx_text(tx, row->kind);
	SW_TX_INTS(tx, row->trial, row->attempt);
	sw_tx_text_opt(tx, row->state);
	sw_tx_text_opt(tx, row->cause);
	SW_TX_INTS(tx, row->run_cap, row->time_ms, row->uid);
}
