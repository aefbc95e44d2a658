/* store/tx_sweep.c — sweeps and the events that their state machines took. */
#include "store/columns.h"

const struct sw_op_def sw_op_sweep_insert = {
	"insert sweep",
	{SW_INSERT("sweep", SW_TABLE_SWEEP)},
	{false},
};

void sw_tx_sweep_insert(struct sw_tx *tx, const struct sw_row_sweep *row)
{
	sw_tx_op(tx, SW_OP_SWEEP_INSERT);
	SW_PUT_ROW(SW_TABLE_SWEEP)
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
_Static_assert(SW_GONE_ALL == 2, "as in the statement above");

void sw_tx_sweep_gone(struct sw_tx *tx, int64_t sweep, enum sw_gone gone, int64_t spared,
		      const char *cause)
{
	sw_tx_op(tx, SW_OP_SWEEP_GONE);
	SW_TX_INTS(tx, sweep, gone, spared);
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
	{SW_INSERT("event", SW_TABLE_EVENT)},
	{false},
};

void sw_tx_event(struct sw_tx *tx, const struct sw_row_event *row)
{
	sw_tx_op(tx, SW_OP_EVENT);
	SW_PUT_ROW(SW_TABLE_EVENT)
}
