/*
 * sweepd.h — for a program that sweepd runs as a trial: its parameters, its reports, its folders.
 *
 * One header, C99 and POSIX, no library. In one of the program's files define SWEEPD_IMPLEMENTATION
 * before the #include; the others include it as it is.
 *
 *	#define SWEEPD_IMPLEMENTATION
 *	#include "sweepd.h"
 *
 *	int main(void)
 *	{
 *		double lr = sweepd_number("lr", 0.1);
 *
 *		for (long step = sweepd_resume_step() + 1; step <= 27; step++) {
 *			char metrics[64];
 *
 *			snprintf(metrics, sizeof metrics, "\"loss\": %.17g", train(lr));
 *			if (sweepd_report(step, metrics, 0) != SWEEPD_CONTINUE)
 *				break;
 *		}
 *	}
 *
 * Run by hand the program has its defaults, and prints its reports.
 *
 * Threads  One at a time.
 * Memory   Nothing is kept but what getenv() gives.
 */
#ifndef SWEEPD_H
#define SWEEPD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sweepd_decision {
	SWEEPD_CONTINUE,
	SWEEPD_STOP,  /* end now */
	SWEEPD_PAUSE, /* end now; the trial may go on later, from what lies in its folder */
	SWEEPD_ERROR  /* the report was refused, or the worker is gone: the reason is on stderr */
};

/* All parameters as the text of a JSON object; NULL: sweepd does not run this program. */
const char *sweepd_params(void);

/* One parameter by its name at the top of that object. What is not there, or is of another kind, is
 * the default; true and false are 1 and 0. */
double sweepd_number(const char *name, double otherwise);

/* A string is copied into text[size], cut to fit. 0, or -1: it is not there, and text is "". */
int sweepd_string(const char *name, char *text, size_t size);

/* Reports a step: the text between the braces of a JSON object of numbers. Steps rise from 1.
 * checkpoint: not 0 if what lies in the folder is complete; the folder is empty afterwards, and a
 * trial that is lost goes on from there. Waits for the decision. A report that is not stored, such
 * as one of a step that was reported before, is said on stderr, and the trial goes on. */
enum sweepd_decision sweepd_report(long step, const char *metrics, int checkpoint);

/* The trial's own folder, for what no later attempt needs, such as its best model; NULL: outside a
 * trial. */
const char *sweepd_trial_dir(void);

/* The folder for what the trial goes on from, which may be written to at any time; NULL: there is
 * none. */
const char *sweepd_checkpoint_dir(void);

/* The folder that an earlier attempt left to go on from; NULL: start from scratch. */
const char *sweepd_resume_dir(void);

/* The step after which the trial goes on; 0: from the start, or the folder tells. */
long sweepd_resume_step(void);

#ifdef __cplusplus
}
#endif

