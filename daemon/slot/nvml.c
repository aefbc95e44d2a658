#include "daemon/slot/nvml.h"
#include "base/memory.h"
#include "base/process.h"
#include "daemon/slot/nvml_abi.h"
#include "daemon/slot/xid.h"
#include <assert.h>
#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the library --- */

/* Has it answered? It may lack the function, and a card what it is asked for. */
#define HAS_ANSWERED(call, ...) ((call) != NULL && (call)(__VA_ARGS__) == NVML_SUCCESS)

static const char *const symbols[] = {
#define SYMBOL(name, symbol, type, args) symbol,
	NVML_CALLS(SYMBOL)
#undef SYMBOL
};
#define SYMBOLS (sizeof symbols / sizeof symbols[0])

/* NVML's words for a code. */
static const char *nvml_words(const struct sw_nvml *m, int code)
{
	const char *text = m->call.error != NULL ? m->call.error(code) : NULL;

	/* Its commonest cause has nothing to do with the GPU (nvidia-container-toolkit 48). */
	if (code == NVML_UNKNOWN)
		return "Unknown Error (a container loses its GPUs by systemctl daemon-reload: "
		       "start it anew)";
	return text != NULL ? text : "unknown error";
}

static sw_status load_library(struct sw_nvml *m, const char *path, struct sw_err *err)
{
	void *at[SYMBOLS];

	/* At run time, so that one binary serves machines without a driver. */
	m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (m->library == NULL)
		return sw_err_set(err, SW_NOT_FOUND, "no NVIDIA driver: %s", dlerror());
	for (size_t i = 0; i < SYMBOLS; i++) {
		at[i] = dlsym(m->library, symbols[i]);
		/* The rest came with later drivers; HAS_ANSWERED() takes a missing one as no
		 * answer. */
		if (at[i] == NULL && i < NVML_REQUIRED)
			return sw_err_set(err, SW_NOT_FOUND, "%s has no %s", path, symbols[i]);
	}
	/* POSIX's way around ISO C, which knows no conversion from object to function pointer. */
	_Static_assert(sizeof at == sizeof m->call, "addresses of both are as long");
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
				"no NVIDIA driver that works: NVML says: %s", nvml_words(m, code));
	}
	/* From here on sw_nvml_close() ends it; before, NVML was not initialised. */
	if (rc == SW_OK) {
		*out = m;
		return SW_OK;
	}
	if (m->library != NULL)
		(void)dlclose(m->library);
	free(m);
	return rc;
}

void sw_nvml_rest(struct sw_nvml *m)
{
	if (m->events != NULL && m->call.unwatch != NULL)
		(void)m->call.unwatch(m->events);
	if (m->call.shutdown != NULL && !m->rests)
		(void)m->call.shutdown();
	m->events = NULL;
	m->watched = false;
	m->rests = true;
}

void sw_nvml_close(struct sw_nvml *m)
{
	if (m == NULL)
		return;
	sw_nvml_rest(m);
	(void)dlclose(m->library);
	free(m);
}

/* --- processes --- */

#define PARENTS 32 /* that are looked up for a process */

static void look_up_proc(struct sw_nvml_proc *p)
{
	struct sw_process at;
	size_t n = 0;

	p->session = -1;
	if (!sw_process_read((pid_t)p->pid, &at))
		return; /* it has ended, or is of another container */
	(void)snprintf(p->name, sizeof p->name, "%s", at.name);
	p->session = at.session;
	for (int k = 0; k < PARENTS && n < SW_NVML_ABOVE && at.parent > 1; k++) {
		const pid_t last = at.session;

		if (!sw_process_read(at.parent, &at))
			return;
		/* A program may begin sessions of its own below its worker's: each that is above it
		 * is noted. */
		if (at.session != last)
			p->above[n++] = at.session;
	}
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
	bool listed = false, refused = false;

	for (size_t k = 0; k < 2; k++) {
		unsigned n = PROCS_ASKED;

		if (lists[k] == NULL)
			continue;
		const int code = lists[k](device, &n, m->procs);
		listed = listed || code == NVML_SUCCESS;
		refused = refused || code == NVML_NOT_SUPPORTED;
		/* With too many to list nothing is known of any: their memory then has no
		 * process. */
		if (code == NVML_SUCCESS && n <= PROCS_ASKED)
			for (unsigned i = 0; i < n; i++)
				keep_proc(c, &m->procs[i], k == 0);
	}
	c->unlisted = refused && !listed;
}

