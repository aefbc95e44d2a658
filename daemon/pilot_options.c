#include "daemon/pilot_options.h"
#include "spec/spec.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX    ((size_t)64 * 1024)
#define IDLE_MAX    (365U * 24 * 3600)
#define MEM_MAX_MIB (INT64_C(1) << 30)
#define BLANK       " \t\r"

/* --- values --- */

static bool read_number(const char *text, unsigned least, unsigned most, unsigned *out)
{
	char *end;
	const unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || n < least || n > most)
		return false;
	*out = (unsigned)n;
	return true;
}

/* "4G", "512M"; a number alone is MiB, as Slurm has it. */
static bool read_memory(const char *text, int64_t *out)
{
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);
	const unsigned shift = *end == 'G' ? 10 : *end == 'T' ? 20 : 0;

	if (*text < '0' || *text > '9' || n == 0 || n > (unsigned long long)MEM_MAX_MIB >> shift ||
	    (*end != '\0' && (strchr("MGT", *end) == NULL || end[1] != '\0')))
		return false;
	*out = (int64_t)(n << shift << 20);
	return true;
}

static bool read_text(const char *text, char *out, size_t cap)
{
	return *text != '\0' && strpbrk(text, BLANK) == NULL &&
	       (size_t)snprintf(out, cap, "%s", text) < cap;
}

/* "0.0.0.0:7010", "[::]:7010". */
static bool read_listen(const char *text, struct sw_pilot_options *o)
{
	const char *colon = strrchr(text, ':');
	const bool bracket = *text == '[';
	size_t n = colon != NULL ? (size_t)(colon - text) : 0;

	if (n == 0 || n >= sizeof o->listen || !read_number(colon + 1, 0, 65535, &o->port))
		return false;
	if (bracket && (n < 3 || text[n - 1] != ']'))
		return false;
	(void)snprintf(o->listen, sizeof o->listen, "%.*s", (int)(bracket ? n - 2 : n),
		       text + bracket);
	return true;
}

/* --- lines --- */

/* Sets the option, or says what is wrong with its value; NULL: nothing. */
static const char *set_option(struct sw_pilot_options *o, const char *key, const char *value)
{
	const size_t len = strlen(o->other);

	if (strcmp(key, "time") == 0)
		return sw_spec_job_time(value, &o->time_s)
			       ? NULL
			       : "a time is H:MM:SS or seconds, from a minute to a year";
	if (strcmp(key, "gpus") == 0)
		return read_number(value, 0, 1024, &o->gpus) ? NULL : "it is a number of GPUs";
	if (strcmp(key, "cpus") == 0)
		return read_number(value, 1, 4096, &o->cpus) ? NULL
							     : "it is a number of cores, from 1";
	if (strcmp(key, "mem") == 0)
		return read_memory(value, &o->mem) ? NULL : "memory is such as 4G or 512M";
	if (strcmp(key, "idle") == 0)
		return read_number(value, 1, IDLE_MAX, &o->idle_s) ? NULL
								   : "it is a number of seconds";
	if (strcmp(key, "listen") == 0)
		return read_listen(value, o) ? NULL : "it is HOST:PORT, such as 0.0.0.0:7010";
	if (strcmp(key, "address") == 0)
		return read_text(value, o->address, sizeof o->address)
			       ? NULL
			       : "it is the name or number that nodes dial";
	/* A key that is not known here is the executor's own (a partition, an account): what it
	 * means, and whether it is right, its program says. */
	return (size_t)snprintf(o->other + len, sizeof o->other - len, "%s=%s\n", key, value) <
			       sizeof o->other - len
		       ? NULL
		       : "the executor's options are longer than 4 KiB together";
}

static char *trim(char *s)
{
	s += strspn(s, BLANK);
	for (size_t n = strlen(s); n > 0 && strchr(BLANK, s[n - 1]) != NULL;)
		s[--n] = '\0';
	return s;
}

static sw_status take_line(struct sw_pilot_options *o, char *line, const char *file, unsigned n,
			   struct sw_err *err)
{
	char *value = strchr(line, '='), *key;

