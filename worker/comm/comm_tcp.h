/*
 * worker/comm/comm_tcp.h — what the transport tcp keeps of the other ranks: a connection to each.
 *
 * On a connection each side sends a hello, rank 0 a table of addresses, then frames: a head, and
 * `bytes` bytes. Numbers are as the machine has them: the hello's magic tells another order.
 */
#ifndef SW_WORKER_COMM_COMM_TCP_H
#define SW_WORKER_COMM_COMM_TCP_H

#include "base/process.h"
#include "worker/comm/comm_internal.h"

#define TCP_READ  16  /* chunks of a peer that were received and wait to be read: 2 MiB */
#define TCP_WORDS 512 /* bytes of a beat and an abort */

struct tcp_head {
	uint32_t kind, bytes; /* enum comm_kind, or: */
};

enum { TCP_BEAT = 16, TCP_ABORT, TCP_BYE };

struct tcp_peer {
	int fd; /* -1: this rank itself, or not yet connected */
	/* Its process, where it is one of this machine; pid 0: it is not. */
	struct sw_process process;
	int64_t heard_us;
	bool ended, deaf; /* nothing more comes from it; nothing more is sent to it */
	bool bye;         /* it has closed, and needs nobody any more */
	/* To it: chunks that are for it, those that were sent, and bytes of the next, its head
	 * included. Words go between two chunks. */
	uint64_t published, sent;
	struct tcp_out {
		struct tcp_head head;
		unsigned slot;
	} out[COMM_SLOTS];
	size_t sent_bytes;
	char words[TCP_WORDS];
	size_t words_n, words_sent;
	/* From it: the frame that is coming. */
	struct tcp_head head;
	size_t head_n, body_n;
	char word[TCP_WORDS];
	uint64_t got, read;
	struct tcp_head ticket[TCP_READ];
	char *slot; /* [TCP_READ][COMM_CHUNK] */
};

struct tcp {
	struct sw_comm comm; /* the first: it is cast to this */
	struct tcp_peer peer[SW_COMM_WORLD_MAX];
	int64_t look_us, beat_us; /* next look at the others; next beat that is sent */
	char *slot;               /* [COMM_SLOTS][COMM_CHUNK] */
	uint64_t free;            /* as in comm_shm.c */
	unsigned room;
	unsigned left[COMM_SLOTS]; /* ranks to which it has yet to be sent */
};

sw_status tcp_meet(struct sw_comm_place *at, struct sw_err *err);
/* Connects all ranks; t->peer[].fd are the caller's to close, on an error too. */
sw_status tcp_connect(struct tcp *t, const struct sw_comm_place *at, struct sw_err *err);

#endif