/* --- one card --- */

bool sw_nvml_may_sleep(const char *root, const char *bus)
{
	char path[PATH_MAX], word[8] = "";
	FILE *f;

	/* NVML's domain has eight digits, the kernel's four, and the kernel's letters are small. */
	int n = snprintf(path, sizeof path, "%s/sys/bus/pci/devices/", root);
	for (const char *c = strlen(bus) > 4 ? bus + 4 : ""; *c != '\0'; c++)
		path[n++] = (char)tolower((unsigned char)*c);
	(void)snprintf(path + n, sizeof path - (size_t)n, "/power/control");
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	const bool is_auto = fgets(word, sizeof word, f) != NULL && strncmp(word, "auto", 4) == 0;
	(void)fclose(f);
	return is_auto;
}

static bool has_failed(const struct sw_nvml *m, struct sw_nvml_card *c, int code)
{
	if (code == NVML_SUCCESS)
		return false;
	c->health = code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED ? SW_NVML_LOST
									    : SW_NVML_SILENT;
	(void)snprintf(c->why, sizeof c->why, "%s", nvml_words(m, code));
	return true;
}

static int read_memory(const struct sw_nvml *m, struct device *device, struct sw_nvml_card *c)
{
	struct memory_v2 two = {.version = MEMORY_V2};
	struct memory one;
	int code = NVML_SUCCESS;

	/* The old call counts what the driver reserves as used; the new one tells it apart. */
	if (HAS_ANSWERED(m->call.memory_v2, device, &two))
		one = (struct memory){.total = two.total, .free = two.free, .used = two.used};
	else
		code = m->call.memory(device, &one);
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
	struct field recovery = {.id = FIELD_RECOVERY};
	struct utilization util;
	unsigned long long big;
	unsigned v;

	if (HAS_ANSWERED(call->utilization, device, &util))
		c->util = (int32_t)util.gpu;
	if (HAS_ANSWERED(call->temperature, device, TEMPERATURE_GPU, &v))
		c->temp = (int32_t)v;
	if (HAS_ANSWERED(call->threshold, device, THRESHOLD_SLOWDOWN, &v) && v > 0)
		c->slowdown = (int32_t)v;
	if (HAS_ANSWERED(call->power, device, &v))
		c->power_mw = v;
	if (HAS_ANSWERED(call->power_limit, device, &v))
		c->limit_mw = v;
	if (HAS_ANSWERED(call->energy, device, &big))
		c->energy_mj = (int64_t)big;
	if (HAS_ANSWERED(call->ecc, device, ECC_UNCORRECTED, ECC_VOLATILE, &big))
		c->ecc = (int64_t)big;
	if (HAS_ANSWERED(call->fields, device, 1, &recovery) && recovery.code == NVML_SUCCESS)
		c->need = recovery.value.u;
	if (HAS_ANSWERED(call->throttle, device, &big))
		c->throttled = (big & REASON_HW_THERMAL) != 0;
}

static bool is_divided(const struct sw_nvml *m, struct device *device)
{
	unsigned now, pending;

	return HAS_ANSWERED(m->call.mig_mode, device, &now, &pending) && now == 1;
}

static void read_card(struct sw_nvml *m, unsigned index, struct sw_nvml_card *c)
{
	struct device *device = NULL;
	struct pci pci;
	int major, minor;

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
	/* Without a handle nothing else can be asked. */
	if (has_failed(m, c, m->call.handle(index, &device)))
		return;
	/* Handles are asked for anew each time: after a reset an old one is of nothing. */
	m->gpus[index] = device;
	if (m->call.uuid(device, c->uuid, sizeof c->uuid) != NVML_SUCCESS)
		c->uuid[0] = '\0';
	if (m->call.name == NULL || m->call.name(device, c->name, sizeof c->name) != NVML_SUCCESS)
		c->name[0] = '\0';
	if (HAS_ANSWERED(m->call.pci, device, &pci))
		(void)snprintf(c->bus, sizeof c->bus, "%.31s", pci.bus_id);
	c->sleeps = sw_nvml_may_sleep("", c->bus);
	if (HAS_ANSWERED(m->call.capability, device, &major, &minor))
		c->capability = major * 10 + minor;
	c->divided = is_divided(m, device);
	/* Memory and processes of a divided GPU are for its administrator alone to see. */
	if (!c->divided && has_failed(m, c, read_memory(m, device, c)))
		return;
	read_sensors(m, device, c);
	if (!c->divided)
		read_procs(m, device, c);
}

