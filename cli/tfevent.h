/*
 * cli/tfevent.h — the records of TensorBoard's event files: curves, and what its HParams tab is
 * made of. Pure.
 *
 * A record frames a protocol buffer by lengths and checksums; it is an Event: a time (here wall
 * clock, in ms), a step, and what happened. The HParams tab takes the start and the end of a
 * session, here a trial; of which kind a parameter is, its range and what the metrics are it finds
 * itself.
 * Texts are made plain (base/text.h): a control character is '?'.
 * Source   TensorFlow's record_writer.cc, event.proto, summary.proto; tensorboard/plugins/hparams:
 *          plugin_data.proto, backend_context.py. CRC-32C: RFC 3720, 12.1.
 * Errors   Appends latch in the buffer (t->b.failed).
 */
#ifndef SW_CLI_TFEVENT_H
#define SW_CLI_TFEVENT_H

#include "base/buf.h"
#include <cjson/cJSON.h>
#include <stdint.h>

/* Whole records, and how many messages the one that is being written has open. */
struct sw_tf {
	struct sw_buf b; /* the caller's: init, fini */
	size_t open[10];
	int n;
};

/* The first record of a file. */
void sw_tf_version(struct sw_tf *t, double time_ms);
/* What the file has from this step on no longer counts: an attempt that was lost began again. */
void sw_tf_restart(struct sw_tf *t, double time_ms, uint64_t step);

/* A report: open, its values, close. TensorBoard keeps floats. */
void sw_tf_open(struct sw_tf *t, double time_ms, uint64_t step);
void sw_tf_scalar(struct sw_tf *t, const char *tag, double v);
void sw_tf_close(struct sw_tf *t);

/* params: a trial's; those of a group, as the spec's parameters declare it, have their whole names,
 * "opt.wd"; a list or another object is the text of its JSON. */
void sw_tf_session_start(struct sw_tf *t, double time_ms, const cJSON *params,
			 const cJSON *declared);
/* state: of a trial that has ended. Only COMPLETED is a success there; PRUNED and CANCELLED, which
 * were stopped before, are "unknown". */
void sw_tf_session_end(struct sw_tf *t, double time_ms, const char *state);

#endif