#ifdef SWEEPD_IMPLEMENTATION
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *sweepd_env_(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

const char *sweepd_params(void)
{
	return sweepd_env_("SWEEPD_PARAMS");
}

const char *sweepd_trial_dir(void)
{
	return sweepd_env_("SWEEPD_TRIAL_DIR");
}

const char *sweepd_checkpoint_dir(void)
{
	return sweepd_env_("SWEEPD_CHECKPOINT_DIR");
}

const char *sweepd_resume_dir(void)
{
	return sweepd_env_("SWEEPD_RESUME");
}

long sweepd_resume_step(void)
{
	const char *step = sweepd_env_("SWEEPD_RESUME_STEP");

	return step ? strtol(step, NULL, 10) : 0;
}

/* The end of the string that begins at p, which is a quote. */
static const char *sweepd_skip_string_(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* The value of a name at the top of the object, which is the daemon's: valid, on one line. */
static const char *sweepd_find_(const char *name)
{
	const char *p = sweepd_params();
	const size_t n = strlen(name);
	int depth = 0, key = 0;

	while (p && *p) {
		if (*p == '"') {
			const char *end = sweepd_skip_string_(p);

			if (depth == 1 && key && (size_t)(end - p) == n + 2 &&
			    !memcmp(p + 1, name, n)) {
				while (*end == ' ' || *end == ':')
					end++;
				return end;
			}
			p = end;
			key = 0;
			continue;
		}
		if (*p == '{' || *p == '[')
			key = ++depth == 1;
		else if (*p == '}' || *p == ']')
			depth--;
		else if (*p == ',')
			key = depth == 1;
		p++;
	}
	return NULL;
}

double sweepd_number(const char *name, double otherwise)
{
	const char *p = sweepd_find_(name);
	char *end;
	double value;

	if (!p)
		return otherwise;
	if (!strncmp(p, "true", 4) || !strncmp(p, "false", 5))
		return *p == 't';
	value = strtod(p, &end);
	return end > p && (*p == '-' || isdigit((unsigned char)*p)) ? value : otherwise;
}

/* One character of a JSON string as UTF-8 into out[4]; the bytes, and *p past it. */
static size_t sweepd_character_(const char **p, char *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *s = *p, *found;
	unsigned long c, low;
	char hex[5] = "";

	if (*s != '\\') {
		const unsigned char lead = (unsigned char)*s;
		const size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

		memcpy(out, s, n); /* valid UTF-8, so they are all there */
		*p = s + n;
		return n;
	}
	if (s[1] != 'u' || strlen(s) < 6) {
		found = strchr(from, s[1]);
		out[0] = found && *found ? to[found - from] : s[1];
		*p = s + 2;
		return 1;
	}
	memcpy(hex, s + 2, 4);
	c = strtoul(hex, NULL, 16);
	*p = s + 6;
	if (c >= 0xd800 && c < 0xdc00 && strlen(*p) >= 6 && (*p)[1] == 'u') {
		memcpy(hex, *p + 2, 4);
		low = strtoul(hex, NULL, 16);
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*p += 6;
	}
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

int sweepd_string(const char *name, char *text, size_t size)
{
	const char *p = sweepd_find_(name);
	size_t at = 0;

	if (size > 0)
		text[0] = '\0';
	if (!p || *p != '"')
		return -1;
	for (p++; *p && *p != '"';) {
		char c[4];
		const size_t n = sweepd_character_(&p, c);

		if (at + n + 1 > size)
			break;
		memcpy(text + at, c, n);
		at += n;
	}
	if (size > 0)
		text[at] = '\0';
	return 0;
}

static enum sweepd_decision sweepd_failed_(const char *why)
{
	fprintf(stderr, "sweepd: %s\n", why);
	return SWEEPD_ERROR;
}

static int sweepd_write_(int fd, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t wrote = write(fd, p, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return -1;
		p += wrote;
		n -= (size_t)wrote;
	}
	return 0;
}

enum sweepd_decision sweepd_report(long step, const char *metrics, int checkpoint)
{
	const char *number = sweepd_env_("SWEEPD_METRICS_FD");
	char line[4096], answer[4096];
	size_t have = 0;
	int fd, n;

	n = snprintf(line, sizeof line, "{\"step\": %ld%s%s%s}\n", step,
		     checkpoint ? ", \"checkpoint\": true" : "", *metrics ? ", " : "", metrics);
	if (n < 0 || (size_t)n >= sizeof line)
		return sweepd_failed_("the report is too long");
	if (!number) {
		fputs(line, stdout);
		fflush(stdout);
		return SWEEPD_CONTINUE;
	}
	fd = atoi(number);
	if (sweepd_write_(fd, line, (size_t)n) != 0)
		return sweepd_failed_("the worker that ran this trial is gone");
	/* One answer for one report: there is nothing behind its end of line. */
	while (have == 0 || answer[have - 1] != '\n') {
		const ssize_t got = read(fd, answer + have, sizeof answer - 1 - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return sweepd_failed_("the worker that ran this trial is gone");
		have += (size_t)got;
	}
	answer[have - 1] = '\0';
	if (strstr(answer, "\"error\""))
		return sweepd_failed_(answer);
	if (strstr(answer, "\"not_stored\""))
		fprintf(stderr, "sweepd: %s\n", answer);
	return strstr(answer, "\"continue\"") ? SWEEPD_CONTINUE
	       : strstr(answer, "\"pause\"")  ? SWEEPD_PAUSE
					      : SWEEPD_STOP;
}
#endif
#endif
