#include "cli/pass_env.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

extern char **environ;

/* Of two with one name the first counts, as for getenv(). */
static bool is_first(char *const *at, size_t n)
{
	for (char **e = environ; e != at; e++)
		if (strncmp(*e, *at, n + 1) == 0)
			return false;
	return true;
}

static bool is_utf8(const char *s)
{
	size_t left = strlen(s), step = 1;

	for (; left > 0 && step > 0; s += step, left -= step)
		step = sw_utf8_step(s, left);
	return step > 0;
}

void sw_pass_env_write(const struct sw_cli *c, struct sw_jw *w, const cJSON *spec)
{
	char name[512], line[sizeof name + 64];

	/* This one is not that machine's. */
	if (c->args.host != NULL || (c->args.given & SW_OPT_CLEAN_ENV) ||
	    (sw_json_get(spec, "command") == NULL && sw_json_get(spec, "program") == NULL))
		return;
	sw_jw_kobj(w, "env");
	for (char **at = environ; *at != NULL; at++) {
		const size_t n = strcspn(*at, "=");

		if (n == 0 || (*at)[n] != '=' || !is_first(at, n))
			continue; /* no program could ask for it */
		(void)snprintf(name, sizeof name, "%.*s", (int)(n < 512 ? n : 511), *at);
		(void)snprintf(line, sizeof line, "the variable %s is not passed on: %s", name,
			       n < sizeof name ? "it is no UTF-8" : "its name is too long");
		if (n < sizeof name && is_utf8(*at))
			sw_jw_kstr(w, name, *at + n + 1);
		else
			sw_cli_say_at(c, "warning: ", "", line);
	}
	sw_jw_obj_end(w);
}