/* --- parts of a GPU (MIG) --- */

static void keep_part(struct sw_nvml *m, const char *uuid, unsigned gpu, unsigned number,
		      struct device *device)
{
	size_t i = 0;

	/* A part keeps the place that it was given first, for slots know it by that; its UUID stays
	 * while it exists. */
	while (i < m->part_n && strcmp(m->parts[i].uuid, uuid) != 0)
		i++;
	/* More parts than there is room for: they take no trials. */
	if (m->parts_at + i >= SW_NVML_CARDS)
		return;
	struct part *p = &m->parts[i];
	if (i == m->part_n)
		m->part_n++;
	*p = (struct part){
		.device = device, .gpu = gpu, .number = number, .instance = ANY_INSTANCE};
	(void)snprintf(p->uuid, sizeof p->uuid, "%s", uuid);
	if (m->call.instance != NULL && m->call.instance(device, &p->instance) != NVML_SUCCESS)
		p->instance = ANY_INSTANCE;
}

static void find_parts(struct sw_nvml *m, unsigned gpu)
{
	unsigned most = 0;

	if (m->call.parts_most == NULL || m->call.part == NULL ||
	    m->call.parts_most(m->gpus[gpu], &most) != NVML_SUCCESS)
		return;
	for (unsigned k = 0; k < most; k++) {
		struct device *device;
		char uuid[sizeof m->parts[0].uuid];

		if (m->call.part(m->gpus[gpu], k, &device) == NVML_SUCCESS &&
		    m->call.uuid(device, uuid, sizeof uuid) == NVML_SUCCESS)
			keep_part(m, uuid, gpu, k, device);
	}
}

static void read_part(struct sw_nvml *m, const struct part *p, const struct sw_nvml_card *gpu,
		      struct sw_nvml_card *c)
{
	char name[sizeof c->name];

	*c = *gpu; /* its bus, its heat, whether it is there at all */
	memcpy(c->uuid, p->uuid, sizeof c->uuid);
	c->divided = false;
	c->part.is = true;
	c->part.gpu = p->gpu;
	c->part.number = p->number;
	c->util = -1;
	c->power_mw = c->limit_mw = c->energy_mj = -1;
	/* A fault of the GPU is one of each part. */
	if (c->health != SW_NVML_OK)
		return;
	if (p->device == NULL) {
		c->health = SW_NVML_SILENT;
		(void)snprintf(c->why, sizeof c->why, "this part of gpu:%u is not there any more",
			       p->gpu);
		return;
	}
	if (HAS_ANSWERED(m->call.name, p->device, name, sizeof name))
		memcpy(c->name, name, sizeof name);
	if (!has_failed(m, c, read_memory(m, p->device, c)))
		read_procs(m, p->device, c);
}

static void read_parts(struct sw_nvml *m, struct sw_nvml_view *out)
{
	/* A GPU that is missing from the list takes no part to another place. */
	for (size_t i = out->n; i < m->parts_at; i++) {
		out->card[i] = (struct sw_nvml_card){.health = SW_NVML_SILENT};
		(void)snprintf(out->card[i].why, sizeof out->card[i].why,
			       "not in the list of GPUs");
	}
	for (size_t i = 0; i < m->part_n; i++)
		read_part(m, &m->parts[i], &out->card[m->parts[i].gpu],
			  &out->card[m->parts_at + i]);
	out->n = m->parts_at + m->part_n;
}

/* --- errors that the driver tells of --- */

