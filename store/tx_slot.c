/* store/tx_slot.c — which worker process holds a slot. */
#include "store/internal.h"

const struct sw_op_def sw_op_slot_put = {
	"put slot",
	{"INSERT INTO slot (slot, device, worker, handle) VALUES (?1, ?2, ?3, ?4)"
	 " ON CONFLICT (slot) DO UPDATE SET device = ?2, worker = ?3, handle = ?4"},
	{false},
};

void sw_tx_slot_put(struct sw_tx *tx, const struct sw_row_slot *row)
{
	sw_tx_op(tx, SW_OP_SLOT_PUT);
	sw_tx_int(tx, row->slot);
	sw_tx_text_opt(tx, row->device);
	sw_tx_text_opt(tx, row->worker);
	sw_tx_text_opt(tx, row->handle);
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
