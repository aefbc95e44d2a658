/*
 * cli/cli.h — what the verbs share: the command line, the connection, the output.
 *
 * A verb is a function that returns the exit status. It writes to `out`, which is flushed to stdout
 * after it; lines about what went wrong go to stderr at once.
 */
#ifndef SW_CLI_CLI_H
#define SW_CLI_CLI_H

#include "base/buf.h"
#include "cli/args.h"
#include "cli/client.h"
#include "cli/fmt.h"
#include "cli/place.h"
#include "proto/json.h"
#include "proto/socket_path.h"
#include <stdio.h>

enum sw_exit { SW_EXIT_DONE, SW_EXIT_REFUSED, SW_EXIT_USAGE, SW_EXIT_NO_DAEMON };

struct sw_cli {
	struct sw_args args;
	char socket[SW_SOCKET_PATH_MAX];
	bool socket_given;        /* by the user: no other will do */
	bool quiet;               /* ssh asks for no password */
	struct sw_client *client; /* NULL until the first call */
	struct sw_buf out;
	FILE *to;                      /* where `out` goes; NULL: stdout */
	struct sw_look look;           /* of stdout */
	bool paged;                    /* on a terminal the first output starts the pager */
	int reply_ms;                  /* how long an answer may take; negative: no limit */
	bool sure;                     /* not undone: a name must be that of one sweep alone */
	struct sw_place_source source; /* what the call at hand was made of */
	uint64_t sweep, trial; /* the first word, for the verbs that name one; trial 0: none */
};

/* Reads the locale, the terminal and the environment. The arguments are in c->args already.
 * SW_TOO_BIG: the socket's path is too long. SW_INVALID: --host. */
SW_NODISCARD sw_status sw_cli_init(struct sw_cli *c, const struct sw_args *args,
				   struct sw_err *err);
void sw_cli_fini(struct sw_cli *c);

/* "sweep: ..." on stderr, one line, made harmless. */
void sw_cli_say(const struct sw_cli *c, const char *fmt, ...) SW_PRINTF(2, 3);
/* A usage error: the line with a hint at `sweep help VERB`. Returns SW_EXIT_USAGE. */
int sw_cli_usage(const struct sw_cli *c, const char *fmt, ...) SW_PRINTF(2, 3);

/* Writes `out` and empties it. SW_EXIT_DONE, or SW_EXIT_REFUSED with a line on stderr
 * when that failed (a full disk) or memory was short before. */
int sw_cli_flush(struct sw_cli *c);

/* A connection to the daemon, the caller's. If nobody listens at the default path, the one that
 * uses the default state folder is looked for; c->socket is where it was found. With --host an
 * ssh of its own goes there. */
SW_NODISCARD sw_status sw_cli_connect(struct sw_cli *c, struct sw_client **out, struct sw_err *err);
/* Connects at the first call. */
SW_NODISCARD sw_status sw_cli_ask(struct sw_cli *c, const char *method, const char *params,
				  struct sw_reply *r, struct sw_err *err);
/* The same. Returns an exit status; all but SW_EXIT_DONE have said why. */
int sw_cli_fetch(struct sw_cli *c, const char *method, const char *params, struct sw_reply *r);
/* The same with the params {"sweep": c->sweep} or, with a trial, {"sweep": ..., "trial": ...}; of a
 * verb that names neither {}. */
int sw_cli_fetch_ref(struct sw_cli *c, const char *method, uint64_t trial, struct sw_reply *r);
/* The same of c->trial; with --json sw_cli_json() of the result. */
int sw_cli_call_ref(struct sw_cli *c, const char *method, struct sw_reply *r);
/* Begins params: an object, with "sweep" if the verb names one. */
void sw_cli_begin(const struct sw_cli *c, struct sw_buf *params, struct sw_jw *w);
/* A call with the params that were written, whose bytes it takes; with --json sw_cli_json() of the
 * result. */
int sw_cli_call_written(struct sw_cli *c, const char *method, struct sw_buf *params,
			struct sw_reply *r);
/* A whole verb: the call (params NULL: those of sw_cli_call_ref(); else taken), then print() of its
 * result, without --json. An exit status. */
int sw_cli_answer(struct sw_cli *c, const char *method, struct sw_buf *params,
		  void (*print)(struct sw_cli *c, const cJSON *result));
/* The sweep (and trial; 0: none) of a word such as 1, 1/7, digits or digits/7. A name is the newest
 * sweep's that has it; if several have it, a line on stderr says which it is. An exit status. */
int sw_cli_ref(struct sw_cli *c, const char *word, uint64_t *sweep, uint64_t *trial);
/* c->sweep and those of the further words, each once: *n of them; with --by a name means all that
 * have it. An exit status. */
int sw_cli_sweeps(struct sw_cli *c, uint64_t sweeps[SW_ARGS_MAX], size_t *n);
/* --state as the member "state", in the daemon's capitals, and --filter; nothing without them. */
void sw_cli_state(const struct sw_cli *c, struct sw_jw *w);
/* "sweep: HEAD PLACE: message", the place of the pointer as the user wrote it. */
void sw_cli_say_at(const struct sw_cli *c, const char *head, const char *ptr, const char *message);
/* The exit status for a failed call, after its line ("sweep: place: message") has been written. */
int sw_cli_failed(const struct sw_cli *c, sw_status rc, const struct sw_err *err);

/* Prints the daemon's JSON verbatim and a newline; on a terminal control characters are escaped. */
void sw_cli_json(struct sw_cli *c, const cJSON *result);
/* Moves rows of CSV to `out`: a file or a pipe gets every byte (RFC 4180 quotes what must be); a
 * terminal would obey some of them, so there all but line ends and tabs is made harmless. */
void sw_cli_rows(struct sw_cli *c, struct sw_buf *rows);
/* Appends "sweep 1" or, where a trial is named, "trial 1/7". */
void sw_cli_subject(struct sw_cli *c);
/* Appends a text from the daemon, made harmless. */
void sw_cli_text(struct sw_cli *c, const char *text);
/* Appends a value, numbers in full and texts made harmless, between two texts of ours. */
void sw_cli_put(struct sw_cli *c, const char *before, const cJSON *v, const char *after);

#endif
