/*
 * tests/kernels/cuda_shim/shim.h — what a test tells the stand-in device, and asks of it.
 */
#ifndef SW_TESTS_CUDA_SHIM_SHIM_H
#define SW_TESTS_CUDA_SHIM_SHIM_H

#include <cuda_runtime.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In which order blocks, and the threads of a block, take their turns: results that depend on it
 * are a race. SHUFFLED: by the seed, another order in each block of each launch. */
enum sw_shim_order {
	SW_SHIM_FORWARD,
	SW_SHIM_BACKWARD,
	SW_SHIM_INSIDE_OUT,
	SW_SHIM_SHUFFLED,
	SW_SHIM_ORDER_N
};

/* What streams were given, whether run or recorded. */
struct sw_shim_count {
	unsigned kernels, products, copies, fills;
	unsigned overlaps; /* of the kernels */
	size_t up_bytes;   /* of copies to the device */
};

/* Of cuBLAS. */
struct sw_shim_library {
	bool starved;      /* it finds no memory for a handle */
	bool unrecorded;   /* its products cannot be recorded */
	bool missing;      /* the library is not installed */
	const char *lacks; /* a function that the library lacks; NULL: none */
	/* Told by the shim: */
	unsigned handles;       /* ever made */
	size_t workspace_bytes; /* of the workspace set last */
};

/* What can be made to fail. BLAS_SET: what a handle is told; EVENT_WAIT: a stream's for an event;
 * DEVICE: a thread's choice; MEMORY: the question what is free. */
enum sw_shim_call {
	SW_SHIM_ALLOC,
	SW_SHIM_PIN,
	SW_SHIM_STREAM,
	SW_SHIM_EVENT,
	SW_SHIM_MARK,
	SW_SHIM_SYNC,
	SW_SHIM_EVENT_SYNC,
	SW_SHIM_EVENT_WAIT,
	SW_SHIM_DEVICE,
	SW_SHIM_MEMORY,
	SW_SHIM_COPY,
	SW_SHIM_FILL,
	SW_SHIM_LAUNCH,
	SW_SHIM_CAPTURE,
	SW_SHIM_CAPTURE_END,
	SW_SHIM_INSTANTIATE,
	SW_SHIM_GRAPH,
	SW_SHIM_HANDLE,
	SW_SHIM_BLAS_SET,
	SW_SHIM_PRODUCT
};

/* The nth call of this kind from now on fails with this error of its library's, once; nth 0:
 * none. */
struct sw_shim_failure {
	enum sw_shim_call call;
	unsigned nth;
	int error;
	bool fired;
};

struct sw_shim {
	struct sw_shim_failure failure;
	const void *unloadable; /* a kernel for whose code there is no memory */
	unsigned loads;         /* told by the shim: kernels that were asked for their attributes */
	int major;              /* of the compute capability, at the next open */
	enum sw_shim_order order;
	unsigned seed;
	int driver_version; /* as CUDA writes it; 0: no driver */
	int ptx_version;    /* of the architecture that kernels are compiled for */
	int device_n;
	struct sw_shim_library blas;
	cudaError_t count_error, set_error, probe_error;
	size_t memory_bytes; /* of the device; cudaMalloc over it fails */
	bool no_pools;       /* no stream-ordered memory */
	unsigned spoil;      /* so many recordings to come fail, as if another thread broke them */
	unsigned lose_at;    /* the nth piece of work from now on breaks the device; 0: none */
	/* Told by the shim: */
	size_t used_bytes;
	size_t pool_bytes;    /* given back, and kept by the pool until somebody waits */
	unsigned frees;       /* by calls that wait for the whole device */
	unsigned events;      /* recorded */
	unsigned questions;   /* whether a stream or an event is done */
	unsigned live;        /* objects and allocations not yet given back */
	unsigned graph_nodes; /* of the graph made last */
	unsigned graph_runs;
	struct sw_shim_count given;
	bool lost;
};

extern struct sw_shim sw_shim;
extern atomic_uint sw_shim_graphs; /* that live, also while they are recorded */

/* Runs all that streams were given, as far as it does not wait for another process: a device goes
 * on by itself. */
void sw_shim_go_on(void);

/* --- between the files of the shim --- */

#define SW_SHIM_LINES 64 /* streams and branches of graphs at a time */

/* What is known to be done: of each line, so many pieces of work. */
struct sw_shim_clock {
	uint32_t at[SW_SHIM_LINES];
};

