/*
 * cli/allowed.h — the methods of the socket that the page (`sweep web`) and a model's tools (`sweep
 * mcp`) may call, and no other: none of them is a worker's.
 */
#ifndef SW_CLI_ALLOWED_H
#define SW_CLI_ALLOWED_H

enum {
	SW_ALLOWED_PAGE = 1,
	SW_ALLOWED_TOOL = 2,
	SW_ALLOWED_CHANGES = 4, /* not without --write, or with --read-only */
	SW_ALLOWED_ENDS = 8,    /* it changes what cannot be taken back */
	SW_ALLOWED_SLOW = 16,   /* it may take a second */
};

struct sw_allowed {
	const char *method;
	unsigned is;
};

extern const struct sw_allowed sw_allowed[]; /* NULL behind the last */

/* The row of that method if it has all of `is`, else NULL. */
const struct sw_allowed *sw_allowed_find(const char *method, unsigned is);

#endif
