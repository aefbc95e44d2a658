/*
 * kernels/ops.h — one table of functions per backend: all that training needs from a device.
 *
 * The CPU table (kernels/cpu) is the meaning of each entry; every other table is held to it by
 * tests/kernels. Nothing here knows trials, layers or files.
 *
 * Memory   Every pointer named x, y, w, g, ... is the backend's memory (from alloc), row-major and
 *          dense; only upload and download touch the host's, and structs passed by value or as
 *          `const struct sw_conv *`, `sw_window *`, ... (shapes), which are read before the call
 *          returns. No entry allocates but queue_create, alloc and products_open. Pointers from
 *          alloc are aligned to SW_OPS_ALIGN bytes; others (inside an arena) to their element.
 * Work     Scratch memory is the caller's: `work` has at least the bytes that the entry's
 *          *_workspace says for the same shape or one of more rows, aligned to SW_OPS_ALIGN; NULL
 *          when that is 0.
 *          Nothing is kept in it from one call to the next: all entries of a queue may share one.
 * Queues   Work runs in the order in which it was given to one queue, perhaps after the call has
 *          returned. Two queues know nothing of each other. A queue belongs to one thread at a
 *          time. The host learns a value only by download, which waits.
 * Aliases  Operands must not overlap, unless the entry says that they may be the same pointer.
 * Writing  Gradients, of parameters and of inputs, are overwritten; dx is NULL where the entry says
 *          so.
 * Errors   SW_OK, SW_NOMEM (alloc, queue_create), SW_INVALID (a shape over the limits below, or one
 *          that makes no sense: a window larger than its padded image, stride 0),
 *          SW_UNSUPPORTED (an entry that this backend lacks), SW_DEVICE_LOST. An asynchronous table
 *          may return the failure of an earlier call; a device that is lost stays lost for the
 *          process.
 * Limits   Each dimension fits int32, as does the plane H * W of an image; each product of two
 *          dimensions fits int64. A dimension of 0 is SW_OK: it adds nothing, and writes zeros.
 * Graphs   What a queue is given between graph_begin and graph_end is recorded, not run. No entry
 *          keeps anything of the call but its arguments: sizes and pointers are fixed by the
 *          recording, and what changes from run to run lies in backend memory (struct sw_step).
 * NaN      No fast-math: NaN and infinity go through as IEEE says.
 * Order    The same calls on the same device with the same inputs give the same bits: a table adds
 *          in an order that does not depend on timing (no floating atomics), nor on the number of
 *          threads, but for products so large that a library makes them.
 */
#ifndef SW_KERNELS_OPS_H
#define SW_KERNELS_OPS_H

#include "base/status.h"
#include "kernels/shapes.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_OPS_ALIGN   ((size_t)64)
#define SW_OPS_VERSION 13 /* of this table's layout; a module made for another is refused */
#define SW_OPS_LOOK_US 100

struct sw_queue; /* opaque, one per backend: a stream with its handles and workspace */
struct sw_graph; /* opaque: calls that were recorded */

struct sw_ops {
	int version;      /* SW_OPS_VERSION */
	const char *name; /* "cpu", "cuda" */

	/* --- device and memory --- */

	/* One line about the device for people, NUL-terminated, cut at cap. */
	void (*describe)(char *text, size_t cap);
	/* Bytes that a caller should still take by alloc, and all that there are of these, if it
	 * had the device for itself: not what the backend needs to run and while it works. A
	 * moment's view. */
	sw_status (*memory)(size_t *free_bytes, size_t *total_bytes);
	sw_status (*queue_create)(struct sw_queue **out);
	void (*queue_destroy)(struct sw_queue *q); /* waits for its work; NULL is allowed */
	/* Uninitialised. bytes 0: *out is NULL. Neither waits for any queue's work. */
	sw_status (*alloc)(void **out, size_t bytes);
	void (*free)(void *p); /* NULL is allowed; no queue may still use it */
	/* src is host memory and may be reused when the call returns. */
	sw_status (*upload)(struct sw_queue *q, void *dst, const void *src, size_t bytes);
	/* dst is host memory, filled when the call returns: waits for all that q was given. */
	sw_status (*download)(struct sw_queue *q, void *dst, const void *src, size_t bytes);
	sw_status (*zero)(struct sw_queue *q, void *dst, size_t bytes);
	sw_status (*sync)(struct sw_queue *q);
	/* From now on look(ctx) is called while the host waits for q, about each SW_OPS_LOOK_US: an
	 * answer that is not SW_OK ends the wait with it, and what q was given is not done. For
	 * work that waits for another process, which may be gone: queue_destroy waits for it to the
	 * end. look NULL: it is not called again. It must not call q. */
	void (*watch)(struct sw_queue *q, sw_status (*look)(void *ctx), void *ctx);

	/* --- graphs: a sequence of calls that is recorded once and given again as one --- */

