/*
 * kernels/cuda/cuda.h — shared by the files of the CUDA backend. The entries' meaning is written
 * in kernels/ops.h; kernels/cpu is held beside them by tests/kernels/test_cuda_*.c, on a GPU
 * and, through tests/kernels/cuda_shim, without one.
 *
 * Queues   A queue is one stream and, if a net of its has products for it, a cuBLAS handle with a
 *          workspace of its own: cuBLAS gives the same bits from run to run only while no two
 *          streams share one.
 * Order    Sums are made by trees whose shape depends on the sizes alone. No atomics but on
 *          integers.
 * Rounding Built with --fmad=false: elementwise kernels and optimizers give the CPU table's bits,
 *          tanh and the losses' exp and log within a few units in the last place. Products and
 *          sums of floats have another order: both tables are within the bound of
 *          tests/kernels/sums.h, which grows with the number of terms.
 * Errors   As ops.h and status_cuda.h say. Kernels are loaded when the device is taken (load.h); a
 *          product may return SW_NOMEM, for cuBLAS loads code when it first needs it.
 */
#ifndef SW_KERNELS_CUDA_CUDA_H
#define SW_KERNELS_CUDA_CUDA_H

#include "kernels/cuda/status_cuda.h"
#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a block, everywhere: eight warps. */
#define SW_CUDA_BLOCK 256
#define SW_CUDA_WARP  32
#define SW_CUDA_WARPS (SW_CUDA_BLOCK / SW_CUDA_WARP)

/* Blocks of a launch at most; a thread then takes several items. Fills the largest GPU of today
 * (132 multiprocessors, 8 blocks each) almost twice. Tests build with 3, so that small shapes meet
 * the loops. */
#ifndef SW_CUDA_GRID_MAX
#define SW_CUDA_GRID_MAX 2048
#endif

/* Blocks of a loss at most: as many partial sums. */
#ifndef SW_CUDA_PARTIAL_MAX
#define SW_CUDA_PARTIAL_MAX 256
#endif

/* Bytes that a queue keeps for what the blocks of one launch leave to the next: 512 tiles of
 * layernorm's columns, 8,192 parts of batchnorm's channels, SW_CUDA_PARTIAL_MAX metrics. */
#ifndef SW_CUDA_PARTIAL_BYTES
#define SW_CUDA_PARTIAL_BYTES ((size_t)128 << 10)
#endif

/* Uploads up to SW_CUDA_SLOT_BYTES do not wait for the device: they are copied to a slot of pinned
 * memory. An event tells when one half of the slots is free again, so that a small step costs the
 * driver, which many lanes share, a fourth of a record and of a wait. */
#define SW_CUDA_SLOT_N     8
#define SW_CUDA_SLOT_PARTS 2
#define SW_CUDA_SLOT_BYTES ((size_t)64 << 10)

/* Bytes of a queue's cuBLAS workspace: what NVIDIA advises for Hopper and later, on every GPU and
 * whatever is free, for cuBLAS's choice of an algorithm, and so the bits, may depend on it. Between
 * two products it is scratch memory: the stream keeps the order. */
#ifndef SW_CUDA_BLAS_BYTES
#define SW_CUDA_BLAS_BYTES ((size_t)32 << 20)
#endif

/* The bytes that a handle of cuBLAS is counted with: the largest workspace that its documentation
 * names (of Hopper), for it keeps one of its own beside that which it is lent. Not measured. */
#define SW_CUDA_HANDLE_BYTES ((size_t)32 << 20)

struct sw_queue {
	cudaStream_t stream;
	struct sw_metrics *partial; /* device: [SW_CUDA_PARTIAL_MAX], of SW_CUDA_PARTIAL_BYTES */
	unsigned char *slots;       /* pinned: [SW_CUDA_SLOT_N][SW_CUDA_SLOT_BYTES] */
	cudaEvent_t slot_free[SW_CUDA_SLOT_PARTS];
	unsigned next_slot;
	int recording; /* between graph_begin and graph_end */
	/* of products that cuBLAS makes: */
	const struct sw_cublas *lib; /* NULL before products_open, as blas */
	cublasHandle_t blas;
	void *blas_space; /* device: [SW_CUDA_BLAS_BYTES], lent by precision(); NULL: none */
	enum sw_precision precision;
	unsigned char *half; /* device: [half_bytes], the operands of a product in bf16 */
	size_t half_bytes;
	const float *weights; /* device: [weights_n], and the same in bf16; NULL: no copy is made */
	const uint16_t *weights_half;
	size_t weights_n;
	/* of transfers, made at the first: */
	cudaStream_t side;
	cudaEvent_t arrived[2]; /* the last transfer of a buffer */
	cudaEvent_t used[2];    /* the last work on a buffer */
	/* of fork and join, made at the first: */
	cudaStream_t beside;
	cudaEvent_t forked, joined;
	sw_status (*look)(void *ctx); /* while the host waits; NULL: none */
	void *look_ctx;
};

