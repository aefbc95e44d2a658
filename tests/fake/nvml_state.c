#include "tests/fake/nvml_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void text_of(const char *line, const char *key, char *out, size_t cap)
{
	char find[40];

	(void)snprintf(find, sizeof find, " %s=", key);
	const char *at = strstr(line, find);
	*out = '\0';
	if (at == NULL)
		return;
	at += strlen(find);
	const size_t n = strcspn(at, " \n");
	(void)snprintf(out, cap, "%.*s", (int)n, at);
	for (char *c = out; *c != '\0'; c++)
		*c = *c == '_' ? ' ' : *c; /* names have blanks */
}

static long long number_of(const char *line, const char *key)
{
	char text[96];

	text_of(line, key, text, sizeof text);
	return *text == '\0' ? -1 : atoll(text);
}

static void take_line(struct state *s, const char *line)
{
	if (strncmp(line, "init", 4) == 0) {
		s->init = (int)number_of(line, "code");
	} else if (strncmp(line, "hang", 4) == 0) {
		s->hang = true;
	} else if ((strncmp(line, "card ", 5) == 0 && s->n < CARDS) ||
		   (strncmp(line, "part ", 5) == 0 && s->part_n < PARTS)) {
		struct card *c = *line == 'c' ? &s->card[s->n++] : &s->part[s->part_n++];

		c->of = number_of(line, "card");

		text_of(line, "uuid", c->uuid, sizeof c->uuid);
		text_of(line, "name", c->name, sizeof c->name);
		text_of(line, "bus", c->bus, sizeof c->bus);
		c->total = number_of(line, "total");
		c->used = number_of(line, "used");
		c->util = number_of(line, "util");
		c->temp = number_of(line, "temp");
		c->slow = number_of(line, "slow");
		c->power = number_of(line, "power");
		c->limit = number_of(line, "limit");
		c->ecc = number_of(line, "ecc");
		c->throttle = number_of(line, "throttle");
		c->energy = number_of(line, "energy");
		c->cc = number_of(line, "cc");
		c->lost = number_of(line, "lost");
		c->island = number_of(line, "island");
		c->unlisted = number_of(line, "unlisted");
		c->need = number_of(line, "need");
	} else if (strncmp(line, "proc ", 5) == 0 && s->proc_n < PROCS) {
		s->proc[s->proc_n++] = (struct proc){.card = number_of(line, "card"),
						     .part = number_of(line, "part"),
						     .pid = number_of(line, "pid"),
						     .mib = number_of(line, "mib"),
						     .graphics = number_of(line, "graphics")};
	} else if (strncmp(line, "xid ", 4) == 0 && s->xid_n < XIDS) {
		s->xid[s->xid_n++] = (struct xid){.card = number_of(line, "card"),
						  .xid = number_of(line, "xid"),
						  .instance = number_of(line, "instance")};
	}
}

static void read_state(struct state *s)
{
	const char *path = getenv("SWEEPD_FAKE_NVML");
	char line[1024];
	FILE *f;

	memset(s, 0, sizeof *s);
	f = path != NULL ? fopen(path, "r") : NULL;
	if (f == NULL) {
		s->init = 9;
		return;
	}
	while (fgets(line, sizeof line, f) != NULL)
		take_line(s, line);
	(void)fclose(f);
}

bool fake_up;

void fake_now(struct state *s)
{
	for (read_state(s); s->hang; read_state(s)) {
		const struct timespec moment = {.tv_nsec = 5000000};

		(void)nanosleep(&moment, NULL);
	}
}

int fake_card_of(struct state *s, void *device, struct card **out)
{
	const size_t i = (size_t)device - 1, part = (size_t)device - PART;

	fake_now(s);
	if (!fake_up)
		return 1; /* uninitialized */
	if (i >= PART - 1 && part < s->part_n) {
		*out = &s->part[part];
		return 0;
	}
	if (i >= s->n)
		return 2;
	*out = &s->card[i];
	return s->card[i].lost > 0 ? (int)s->card[i].lost : 0;
}