	/* From here to graph_end what q is given is recorded. upload, download, sync, transfer and
	 * graph_run of this queue are SW_INVALID meanwhile, and the calling thread must neither
	 * alloc nor free. Each call that is recorded must have been made before, outside of a
	 * recording, with the same sizes (a device loads code at its first use). SW_UNSUPPORTED:
	 * the backend has no graphs, nothing is recorded, and no other entry of this section is
	 * called. */
	sw_status (*graph_begin)(struct sw_queue *q);
	/* Ends it, whatever the calls since have returned; nothing of them has run. SW_UNSUPPORTED:
	 * they cannot be recorded. On an error *out is NULL. */
	sw_status (*graph_end)(struct sw_queue *q, struct sw_graph **out);
	/* As if q, the queue that recorded it, was given the calls again. */
	sw_status (*graph_run)(struct sw_queue *q, struct sw_graph *g);
	void (*graph_free)(struct sw_graph *g); /* NULL is allowed; its last run must be done */

	/* --- products: those of large linear and conv2d entries, which a library may make --- */

	/* Bytes that products of an entry of this shape need at precision p beside its work: the
	 * library's scratch memory, and operands at that precision. Never fewer for a larger B. 0:
	 * no library makes one. */
	size_t (*linear_products)(enum sw_precision p, size_t B, size_t I, size_t O);
	size_t (*conv2d_products)(enum sw_precision p, const struct sw_conv *c);
	/* Takes what the library needs of q beside that, once in q's life (a handle): before the
	 * first precision() with bytes, and best before memory() is asked what is left.
	 * SW_UNSUPPORTED, with a line in err: there is no library. */
	sw_status (*products_open)(struct sw_queue *q, struct sw_err *err);
	/* of the device that it takes, about; no alloc is made for them */
	size_t products_open_bytes;
	/* How q makes products from here on; SW_FP32, without memory, at first. A small product,
	 * which would gain nothing, may be made in fp32 nevertheless. work: backend memory, q's own
	 * until the next call, of at least the bytes that *_products says of every product to come
	 * (one that needs more is SW_NOMEM); NULL for 0. SW_UNSUPPORTED: the backend lacks it, q
	 * stays as it was. */
	sw_status (*precision)(struct sw_queue *q, enum sw_precision p, void *work, size_t bytes);
	/* Bytes of the copy that weights, or linear_forward, makes of n floats; 0: none. */
	size_t (*weights_copy)(enum sw_precision p, size_t n);
	/* The n floats at w are read by products to come, and stay as they are until the next call,
	 * or that of precision: so they can be brought once to the form that products read. copy:
	 * backend memory of weights_copy's bytes, q's own until then. A product whose w lies
	 * elsewhere does without. */
	sw_status (*weights)(struct sw_queue *q, const float *w, size_t n, void *copy);

	/* --- transfers beside the work: rows that do not fit the device, two buffers by turns
	 * --- */

	/* Host memory that transfer reads, aligned to SW_OPS_ALIGN. Pinned where a device is. */
	sw_status (*pinned_alloc)(void **out, size_t bytes);
	void (*pinned_free)(void *p); /* NULL is allowed; no transfer may still read it */
	/* Copies from pinned memory, while q works: begins when all that q was given before the
	 * last transfer_wait of the *other* buffer is done. buffer: 0 or 1. */
	sw_status (*transfer)(struct sw_queue *q, unsigned buffer, void *dst, const void *src,
			      size_t bytes);
	/* From here on q's work comes after the buffer's transfers; its work before was the last to
	 * use the other buffer. */
	sw_status (*transfer_wait)(struct sw_queue *q, unsigned buffer);
	/* Waits until the buffer's transfers have read their src. */
	sw_status (*transfer_read)(struct sw_queue *q, unsigned buffer);

	/* --- a stream beside the work, for a library of collectives: recorded, too --- */

	/* *stream is q's second stream, the same each time, as such a library takes it (a
	 * cudaStream_t); NULL of a backend that has none, where a library's work is done when its
	 * call returns. What it is given from here on comes after all that q was given. A recording
	 * that holds a fork must hold a join behind all that the stream was given, or is
	 * SW_UNSUPPORTED. */
	sw_status (*fork)(struct sw_queue *q, void **stream);
	/* From here on q's work comes after all that the stream was given. */
	sw_status (*join)(struct sw_queue *q);

	/* --- what it computes --- */

#define SW_OP(result, name, parameters) result(*name) parameters;
#include "kernels/ops_list.h"
};

/* The CPU table. Threads: its own and OpenBLAS's, see sw_ops_cpu_threads(). */
extern const struct sw_ops sw_ops_cpu;

/* Cores that an entry may use, at least 1; call before work is queued, and before each trial's:
 * whether several are faster at it is measured then. */
void sw_ops_cpu_threads(unsigned cores);
/* The same where so many threads call at once, each with as many cores: the ranks of a trial. */
void sw_ops_cpu_ranks(unsigned cores, unsigned ranks);

/* The module libsweepd-cuda.so exports this under the name SW_OPS_CUDA_OPEN. It makes `device` (its
 * CUDA ordinal) the one that the calling thread uses, and gives the table. Threads that open none
 * use the first that was opened.
 * SW_OPS_NO_DEVICE: none is looked for, and of the table only what counts bytes may be called
 * (*_workspace, *_products, weights_copy). */
typedef sw_status sw_ops_open_fn(int device, const struct sw_ops **out, struct sw_err *err);
#define SW_OPS_NO_DEVICE   (-1)
#define SW_OPS_CUDA_OPEN   "sw_ops_cuda_open"
#define SW_OPS_CUDA_MODULE "libsweepd-cuda.so"

#ifdef __cplusplus
}
#endif
#endif
