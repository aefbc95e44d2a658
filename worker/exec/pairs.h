/*
 * worker/exec/pairs.h — the numbers of a line of text by their names, as people print them:
 * loss: 0.3, loss=0.3, "loss": 0.3, loss 0.3, Epoch [3/10].
 *
 * Pure; O(bytes of the line).
 */
#ifndef SW_WORKER_EXEC_PAIRS_H
#define SW_WORKER_EXEC_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

struct sw_pair {
	const char *name; /* in the line, without quotes */
	size_t len;
	double value; /* NaN and infinities, too, behind a sign */
	bool whole;   /* digits alone: 1.0 is how transformers counts epochs, and 1.5 comes next */
	bool sign;    /* : or = stands between them */
	bool count;   /* epoch, step, iteration: how far the program is, not what it measures */
};

/* May it be in a name? */
bool sw_pair_names(char c);

/* The next pair from *at on, which moves behind it. A name is of A-Za-z0-9_./- and begins with a
 * letter, or is the metric, whatever that is of (Acc@1, val loss); NULL: none. False: there is no
 * more. */
bool sw_pair_next(const char **at, const char *metric, struct sw_pair *out);

#endif