/* Work in a row: a stream's, a branch's of a graph. */
struct sw_shim_line {
	unsigned id;
	struct sw_shim_clock clock; /* what comes before its next piece */
};

struct sw_shim_op {
	bool (*run)(void *arg);      /* false: it waits for another process; to be called again */
	void *arg;                   /* freed after run */
	struct sw_shim_clock *after; /* what the host knew; NULL: what it knew of the op before */
	bool begun;
	struct sw_shim_op *next;
};

struct sw_shim_graph; /* shim_graph.c */
struct sw_shim_mark;

struct sw_shim_stream {
	int device;
	struct sw_shim_line line;
	struct sw_shim_op *first, **end;
	unsigned host_waits;         /* those of which it knows */
	struct sw_shim_graph *graph; /* that it records; NULL: none */
	unsigned branch;             /* of it */
	struct sw_shim_stream *next;
};

extern _Thread_local int sw_shim_device; /* the thread's */

bool sw_shim_on_device(const void *p, size_t bytes);

/* shim_order.c. sw_shim_line_now: whose work runs. */
extern struct sw_shim_line *sw_shim_line_now;
void sw_shim_line_open(struct sw_shim_line *l);
void sw_shim_line_close(struct sw_shim_line *l); /* all its work is done */
void sw_shim_clock_join(struct sw_shim_clock *into, const struct sw_shim_clock *from);
/* As the next piece of l's. */
bool sw_shim_op_run(struct sw_shim_line *l, const struct sw_shim_op *op);
void sw_shim_op_free(struct sw_shim_op *op);
/* Accesses from here on are those of another launch, of the piece that runs. */
void sw_shim_launch_begin(void);
/* Whether that launch is sure to be done before the piece that runs. */
bool sw_shim_launch_before(uint32_t launch);
/* The piece that runs reads or writes n bytes, as its launch that began last; p may be the
 * host's. */
void sw_shim_look_at(const void *p, size_t n, bool write);

/* The error of a call that was to fail now, else 0. */
int sw_shim_fault(enum sw_shim_call call);
/* Spoils what any thread records: said by calls that do so on a device. */
void sw_shim_disturb(void);
/* Takes op into the graph that s records. */
void sw_shim_record(cudaStream_t s, struct sw_shim_op *op);
/* Whether what s records is good for nothing already; false: it records nothing. */
bool sw_shim_spoiled(cudaStream_t s);
/* An event in it; NULL: no memory. */
struct sw_shim_mark *sw_shim_graph_mark(cudaStream_t s);
/* s waits for m: s or m is of a graph, m NULL is not. */
cudaError_t sw_shim_graph_wait(cudaStream_t s, struct sw_shim_mark *m);
/* Fails, and spoils the recording, when this thread has one: for calls that wait or allocate. */
cudaError_t sw_shim_enter_outside(void);

/* Queues work on a stream; takes arg, made by malloc. */
cudaError_t sw_shim_queue(cudaStream_t s, bool (*run)(void *), void *arg);
/* What every call begins with: the loss of the device, a stream of another device. */
cudaError_t sw_shim_enter(cudaStream_t s);
/* Keeps e as the thread's last error; returns it. */
cudaError_t sw_shim_fail(cudaError_t e);

#if defined(__SANITIZE_ADDRESS__)
#define SW_SHIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SW_SHIM_ASAN 1
#endif
#endif

/* --- for shim_watch.c, which looks at each access of a kernel --- */

struct sw_shim_cell;

/* A device allocation. */
struct sw_shim_range {
	struct sw_shim_range *next;
	struct sw_shim_cell *cells; /* who used which bytes; made when a kernel first does */
	size_t bytes;
	_Alignas(256) unsigned char data[];
};

/* The allocation that holds p, else one that lies just before it, else NULL. */
struct sw_shim_range *sw_shim_range_near(const void *p);

/* The thread that runs: numbers that grow of launches (from 1), of the block's barriers, of the
 * thread's barriers of its warp; and where threads have their stacks and the kernel its
 * arguments. */
struct sw_shim_thread {
	bool runs;   /* false: no kernel does */
	bool waited; /* for the kernels before */
	uint32_t launch, block, thread, barrier, warp_barrier;
	const void *stacks, *arg;
	size_t stacks_bytes, arg_bytes;
};

extern struct sw_shim_thread sw_shim_thread;

void sw_shim_look_atomic(const void *p, size_t n);

#endif