static void watch_events(struct sw_nvml *m, size_t n)
{
	/* Once, whether it works or not: a driver without events would be asked at each reading. */
	m->watched = true;
	if (m->call.events == NULL || m->call.watch == NULL || m->call.wait == NULL ||
	    m->call.events(&m->events) != NVML_SUCCESS) {
		m->events = NULL;
		return;
	}
	for (size_t i = 0; i < n; i++) /* one that has no such events tells of none */
		if (m->gpus[i] != NULL)
			(void)m->call.watch(m->gpus[i], EVENT_XID, m->events);
}

void sw_nvml_keep_xid(struct sw_nvml_card *c, unsigned xid)
{
	size_t k = 0;

	if (c->xid_n == SW_NVML_XIDS) {
		/* The oldest that is no loss goes first: one that takes the GPU out must not be
		 * pushed away by a program's faults. */
		while (k < SW_NVML_XIDS - 1 && sw_gpu_need_is_loss(sw_xid_need(c->xid[k])))
			k++;
		memmove(c->xid + k, c->xid + k + 1, (SW_NVML_XIDS - 1 - k) * sizeof c->xid[0]);
		c->xid_n--;
	}
	c->xid[c->xid_n++] = xid;
}

static void take_event(const struct sw_nvml *m, const struct event *e, struct sw_nvml_view *out)
{
	for (size_t i = 0; i < out->n; i++) {
		struct sw_nvml_card *c = &out->card[i];
		const struct part *p = c->part.is ? &m->parts[i - m->parts_at] : NULL;

		if (m->gpus[p != NULL ? p->gpu : i] != e->device)
			continue;
		if (p == NULL || e->gpu_instance == ANY_INSTANCE || e->gpu_instance == p->instance)
			sw_nvml_keep_xid(c, (unsigned)e->data);
	}
}

/* --- links --- */

static uint8_t read_link(const struct sw_nvml *m, unsigned a, unsigned b)
{
	int status = -1, level = -1;

	if (HAS_ANSWERED(m->call.p2p, m->gpus[a], m->gpus[b], P2P_NVLINK, &status) &&
	    status == P2P_OK)
		return 100;
	if (m->call.ancestor == NULL ||
	    m->call.ancestor(m->gpus[a], m->gpus[b], &level) != NVML_SUCCESS || level < 0 ||
	    level > ANCESTOR_SYSTEM)
		return 0;
	return (uint8_t)(1 + ANCESTOR_SYSTEM - level);
}

/* Once: they are what the machine was built with. */
static void read_links(struct sw_nvml *m, size_t n)
{
	m->linked = true;
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < a; b++)
			if (m->gpus[a] != NULL && m->gpus[b] != NULL)
				m->link[a][b] = m->link[b][a] = read_link(m, a, b);
}

void sw_nvml_read(struct sw_nvml *m, struct sw_nvml_view *out)
{
	struct event e;
	unsigned n = 0;

	assert(m != NULL);
	out->n = 0;
	if (m->rests)
		m->rests = m->call.init() != NVML_SUCCESS;
	/* An empty list: each card counts as missing (judge_card()). */
	if (m->rests || m->call.count(&n) != NVML_SUCCESS)
		return;
	out->n = n < SW_NVML_CARDS ? n : SW_NVML_CARDS;
	for (size_t i = 0; i < m->part_n; i++)
		m->parts[i].device = NULL;
	for (unsigned i = 0; i < out->n; i++)
		read_card(m, i, &out->card[i]);
	if (!m->linked)
		read_links(m, out->n);
	memcpy(out->link, m->link, sizeof out->link);
	if (m->part_n == 0)
		m->parts_at = out->n;
	for (unsigned i = 0; i < out->n; i++)
		if (out->card[i].divided)
			find_parts(m, i);
	if (m->part_n > 0)
		read_parts(m, out);
	if (!m->watched)
		watch_events(m, n < SW_NVML_CARDS ? n : SW_NVML_CARDS);
	if (m->events == NULL)
		return;
	/* Bounded, and without a wait: a program that faults in a loop must not hold this
	 * thread. */
	for (int k = 0; k < EVENTS_AT_ONCE && m->call.wait(m->events, &e, 0) == NVML_SUCCESS; k++)
		if (e.type == EVENT_XID)
			take_event(m, &e, out);
}
