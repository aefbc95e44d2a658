#include "worker/exec/pairs.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_count(const char *name, size_t len)
{
	static const char *const words[] = {"epoch", "step", "iteration"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (len == strlen(words[i]) && strncasecmp(name, words[i], len) == 0)
			return true;
	return false;
}

/* s behind its blanks and colours. */
static const char *skip_blanks(const char *s)
{
	for (;;) {
		s += strspn(s, " \t");
		if (strncmp(s, "\033[", 2) != 0)
			return s;
		s += 2 + strspn(s + 2, "0123456789;:?");
		s += *s != '\0';
	}
}

/* Reads the number at s. What has letters behind it is another thing (3s, 12k), and what has a
 * colon, too (12:30), unless it is a count. 1,234, 1_000, 9905/10000 and 2026-01-02 are none: half
 * of one would be wrong. */
static bool read_number(const char *s, struct sw_pair *p)
{
	const char *first = s + (*s == '-' || *s == '+');
	const bool digits = isdigit((unsigned char)first[*first == '.']);
	char *end;

	if (!digits && !p->sign)
		return false; /* "nan" behind a blank is a word */
	p->value = strtod(s, &end);
	if (end == s || isalpha((unsigned char)*end) || *end == '_' || (*end == ':' && !p->count))
		return false;
	/* A count may say of how many it is one (3/10). */
	if (*end != '\0' && strchr(p->count ? "," : ",/-.", *end) != NULL &&
	    isdigit((unsigned char)end[1]))
		return false;
	p->whole = s + strspn(s, "0123456789") == end;
	/* Behind a blank alone "3" is a count more often than a metric. */
	return p->sign || p->count || memchr(s, '.', (size_t)(end - s)) != NULL;
}

bool sw_pair_names(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("_./-", c) != NULL);
}

static size_t span_name(const char *s)
{
	size_t n = 0;

	while (sw_pair_names(s[n]))
		n++;
	return n;
}

bool sw_pair_next(const char **at, const char *metric, struct sw_pair *out)
{
	const size_t own = metric != NULL ? strlen(metric) : 0;
	const char *line = *at;

	while (*line != '\0') {
		line = skip_blanks(line); /* a colour's letter begins no name */
		const bool known = own > 0 && strncmp(line, metric, own) == 0 &&
				   !sw_pair_names(line[own]);
		const size_t len = known ? own : span_name(line);
		const char *to = line + len;

		to += *to == '"' || *to == '\'';
		const char *next = skip_blanks(to);
		const bool apart = next > to;
		to = next;
		*out = (struct sw_pair){.name = line,
					.len = len,
					.sign = *to == ':' || *to == '=',
					.count = is_count(line, len)};
		to = out->sign ? skip_blanks(to + 1) : to;
		to += out->sign && (*to == '"' || *to == '\''); /* as transformers prints it */
		to += out->count && (*to == '[' || *to == '(' || *to == '#');
		const bool is = (known || isalpha((unsigned char)*line)) &&
				(out->sign || apart || out->count) && read_number(to, out);
		line += len > 0 ? len : *line != '\0';
		if (is) {
			*at = line;
			return true;
		}
	}
	*at = line;
	return false;
}
