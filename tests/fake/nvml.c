/*
 * tests/fake/nvml.c — a stand-in for the driver's NVML: says what a file says, read at each call,
 * so that a test changes it while the program runs (by a rename, so that no half is read).
 *
 * The file is the one that SWEEPD_FAKE_NVML names. A line is a word and pairs key=value:
 *   init code=9                        nvmlInit fails
 *   hang                               every call waits until the line is gone
 *   card uuid=.. name=.. bus=.. total=MiB used=MiB util= temp= slow= power=mW limit=mW ecc=
 *        throttle= energy=mJ lost=CODE  what is left out is not supported
 *   proc card=0 pid=1 mib=10 graphics=1
 * A card without energy= counts power= by the clock.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB     1048576ULL
#define CARDS   8
#define PROCS   64
#define MISSING 3 /* not supported */
#define LOST    15

struct card {
	char uuid[96], name[96], bus[32];
	long long total, used, util, temp, slow, power, limit, ecc, throttle, energy, lost;
};

struct proc {
	long long card, pid, mib, graphics;
};

struct state {
	int init;
	bool hang;
	unsigned n, proc_n;
	struct card card[CARDS];
	struct proc proc[PROCS];
};

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
	} else if (strncmp(line, "card ", 5) == 0 && s->n < CARDS) {
		struct card *c = &s->card[s->n++];

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
		c->lost = number_of(line, "lost");
	} else if (strncmp(line, "proc ", 5) == 0 && s->proc_n < PROCS) {
		s->proc[s->proc_n++] = (struct proc){.card = number_of(line, "card"),
						     .pid = number_of(line, "pid"),
						     .mib = number_of(line, "mib"),
						     .graphics = number_of(line, "graphics")};
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

static void now(struct state *s)
{
	for (read_state(s); s->hang; read_state(s)) {
		const struct timespec moment = {.tv_nsec = 5000000};

		(void)nanosleep(&moment, NULL);
	}
}

/* Handles are numbers from 1. The card of one; else the code why not. */
static int card_of(struct state *s, void *device, struct card **out)
{
	const size_t i = (size_t)device - 1;

	now(s);
	if (i >= s->n)
		return 2;
	*out = &s->card[i];
	return s->card[i].lost > 0 ? (int)s->card[i].lost : 0;
}

/* --- the library's names --- */

#define EXPORT __attribute__((visibility("default")))
#define NUMBER(symbol, type, field)                                                                \
	EXPORT int symbol(void *device, type *out);                                                \
	int symbol(void *device, type *out)                                                        \
	{                                                                                          \
		struct state s;                                                                    \
		struct card *c;                                                                    \
		const int code = card_of(&s, device, &c);                                          \
                                                                                                   \
		if (code != 0)                                                                     \
			return code;                                                               \
		if (c->field < 0)                                                                  \
			return MISSING;                                                            \
		*out = (type)c->field;                                                             \
		return 0;                                                                          \
	}
#define TEXT(symbol, field)                                                                        \
	EXPORT int symbol(void *device, char *out, unsigned cap);                                  \
	int symbol(void *device, char *out, unsigned cap)                                          \
	{                                                                                          \
		struct state s;                                                                    \
		struct card *c;                                                                    \
		const int code = card_of(&s, device, &c);                                          \
                                                                                                   \
		if (code == 0)                                                                     \
			(void)snprintf(out, cap, "%s", c->field);                                  \
		return code;                                                                       \
	}

NUMBER(nvmlDeviceGetPowerUsage, unsigned, power)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, limit)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, throttle)
TEXT(nvmlDeviceGetUUID, uuid)
TEXT(nvmlDeviceGetName, name)

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlDeviceGetCount_v2(unsigned *out);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);

int nvmlInit_v2(void)
{
	struct state s;

	now(&s);
	return s.init;
}

int nvmlShutdown(void)
{
	return 0;
}

