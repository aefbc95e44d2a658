#include "daemon/slot/nvml.h"
#include "base/memory.h"
#include <assert.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the library's side: layouts and numbers of its ABI --- */

enum {
	NVML_SUCCESS = 0,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
};
#define TEMPERATURE_GPU    0U
#define THRESHOLD_SLOWDOWN 1U
#define ECC_UNCORRECTED    1
#define ECC_VOLATILE       0
#define REASON_HW_THERMAL  UINT64_C(0x40)
#define NOT_AVAILABLE      UINT64_MAX
#define MEMORY_V2          ((unsigned)sizeof(struct memory_v2) | 2U << 24)
#define PROCS_ASKED        256U

struct device; /* theirs */

struct memory {
	unsigned long long total, free, used;
};

struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct utilization {
	unsigned gpu, memory;
};

struct pci {
	char bus_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct process {
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
};

_Static_assert(sizeof(struct memory) == 24 && sizeof(struct memory_v2) == 40 &&
		       sizeof(struct pci) == 68 && sizeof(struct process) == 24,
	       "the library's layouts");

/* Those above the line must be there; a library or a card may lack any other. */
struct calls {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, struct device **);
	int (*uuid)(struct device *, char *, unsigned);
	int (*memory)(struct device *, struct memory *);
	/* --- */
	int (*shutdown)(void);
	const char *(*error)(int);
	int (*name)(struct device *, char *, unsigned);
	int (*pci)(struct device *, struct pci *);
	int (*memory_v2)(struct device *, struct memory_v2 *);
	int (*utilization)(struct device *, struct utilization *);
	int (*temperature)(struct device *, unsigned, unsigned *);
	int (*threshold)(struct device *, unsigned, unsigned *);
	int (*power)(struct device *, unsigned *);
	int (*power_limit)(struct device *, unsigned *);
	int (*energy)(struct device *, unsigned long long *);
	int (*ecc)(struct device *, int, int, unsigned long long *);
	int (*throttle)(struct device *, unsigned long long *);
	int (*compute)(struct device *, unsigned *, struct process *);
	int (*graphics)(struct device *, unsigned *, struct process *);
};
#define REQUIRED 5

static const char *const symbols[] = {
	"nvmlInit_v2",
	"nvmlDeviceGetCount_v2",
	"nvmlDeviceGetHandleByIndex_v2",
	"nvmlDeviceGetUUID",
	"nvmlDeviceGetMemoryInfo",
	"nvmlShutdown",
	"nvmlErrorString",
	"nvmlDeviceGetName",
	"nvmlDeviceGetPciInfo_v3",
	"nvmlDeviceGetMemoryInfo_v2",
	"nvmlDeviceGetUtilizationRates",
	"nvmlDeviceGetTemperature",
	"nvmlDeviceGetTemperatureThreshold",
	"nvmlDeviceGetPowerUsage",
	"nvmlDeviceGetEnforcedPowerLimit",
	"nvmlDeviceGetTotalEnergyConsumption",
	"nvmlDeviceGetTotalEccErrors",
	"nvmlDeviceGetCurrentClocksThrottleReasons",
	"nvmlDeviceGetComputeRunningProcesses_v3",
	"nvmlDeviceGetGraphicsRunningProcesses_v3",
};
#define SYMBOLS (sizeof symbols / sizeof symbols[0])
_Static_assert(sizeof(struct calls) == SYMBOLS * sizeof(void (*)(void)), "a symbol is a call");

struct sw_nvml {
	void *library;
	struct calls call;
	struct process procs[PROCS_ASKED];
};

static const char *error_words(const struct sw_nvml *m, int code)
{
	const char *text = m->call.error != NULL ? m->call.error(code) : NULL;

	return text != NULL ? text : "unknown error";
}

