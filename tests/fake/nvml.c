/* tests/fake/nvml.c — a stand-in for the driver's NVML: the library's names, and for each what
 * tests/fake/nvml_state.h says. A card without energy= counts power= by the clock. */
#include "tests/fake/nvml_state.h"
#include <stdio.h>
#include <time.h>

#define MIB     1048576ULL
#define MISSING 3 /* not supported */
#define LOST    15
#define EXPORT  __attribute__((visibility("default")))
#define NUMBER(symbol, type, field)                                                                \
	EXPORT int symbol(void *device, type *out);                                                \
	int symbol(void *device, type *out)                                                        \
	{                                                                                          \
		struct state s;                                                                    \
		struct card *c;                                                                    \
		const int code = fake_card_of(&s, device, &c);                                     \
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
		const int code = fake_card_of(&s, device, &c);                                     \
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

	fake_now(&s);
	fake_up = s.init == 0;
	return s.init;
}

int nvmlShutdown(void)
{
	fake_up = false;
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

	fake_now(&s);
	*out = s.n;
	return fake_up ? 0 : 1;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
	struct state s;
	struct card *c;

	*out = (void *)(size_t)(index + 1);
	return fake_card_of(&s, *out, &c);
}

struct memory {
	unsigned long long total, free, used;
};

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *out);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
	struct state s;
	struct card *c;
	const int code = fake_card_of(&s, device, &c);

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
	const int code = fake_card_of(&s, device, &c);

	if (code == 0)
		(void)snprintf(out->bus, sizeof out->bus, "%s", c->bus);
	return code;
}

struct field {
	unsigned id, scope;
	long long time, latency;
	int type, code;
	union {
		unsigned u;
		double d;
	} value;
};

EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *out);
int nvmlDeviceGetFieldValues(void *device, int n, struct field *out)
{
	struct state s;
	struct card *c;
	const int code = fake_card_of(&s, device, &c);

	for (int i = 0; code == 0 && i < n; i++) {
		out[i].type = 1; /* unsigned */
		out[i].code = out[i].id == 230 && c->need >= 0 ? 0 : MISSING;
		out[i].value.u = (unsigned)c->need;
	}
	return code;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned out[2]);
int nvmlDeviceGetUtilizationRates(void *device, unsigned out[2])
{
	struct state s;
	struct card *c;
	const int code = fake_card_of(&s, device, &c);

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
	const int code = fake_card_of(&s, device, &c);

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
	const int code = fake_card_of(&s, device, &c);

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
	const int code = fake_card_of(&s, device, &c);

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
	const int code = fake_card_of(&s, device, &c);

	if (code != 0 || c->ecc < 0 || kind != 1 || counter != 0)
		return code != 0 ? code : MISSING;
	*out = (unsigned long long)c->ecc;
	return 0;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
	struct state s;
	struct card *c;
	const int code = fake_card_of(&s, device, &c);

	if (code != 0 || c->cc < 0)
		return code != 0 ? code : MISSING;
	*major = (int)c->cc / 10;
	*minor = (int)c->cc % 10;
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
	const int code = fake_card_of(&s, device, &c);

	if (code == 0 && c->unlisted > 0)
		return 3; /* as under WSL: not supported */
	for (unsigned i = 0; code == 0 && i < s.proc_n; i++) {
		const struct proc *p = &s.proc[i];

		const long long handle = p->part >= 0 ? PART + p->part : p->card + 1;
		if (handle != (long long)(size_t)device || (p->graphics > 0) != graphics)
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

/* --- parts --- */

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *now_on, unsigned *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *out);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **out);
EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *out);

int nvmlDeviceGetMigMode(void *device, unsigned *now_on, unsigned *pending)
{
	struct state s;
	struct card *c;
	const int code = fake_card_of(&s, device, &c);

	*now_on = *pending = 0;
	for (unsigned i = 0; i < s.part_n; i++)
		if (s.part[i].of + 1 == (long long)(size_t)device)
			*now_on = *pending = 1;
	return code;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *out)
{
	*out = PARTS;
	return device == NULL;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **out)
{
	struct state s;

	fake_now(&s);
	*out = (void *)(size_t)(PART + index);
	return index < s.part_n && s.part[index].of + 1 == (long long)(size_t)device ? 0 : 6;
}

int nvmlDeviceGetGpuInstanceId(void *device, unsigned *out)
{
	*out = (unsigned)((size_t)device - PART + 1); /* from 1, as the first that are made */
	return 0;
}

/* --- events --- */

struct event {
	void *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

EXPORT int nvmlDeviceGetP2PStatus(void *a, void *b, int caps, int *out);
EXPORT int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *out);

int nvmlDeviceGetP2PStatus(void *a, void *b, int caps, int *out)
{
	struct state s;
	struct card *c;
	int code = fake_card_of(&s, a, &c);
	const long long island = code == 0 ? c->island : -1;

	if (code == 0)
		code = fake_card_of(&s, b, &c);
	if (code == 0)
		*out = caps == 2 && island >= 0 && c->island == island ? 0 : 1;
	return code;
}

int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *out)
{
	struct state s;
	struct card *c;
	int code = fake_card_of(&s, a, &c);

	if (code == 0)
		code = fake_card_of(&s, b, &c);
	*out = 50;
	return code;
}

static unsigned long long watched; /* a bit for each card */
static unsigned told;

EXPORT int nvmlEventSetCreate(void **out);
EXPORT int nvmlEventSetFree(void *set);
EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set);
EXPORT int nvmlEventSetWait_v2(void *set, struct event *out, unsigned ms);

int nvmlEventSetCreate(void **out)
{
	*out = &watched;
	watched = 0;
	told = 0;
	return 0;
}

int nvmlEventSetFree(void *set)
{
	return set != &watched;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
	if (set != &watched || types != 8)
		return 2;
	watched |= 1ULL << (size_t)device;
	return 0;
}

int nvmlEventSetWait_v2(void *set, struct event *out, unsigned ms)
{
	struct state s;

	(void)ms;
	for (fake_now(&s); set == &watched && told < s.xid_n; told++) {
		const struct xid *x = &s.xid[told];

		if ((watched >> (x->card + 1) & 1) == 0)
			continue;
		*out = (struct event){
			.device = (void *)(size_t)(x->card + 1),
			.type = 8,
			.data = (unsigned long long)x->xid,
			.gpu_instance = x->instance < 0 ? ~0U : (unsigned)x->instance,
			.compute_instance = ~0U,
		};
		told++;
		return 0;
	}
	return 10; /* none in time */
}
