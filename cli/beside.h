/* cli/beside.h — the programs that are installed beside this one. */
#ifndef SW_CLI_BESIDE_H
#define SW_CLI_BESIDE_H

struct sw_buf;
struct sw_cli;

#define SW_BESIDE_WORDS 5 /* of sweep-worker */

/* Runs `sweep-worker WORD ...` and waits for it; its errors are this program's. words: up to
 * SW_BESIDE_WORDS, NULL behind the last. input: the text of its stdin; NULL: this program's. What
 * it prints is appended to out; NULL: this program prints it. An exit status; what went wrong was
 * said. */
int sw_beside_worker(struct sw_cli *c, const char *const *words, const char *input,
		     struct sw_buf *out);

/* Starts `sweepd validate`, which answers sweep.validate as a daemon does: *fd is a socket to it,
 * the caller's. It ends when that is closed. 0 or an errno. */
int sw_beside_validate(int *fd);

/* This process becomes `sweep-web WORD ...` (NULL behind the last). Returns an errno alone. */
int sw_beside_web(char *const *words);

#endif
