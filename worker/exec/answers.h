/*
 * worker/exec/answers.h — the answers that a program has not read yet. None of them is lost,
 * however many reports it writes before it reads, and a program that never reads is not held up by
 * them.
 *
 * Bounds   SW_ANSWERS_MAX bytes of text. What is behind them is only counted, and becomes
 *          "continue".
 */
#ifndef SW_WORKER_EXEC_ANSWERS_H
#define SW_WORKER_EXEC_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_ANSWERS_MAX  ((size_t)64 * 1024)
#define SW_ANSWERS_GOON "{\"decision\":\"continue\"}\n"

struct sw_answers {
	size_t n; /* bytes of text */
	uint64_t counted;
	char text[SW_ANSWERS_MAX];
};

/* Forgets all. */
void sw_answers_init(struct sw_answers *a);

/* line: with its newline. */
void sw_answers_add(struct sw_answers *a, const char *line);

/* Sends what the socket takes now; to one whose peer is gone, nothing is left to send. */
void sw_answers_send(struct sw_answers *a, int fd);

#endif
