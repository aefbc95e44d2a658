/*
 * bench/lib/memo.h — numbers that took long to compute, kept on disk from run to run.
 *
 * File     One line a number: 16 hex digits of the key's hash, and the number ("%.17g"). Lines are
 *          appended whole (O_APPEND), so several processes may share it; a line that is cut off is
 *          passed over.
 * Keys     All that the number is a function of, as text. Equal 64-bit hashes are taken for equal
 *          keys.
 */
#ifndef SW_BENCH_LIB_MEMO_H
#define SW_BENCH_LIB_MEMO_H

#include <stdbool.h>

struct bench_memo; /* opaque */

/* path NULL: nothing is kept. NULL, with a line on stderr, when the file cannot be written. */
struct bench_memo *bench_memo_open(const char *path);
void bench_memo_close(struct bench_memo *m); /* NULL is allowed */
bool bench_memo_get(const struct bench_memo *m, const char *key, double *out);
void bench_memo_put(struct bench_memo *m, const char *key, double v);

#endif