const char *nvmlErrorString(int code)
{
	return code == 9      ? "Driver Not Loaded"
	       : code == LOST ? "GPU is lost"
	       : code == 16   ? "GPU requires reset"
			      : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
	struct state s;

	now(&s);
	*out = s.n;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
	struct state s;
	struct card *c;

	*out = (void *)(size_t)(index + 1);
	return card_of(&s, *out, &c);
}

struct memory {
	unsigned long long total, free, used;
};

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *out);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
	struct state s;
	struct card *c;
	const int code = card_of(&s, device, &c);

	if (code == 0) {
		out->total = (unsigned long long)c->total * MIB;
		out->used = (unsigned long long)c->used * MIB;
		out->free = out->total - out->used;
	}
	return code;
}

struct pci {
	char legacy[16];
	unsigned numbers[5];
	char bus[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *out);
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *out)
{
	struct state s;
	struct card *c;
	const int code = card_of(&s, device, &c);

	if (code == 0)
		(void)snprintf(out->bus, sizeof out->bus, "%s", c->bus);
	return code;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned out[2]);
int nvmlDeviceGetUtilizationRates(void *device, unsigned out[2])
{
	struct state s;
	struct card *c;
	const int code = card_of(&s, device, &c);

	if (code != 0 || c->util < 0)
		return code != 0 ? code : MISSING;
	out[0] = (unsigned)c->util;
	out[1] = 0;
	return 0;
}

EXPORT int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *out);
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *out)
{
	struct state s;
	struct card *c;
	const int code = card_of(&s, device, &c);

	if (code != 0 || c->temp < 0 || sensor != 0)
		return code != 0 ? code : MISSING;
	*out = (unsigned)c->temp;
	return 0;
}

EXPORT int nvmlDeviceGetTemperatureThreshold(void *device, unsigned which, unsigned *out);
int nvmlDeviceGetTemperatureThreshold(void *device, unsigned which, unsigned *out)
{
	struct state s;
	struct card *c;
	const int code = card_of(&s, device, &c);

	if (code != 0 || c->slow < 0 || which != 1)
		return code != 0 ? code : MISSING;
	*out = (unsigned)c->slow;
	return 0;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out)
{
	struct state s;
	struct card *c;
	struct timespec t;
	const int code = card_of(&s, device, &c);

	if (code != 0 || (c->energy < 0 && c->power < 0))
		return code != 0 ? code : MISSING;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	*out = c->energy >= 0 ? (unsigned long long)c->energy
			      : (unsigned long long)((double)c->power *
						     ((double)t.tv_sec + (double)t.tv_nsec / 1e9));
	return 0;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter,
				       unsigned long long *out);
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *out)
{
	struct state s;
	struct card *c;
	const int code = card_of(&s, device, &c);

	if (code != 0 || c->ecc < 0 || kind != 1 || counter != 0)
		return code != 0 ? code : MISSING;
	*out = (unsigned long long)c->ecc;
	return 0;
}

struct process {
	unsigned pid;
	unsigned long long bytes;
	unsigned instances[2];
};

static int processes(void *device, bool graphics, unsigned *n, struct process *out)
{
	struct state s;
	struct card *c;
	unsigned found = 0;
	const int code = card_of(&s, device, &c);

	for (unsigned i = 0; code == 0 && i < s.proc_n; i++) {
		const struct proc *p = &s.proc[i];

		if ((size_t)p->card + 1 != (size_t)device || (p->graphics > 0) != graphics)
			continue;
		if (found == *n)
			return 7;
		out[found++] = (struct process){
			.pid = (unsigned)p->pid,
			.bytes = p->mib < 0 ? ~0ULL : (unsigned long long)p->mib * MIB};
	}
	*n = found;
	return code;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *out);
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *n, struct process *out);

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *out)
{
	return processes(device, false, n, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *n, struct process *out)
{
	return processes(device, true, n, out);
}
