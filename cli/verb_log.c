/* cli/verb_log.c — the log of a trial: the daemon's lines about it, and what its program wrote. */
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINES     1000   /* of a page */
#define LOOK_US   250000 /* between two looks with --follow */
#define MAX_PLACE 48

/* How far the trial's log and its output have been read. */
struct log {
	struct sw_cli *c;
	uint64_t after;
	char place[MAX_PLACE];
	bool any;    /* something was shown */
	bool ended;  /* the trial has, and its output is all read */
	bool middle; /* of a line: the output so far does not end in its end */
};

/* "2026-11-21 10:31:07  attempt 1  text" */
static void print_line(struct log *l, const cJSON *line)
{
	char when[32];

	sw_fmt_time(sw_json_get(line, "time_ms"), when);
	(void)sw_buf_addf(&l->c->out, "%s%s", l->middle ? "\n" : "", when);
	sw_cli_put(l->c, "  attempt ", sw_json_get(line, "attempt"), "  ");
	sw_cli_put(l->c, "", sw_json_get(line, "text"), "\n");
	l->any = true;
	l->middle = false;
}

/* One page of the daemon's lines; *more: there is another. */
static int read_lines(struct log *l, bool *more)
{
	struct sw_reply r = SW_REPLY_INIT;
	const cJSON *lines, *line;
	char params[128];

	(void)snprintf(params, sizeof params,
		       "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 ",\"after\":%" PRIu64 "}",
		       l->c->sweep, l->c->trial, l->after);
	int status = sw_cli_fetch(l->c, "trial.log", params, &r);
	lines = sw_json_get(r.result, "lines");
	if (!(l->c->args.given & SW_OPT_JSON))
		cJSON_ArrayForEach (line, lines) {
			print_line(l, line);
		}
	else if (status == SW_EXIT_DONE && (!l->any || cJSON_GetArraySize(lines) > 0)) {
		sw_cli_json(l->c, r.result); /* a look that finds nothing new says nothing */
		l->any = true;
	}
	/* `next` stands also after the last page, so that a later call goes on from it. */
	const uint64_t next = sw_json_uint(r.result, "next");
	*more = cJSON_GetArraySize(lines) >= LINES && next > l->after;
	if (next > l->after)
		l->after = next;
	sw_client_reply_fini(&r);
	return status == SW_EXIT_DONE ? sw_cli_flush(l->c) : status;
}

/* Length of the terminal command at text, which is not shown; 0: no command begins here. */
static size_t escape_len(const char *text)
{
	size_t n = 2;

	if (text[0] != '\x1b')
		return 0;
	if (text[1] != '[')
		return text[1] != '\0' ? 2 : 1;
	while (text[n] != '\0' && (text[n] < '@' || text[n] > '~'))
		n++;
	return text[n] != '\0' ? n + 1 : n;
}

/* A program's output as it is; to a terminal its lines alone, without colours and the like. */
static void print_output(struct log *l, const char *text)
{
	struct sw_cli *c = l->c;
	char part[512];
	size_t n = 0;

	if (*text == '\0')
		return;
	l->any = true;
	l->middle = text[strlen(text) - 1] != '\n';
	if (c->look.width == 0) { /* no terminal: a file or another program gets every byte */
		(void)sw_buf_adds(&c->out, text);
		return;
	}
	for (; *text != '\0'; text++) {
		const size_t skip = escape_len(text);
		const bool plain = (unsigned char)*text >= 0x20 && *text != 0x7f;

		if (skip > 0) {
			text += skip - 1;
			continue;
		}
		if (plain)
			part[n++] = *text;
		/* A character of several bytes is kept whole. */
		if (!plain || (n >= sizeof part - 4 && ((unsigned char)text[1] & 0xc0) != 0x80)) {
			part[n] = '\0';
			sw_cli_text(c, part);
			n = 0;
		}
		if (*text == '\n' || *text == '\t' || *text == '\r')
			(void)sw_buf_add(&c->out, text, 1);
	}
	part[n] = '\0';
	sw_cli_text(c, part);
}

/* One page of the program's output. */
static int read_output(struct log *l, bool *more)
{
	struct sw_reply r = SW_REPLY_INIT;
	char params[128 + MAX_PLACE];

	(void)snprintf(params, sizeof params,
		       "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 ",\"after\":\"%s\"}",
		       l->c->sweep, l->c->trial, l->place);
	const int status = sw_cli_fetch(l->c, "trial.output", params, &r);
	const char *text = cJSON_GetStringValue(sw_json_get(r.result, "text"));
	const char *next = cJSON_GetStringValue(sw_json_get(r.result, "next"));
	const bool json = (l->c->args.given & SW_OPT_JSON) != 0;

	if (cJSON_IsTrue(sw_json_get(r.result, "lost")))
		sw_cli_say(l->c, "some of the output is no longer kept");
	if (text != NULL && !json)
		print_output(l, text);
	else if (text != NULL && *text != '\0') /* a trainer's trial has none */
		sw_cli_json(l->c, r.result);
	*more = cJSON_IsTrue(sw_json_get(r.result, "more")) && next != NULL &&
		strcmp(next, l->place) != 0;
	/* It goes back into JSON as it is, so nothing but what a place is made of is taken. */
	if (next != NULL && strspn(next, "0123456789.") == strlen(next) &&
	    strlen(next) < sizeof l->place)
		(void)snprintf(l->place, sizeof l->place, "%s", next);
	l->ended = !*more && cJSON_IsTrue(sw_json_get(r.result, "ended"));
	sw_client_reply_fini(&r);
	return status == SW_EXIT_DONE ? sw_cli_flush(l->c) : status;
}

static int read_all(struct log *l, int (*read)(struct log *l, bool *more))
{
	bool more = false;
	int status;

	do
		status = read(l, &more);
	while (status == SW_EXIT_DONE && more);
	return status;
}

int sw_verb_log(struct sw_cli *c)
{
	const bool follow = (c->args.given & SW_OPT_FOLLOW) != 0;
	struct log l = {.c = c, .place = "0.0"};
	int status;

	/* Ctrl-C ends the process, as it does everything that only reads. */
	for (;;) {
		status = read_all(&l, read_lines);
		if (status == SW_EXIT_DONE)
			status = read_all(&l, read_output);
		if (status != SW_EXIT_DONE || !follow || l.ended)
			break;
		(void)usleep(LOOK_US);
	}
	if (status == SW_EXIT_DONE && l.ended && follow)
		status = read_all(&l, read_lines); /* about its end */
	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
		if (!l.any)
			(void)sw_buf_adds(&c->out, "no log lines\n");
		else if (l.middle)
			(void)sw_buf_adds(&c->out, "\n");
		status = sw_cli_flush(c);
	}
	return status;
}
