/* store/tx_journal.c — entries of a journal. There is one writer, so no number is
 * given twice. */
#include "store/internal.h"

const struct sw_op_def sw_op_journal = {
	"append to journal",
	{"INSERT INTO journal (journal, n, entry) VALUES (?1,"
	 " (SELECT coalesce(max(n), 0) + 1 FROM journal WHERE journal = ?1), ?2)"},
	{false},
};

void sw_tx_journal(struct sw_tx *tx, const char *journal, const char *entry)
{
	sw_tx_op(tx, SW_OP_JOURNAL);
	sw_tx_text(tx, journal);
	sw_tx_text(tx, entry);
}

const struct sw_op_def sw_op_journal_delete = {
	"delete a journal",
	{"DELETE FROM journal WHERE journal = ?1"},
	{true},
};

void sw_tx_journal_delete(struct sw_tx *tx, const char *journal)
{
	sw_tx_op(tx, SW_OP_JOURNAL_DELETE);
	sw_tx_text(tx, journal);
}