	/* trim() cuts the blanks at the end in place, so the second call finds a line that is
	 * trimmed already. */
	if (*trim(line) == '\0' || *trim(line) == '#')
		return SW_OK;
	if (value == NULL)
		return sw_err_set(err, SW_INVALID, "%s:%u: a line is `key = value`", file, n);
	*value++ = '\0';
	key = trim(line);
	value = trim(value);
	if (*key == '\0' || strpbrk(key, BLANK) != NULL || *value == '\0')
		return sw_err_set(err, SW_INVALID, "%s:%u: a line is `key = value`", file, n);
	const char *wrong = set_option(o, key, value);
	return wrong == NULL ? SW_OK
			     : sw_err_set(err, SW_INVALID, "%s:%u: %.40s = %.60s: %s", file, n, key,
					  value, wrong);
}

void sw_pilot_options_init(struct sw_pilot_options *o)
{
	*o = (struct sw_pilot_options){.cpus = 1, .idle_s = 300, .listen = "0.0.0.0"};
}

sw_status sw_pilot_options_parse(struct sw_pilot_options *o, const char *text, const char *file,
				 struct sw_err *err)
{
	char line[1024];

	for (unsigned n = 1; *text != '\0'; n++) {
		const size_t len = strcspn(text, "\n");

		if (len >= sizeof line)
			return sw_err_set(err, SW_INVALID, "%s:%u: the line is too long", file, n);
		(void)snprintf(line, sizeof line, "%.*s", (int)len, text);
		if (take_line(o, line, file, n, err) != SW_OK)
			return err->code;
		text += len + (text[len] == '\n');
	}
	return SW_OK;
}

sw_status sw_pilot_options_read(struct sw_pilot_options *o, const char *file, struct sw_err *err)
{
	FILE *f = fopen(file, "re");
	char *text = f != NULL ? malloc(FILE_MAX + 1) : NULL;
	sw_status rc;

	if (text == NULL) {
		rc = sw_err_set(err, SW_INVALID, "--executor-options %s: %s", file,
				strerror(errno));
	} else {
		const size_t n = fread(text, 1, FILE_MAX + 1, f);

		/* One byte more than is allowed was asked for: only so a file of exactly FILE_MAX
		 * is told from a longer one. */
		text[n <= FILE_MAX ? n : 0] = '\0';
		if (n > FILE_MAX || ferror(f) != 0 || memchr(text, '\0', n) != NULL)
			rc = sw_err_set(err, SW_INVALID,
					"--executor-options %s: it is no text of at most 64 KiB",
					file);
		else
			rc = sw_pilot_options_parse(o, text, file, err);
	}
	free(text);
	if (f != NULL)
		(void)fclose(f);
	return rc;
}

/* Has one of the lines that key? */
static bool has_key(const char *lines, const char *key, size_t n)
{
	for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
		if (strncmp(lines, key, n) == 0 && lines[n] == '=')
			return true;
	return false;
}

void sw_pilot_options_over(const struct sw_pilot_options *o, const char *lines, unsigned *time_s,
			   char out[SW_PILOT_OPTIONS])
{
	size_t len = 0;
	const char *line, *next;

	/* The daemon's lines that the sweep does not replace come first, then the sweep's: each key
	 * stands once, so an executor may take the first or the last. */
	*out = '\0';
	*time_s = o->time_s;
	for (line = o->other; *line != '\0'; line = next) {
		next = line + strcspn(line, "\n") + 1;
		if (!has_key(lines, line, strcspn(line, "=")))
			len += (size_t)snprintf(out + len, SW_PILOT_OPTIONS - len, "%.*s",
						(int)(next - line), line);
	}
	for (line = lines; *line != '\0'; line = next) {
		const size_t key = strcspn(line, "=");

		next = line + strcspn(line, "\n") + 1;
		if (strncmp(line, "time=", 5) == 0) /* the reader of the spec made it a number */
			*time_s = (unsigned)strtoul(line + 5, NULL, 10);
		else if (line[key + 1] != '\n')
			len += (size_t)snprintf(out + len, SW_PILOT_OPTIONS - len, "%.*s",
						(int)(next - line), line);
	}
}
