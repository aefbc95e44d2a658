/* store/tx_report.c — reports, the judgements made of them, and log lines. */
#include "store/columns.h"

/* A new attempt's first report: reports of the one before it past the step that this one went on
 * from no longer count, so the best is sought again. */
#define BEST_AGAIN                                                                                 \
	"UPDATE trial AS t SET (best_step, best_value) = (SELECT r.step, r.value" SW_CURVE         \
	" AND r.value IS NOT NULL AND r.diverged = 0 ORDER BY CASE WHEN (SELECT s.maximize FROM "  \
	"sweep s"                                                                                  \
	" WHERE s.sweep = ?1) <> 0 THEN -r.value ELSE r.value END, r.step LIMIT 1)"                \
	" WHERE t.sweep = ?1 AND t.trial = ?2 AND ?3 > 1 AND NOT EXISTS (SELECT 1 FROM report r"   \
	" WHERE r.sweep = ?1 AND r.trial = ?2 AND r.attempt = ?3 AND r.seq < ?4)"
#define IS_BETTER                                                                                  \
	"?8 IS NOT NULL AND ?9 = 0 AND (best_value IS NULL OR CASE WHEN (SELECT s.maximize FROM "  \
	"sweep s"                                                                                  \
	" WHERE s.sweep = ?1) <> 0 THEN ?8 > best_value ELSE ?8 < best_value END)"

const struct sw_op_def sw_op_report = {
	"insert report",
	{"INSERT INTO report (" SW_NAMES(SW_TABLE_REPORT) ", metrics) VALUES (" SW_MARKS(
		 SW_TABLE_REPORT) ", ?12)",
	 "UPDATE trial SET step = CASE WHEN ?8 IS NOT NULL OR ?9 <> 0 OR value IS NULL THEN ?6"
	 " ELSE step END, value = CASE WHEN ?9 = 0 THEN coalesce(?8, value) END"
	 ", resume_step = CASE"
	 " WHEN ?11 > 0 OR (?11 = 0 AND ?10 = 'pause') THEN ?6 ELSE resume_step END"
	 ", best_step = CASE WHEN " IS_BETTER " THEN ?6 ELSE best_step END"
	 ", best_value = CASE WHEN " IS_BETTER " THEN ?8 ELSE best_value END"
	 ", standing = CASE WHEN ?13 <> 0 AND ?8 IS NOT NULL AND ?9 = 0 THEN ?12 ELSE standing END"
	 " WHERE sweep = ?1 AND trial = ?2",
	 BEST_AGAIN},
	{false, false, true},
};

void sw_tx_report(struct sw_tx *tx, const struct sw_row_report *row)
{
	sw_tx_op(tx, SW_OP_REPORT);
	SW_PUT_ROW(SW_TABLE_REPORT)
	sw_tx_text_opt(tx, row->metrics);
	sw_tx_int(tx, row->several);
}

const struct sw_op_def sw_op_decision = {
	"insert decision",
	{SW_INSERT("decision", SW_TABLE_DECISION)},
	{false},
};

void sw_tx_decision(struct sw_tx *tx, const struct sw_row_decision *row)
{
	sw_tx_op(tx, SW_OP_DECISION);
	SW_PUT_ROW(SW_TABLE_DECISION)
}

const struct sw_op_def sw_op_left_out = {
	"count what was left out of trial",
	{"UPDATE trial SET left_out = left_out + ?3, left_why = coalesce(left_why, ?4)"
	 " WHERE sweep = ?1 AND trial = ?2"},
	{false},
};

void sw_tx_left_out(struct sw_tx *tx, int64_t sweep, int64_t trial, int64_t n, const char *why)
{
	sw_tx_op(tx, SW_OP_LEFT_OUT);
	SW_TX_INTS(tx, sweep, trial, n);
	sw_tx_text(tx, why);
}

#define STR(x)  #x
#define XSTR(x) STR(x)
#define LAST_N  "(SELECT max(n) FROM log WHERE sweep = ?1 AND trial = ?2)"

/* Lines of a trial are numbered, so the one that falls out is found by its number. */
const struct sw_op_def sw_op_log = {
	"insert a log line of trial",
	{"INSERT INTO log (" SW_NAMES(SW_TABLE_LOG) ")"
						    " VALUES (?1, ?2, coalesce(" LAST_N
						    ", 0) + 1, ?4, ?5, ?6)",
	 "DELETE FROM log WHERE sweep = ?1 AND trial = ?2 AND n <= " LAST_N
	 " - " XSTR(SW_LOG_MAX_LINES)},
	{false, true},
};

void sw_tx_log(struct sw_tx *tx, const struct sw_row_log *row)
{
	sw_tx_op(tx, SW_OP_LOG);
	SW_PUT_ROW(SW_TABLE_LOG)
}