#define SW_CUDA_DEVICES_MAX 64

/* Opens the GPU for this process, if it is not open, and makes it the calling thread's: as long as
 * it lives, or takes another one. Threads that take none have the first that was opened.
 * SW_NOT_FOUND, SW_BUSY, SW_NOMEM, SW_DEVICE_LOST, each with a line. */
sw_status sw_cuda_device_take(int device, struct sw_err *err);

/* The thread's device in words; at most cap bytes with the NUL. */
void sw_cuda_describe(char *text, size_t cap);

/* Makes the thread's device CUDA's current one: CUDA keeps the choice per thread. A thread-local
 * flag makes every call but the first free. */
sw_status sw_cuda_use(void);

/* Whether the thread's device has stream-ordered memory. */
int sw_cuda_pools(void);

/* Whether a kernel may be launched before the one in front of it has ended. */
int sw_cuda_overlaps(void);

/* cudaSuccess when this module holds code for the current device; *ptx: of which architecture, 90
 * for sm_90, whatever the device is. */
cudaError_t sw_cuda_probe(int *ptx);

/* Around what spoils recordings of other threads: making and ending handles, pinning memory. Waits
 * until none is under way; none begins before the end. */
void sw_cuda_alone_begin(void);
void sw_cuda_alone_end(void);

/* The taken device's compute capability, 9 of 9.0. */
int sw_cuda_major(void);

sw_status sw_cuda_memory(size_t *free_bytes, size_t *total_bytes);
sw_status sw_cuda_queue_create(struct sw_queue **out);
void sw_cuda_queue_destroy(struct sw_queue *q);
sw_status sw_cuda_alloc(void **out, size_t bytes);
void sw_cuda_free(void *p);
sw_status sw_cuda_upload(struct sw_queue *q, void *dst, const void *src, size_t bytes);
sw_status sw_cuda_download(struct sw_queue *q, void *dst, const void *src, size_t bytes);
sw_status sw_cuda_zero(struct sw_queue *q, void *dst, size_t bytes);
sw_status sw_cuda_sync(struct sw_queue *q);
void sw_cuda_watch(struct sw_queue *q, sw_status (*look)(void *ctx), void *ctx);
sw_status sw_cuda_fork(struct sw_queue *q, void **stream);
sw_status sw_cuda_join(struct sw_queue *q);
/* Ends what fork has made. */
void sw_cuda_beside_end(struct sw_queue *q);
/* The host's waits for what q was given, and for an event of q's, as ops.h's watch says. */
sw_status sw_cuda_wait(const struct sw_queue *q);
sw_status sw_cuda_wait_event(const struct sw_queue *q, cudaEvent_t e);
/* An event that a thread sleeps for, without times. */
sw_status sw_cuda_event_make(cudaEvent_t *e);
sw_status sw_cuda_graph_begin(struct sw_queue *q);
sw_status sw_cuda_graph_end(struct sw_queue *q, struct sw_graph **out);
sw_status sw_cuda_graph_run(struct sw_queue *q, struct sw_graph *g);
void sw_cuda_graph_free(struct sw_graph *g);
size_t sw_cuda_linear_products(enum sw_precision p, size_t B, size_t I, size_t O);
size_t sw_cuda_conv2d_products(enum sw_precision p, const struct sw_conv *c);
sw_status sw_cuda_products_open(struct sw_queue *q, struct sw_err *err);
sw_status sw_cuda_precision(struct sw_queue *q, enum sw_precision p, void *work, size_t bytes);
size_t sw_cuda_weights_copy(enum sw_precision p, size_t n);
sw_status sw_cuda_weights(struct sw_queue *q, const float *w, size_t n, void *copy);
sw_status sw_cuda_pinned_alloc(void **out, size_t bytes);
void sw_cuda_pinned_free(void *p);
sw_status sw_cuda_transfer(struct sw_queue *q, unsigned buffer, void *dst, const void *src,
			   size_t bytes);
sw_status sw_cuda_transfer_wait(struct sw_queue *q, unsigned buffer);
sw_status sw_cuda_transfer_read(struct sw_queue *q, unsigned buffer);
void sw_cuda_transfer_end(struct sw_queue *q); /* of queue_destroy */

#define SW_OP(result, name, parameters) result sw_cuda_##name parameters;
#include "kernels/ops_list.h"

#ifdef __cplusplus
}
#endif

#endif