static sw_status load_library(struct sw_nvml *m, const char *path, struct sw_err *err)
{
	void *at[SYMBOLS];

	m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (m->library == NULL)
		return sw_err_set(err, SW_NOT_FOUND, "no NVIDIA driver: %s", dlerror());
	for (size_t i = 0; i < SYMBOLS; i++) {
		at[i] = dlsym(m->library, symbols[i]);
		if (at[i] == NULL && i < REQUIRED)
			return sw_err_set(err, SW_NOT_FOUND, "%s has no %s", path, symbols[i]);
	}
	/* POSIX's way around ISO C, which knows no conversion from object to function pointer. */
	memcpy(&m->call, at, sizeof at);
	return SW_OK;
}

sw_status sw_nvml_open(struct sw_nvml **out, struct sw_err *err)
{
	const char *given = getenv("SWEEPD_NVML");
	const char *path = given != NULL && *given != '\0' ? given : "libnvidia-ml.so.1";
	struct sw_nvml *m = sw_calloc(1, sizeof *m);
	sw_status rc;

	*out = NULL;
	if (m == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	rc = load_library(m, path, err);
	if (rc == SW_OK) {
		const int code = m->call.init();

		if (code != NVML_SUCCESS)
			rc = sw_err_set(
				err,
				code == NVML_DRIVER_NOT_LOADED || code == NVML_LIBRARY_NOT_FOUND
					? SW_NOT_FOUND
					: SW_IO,
				"no NVIDIA driver that works: NVML says: %s", error_words(m, code));
	}
	if (rc == SW_OK) {
		*out = m;
		return SW_OK;
	}
	if (m->library != NULL)
		(void)dlclose(m->library);
	free(m);
	return rc;
}

void sw_nvml_close(struct sw_nvml *m)
{
	if (m == NULL)
		return;
	if (m->call.shutdown != NULL)
		(void)m->call.shutdown();
	(void)dlclose(m->library);
	free(m);
}

/* --- processes --- */

/* Name and session of a process, from /proc/PID/stat: "PID (NAME) STATE PARENT GROUP SESSION". */
static void look_up_proc(struct sw_nvml_proc *p)
{
	char path[64], text[512];
	long long session;

	p->session = -1;
	(void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)p->pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	const ssize_t n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	const char *from = strchr(text, '('), *to = strrchr(text, ')');
	if (from == NULL || to == NULL || sscanf(to, ") %*c %*d %*d %lld", &session) != 1)
		return;
	p->session = session;
	(void)snprintf(p->name, sizeof p->name, "%.*s", (int)(to - from - 1), from + 1);
}

/* Keeps those with the most memory. */
static void keep_proc(struct sw_nvml_card *c, const struct process *from, bool compute)
{
	struct sw_nvml_proc p = {.pid = from->pid,
				 .bytes = from->bytes == NOT_AVAILABLE ? -1 : (int64_t)from->bytes,
				 .compute = compute};
	size_t at = c->proc_n;

	for (size_t i = 0; i < c->proc_n; i++) /* one that does both is in both lists */
		if (c->proc[i].pid == p.pid) {
			c->proc[i].compute = c->proc[i].compute || compute;
			return;
		}
	if (at == SW_NVML_PROCS) {
		at = 0;
		for (size_t i = 1; i < c->proc_n; i++)
			at = c->proc[i].bytes < c->proc[at].bytes ? i : at;
		if (c->proc[at].bytes >= p.bytes)
			return;
	} else {
		c->proc_n++;
	}
	look_up_proc(&p);
	c->proc[at] = p;
}

static void read_procs(struct sw_nvml *m, struct device *device, struct sw_nvml_card *c)
{
	int (*const lists[])(struct device *, unsigned *, struct process *) = {m->call.compute,
									       m->call.graphics};

	for (size_t k = 0; k < 2; k++) {
		unsigned n = PROCS_ASKED;

		if (lists[k] == NULL)
			continue;
		const int code = lists[k](device, &n, m->procs);
		/* With too many to list nothing is known of any: their memory then has no
		 * process. */
		if (code == NVML_SUCCESS && n <= PROCS_ASKED)
			for (unsigned i = 0; i < n; i++)
				keep_proc(c, &m->procs[i], k == 0);
	}
}

/* --- one card --- */

static bool has_failed(const struct sw_nvml *m, struct sw_nvml_card *c, int code)
{
	if (code == NVML_SUCCESS)
		return false;
	c->health = code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED ? SW_NVML_LOST
									    : SW_NVML_SILENT;
	(void)snprintf(c->why, sizeof c->why, "%s", error_words(m, code));
	return true;
}

static int read_memory(const struct sw_nvml *m, struct device *device, struct sw_nvml_card *c)
{
	struct memory_v2 two = {.version = MEMORY_V2};
	struct memory one;

	/* The old call counts what the driver reserves as used; the new one tells it apart. */
	if (m->call.memory_v2 != NULL && m->call.memory_v2(device, &two) == NVML_SUCCESS) {
		c->total = (int64_t)two.total;
		c->used = (int64_t)two.used;
		c->free = (int64_t)two.free;
		return NVML_SUCCESS;
	}
	const int code = m->call.memory(device, &one);
	if (code == NVML_SUCCESS) {
		c->total = (int64_t)one.total;
		c->used = (int64_t)one.used;
		c->free = (int64_t)one.free;
	}
	return code;
}

static void read_sensors(const struct sw_nvml *m, struct device *device, struct sw_nvml_card *c)
{
	const struct calls *call = &m->call;
	struct utilization util;
	unsigned long long big;
	unsigned v;

	if (call->utilization != NULL && call->utilization(device, &util) == NVML_SUCCESS)
		c->util = (int32_t)util.gpu;
	if (call->temperature != NULL &&
	    call->temperature(device, TEMPERATURE_GPU, &v) == NVML_SUCCESS)
		c->temp = (int32_t)v;
	if (call->threshold != NULL &&
	    call->threshold(device, THRESHOLD_SLOWDOWN, &v) == NVML_SUCCESS && v > 0)
		c->slowdown = (int32_t)v;
	if (call->power != NULL && call->power(device, &v) == NVML_SUCCESS)
		c->power_mw = v;
	if (call->power_limit != NULL && call->power_limit(device, &v) == NVML_SUCCESS)
		c->limit_mw = v;
	if (call->energy != NULL && call->energy(device, &big) == NVML_SUCCESS)
		c->energy_mj = (int64_t)big;
	if (call->ecc != NULL &&
	    call->ecc(device, ECC_UNCORRECTED, ECC_VOLATILE, &big) == NVML_SUCCESS)
		c->ecc = (int64_t)big;
	if (call->throttle != NULL && call->throttle(device, &big) == NVML_SUCCESS)
		c->throttled = (big & REASON_HW_THERMAL) != 0;
}

static void read_card(struct sw_nvml *m, unsigned index, struct sw_nvml_card *c)
{
	struct device *device = NULL;
	struct pci pci;

	*c = (struct sw_nvml_card){.total = -1,
				   .used = -1,
				   .free = -1,
				   .util = -1,
				   .temp = -1,
				   .slowdown = -1,
				   .power_mw = -1,
				   .limit_mw = -1,
				   .energy_mj = -1,
				   .ecc = -1};
	if (has_failed(m, c, m->call.handle(index, &device)))
		return;
	if (m->call.uuid(device, c->uuid, sizeof c->uuid) != NVML_SUCCESS)
		c->uuid[0] = '\0';
	if (m->call.name == NULL || m->call.name(device, c->name, sizeof c->name) != NVML_SUCCESS)
		c->name[0] = '\0';
	if (m->call.pci != NULL && m->call.pci(device, &pci) == NVML_SUCCESS)
		(void)snprintf(c->bus, sizeof c->bus, "%.31s", pci.bus_id);
	if (has_failed(m, c, read_memory(m, device, c)))
		return;
	read_sensors(m, device, c);
	read_procs(m, device, c);
}

void sw_nvml_read(struct sw_nvml *m, struct sw_nvml_view *out)
{
	unsigned n = 0;

	assert(m != NULL);
	out->n = 0;
	if (m->call.count(&n) != NVML_SUCCESS)
		return;
	out->n = n < SW_NVML_CARDS ? n : SW_NVML_CARDS;
	for (unsigned i = 0; i < out->n; i++)
		read_card(m, i, &out->card[i]);
}
