#include "daemon/slot/worker_row.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/slot.h"
#include "store/store.h"

static struct sw_tx *begin_rows(void)
{
	struct sw_tx *tx;

	if (sw_tx_create(&tx) != SW_OK)
		sw_daemon_die("record a worker", SW_NOMEM);
	return tx;
}

static void commit_rows(struct sw_daemon *d, struct sw_tx *tx, sw_store_done_cb *done, void *arg)
{
	const sw_status rc = sw_store_commit(d->store, tx, done, arg);

	if (rc != SW_OK)
		sw_daemon_die("record a worker", rc);
}

void sw_worker_row_put(struct sw_worker *w, const char *handle, void (*done)(void *w))
{
	struct sw_tx *tx = begin_rows();

	for (unsigned k = 0; k < w->slot_n; k++) {
		const struct sw_row_slot row = {.slot = w->slots[k].index,
						.device = w->slots[k].device.name,
						.worker = w->id,
						.handle = handle};

		/* One row a lane, in one transaction: a start counts them to see whether the
		 * process still fits its slots. */
		sw_tx_slot_put(tx, &row);
	}
	commit_rows(w->slots->d, tx, done, w);
}

void sw_worker_row_delete(const struct sw_worker *w)
{
	struct sw_tx *tx = begin_rows();

	for (unsigned k = 0; k < w->slot_n; k++)
		sw_tx_slot_delete(tx, w->slots[k].index);
	commit_rows(w->slots->d, tx, NULL, NULL);
}
