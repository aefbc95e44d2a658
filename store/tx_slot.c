/* store/tx_slot.c — which worker process holds a slot. */
#include "store/columns.h"

const struct sw_op_def sw_op_slot_put = {
	"put slot",
	{SW_INSERT("slot", SW_TABLE_SLOT) " ON CONFLICT (slot) DO UPDATE SET device = ?2, worker = "
					  "?3, handle = ?4"},
	{false},
};

void sw_tx_slot_put(struct sw_tx *tx, const struct sw_row_slot *row)
{
	sw_tx_op(tx, SW_OP_SLOT_PUT);
	SW_PUT_ROW(SW_TABLE_SLOT)
}

const struct sw_op_def sw_op_slot_delete = {
	"delete slot",
	{"DELETE FROM slot WHERE slot = ?1"},
	{true},
};

void sw_tx_slot_delete(struct sw_tx *tx, int64_t slot)
{
	sw_tx_op(tx, SW_OP_SLOT_DELETE);
	sw_tx_int(tx, slot);
}
