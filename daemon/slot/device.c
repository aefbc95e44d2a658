#include "daemon/slot/device.h"
#include "base/memory.h"
#include "daemon/config.h"
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sw_device_kind kind_cpu = {
	.word = "cpu", .units = "CPU slots", .several = true};

/* By itself CUDA numbers the fastest first; --devices counts as the bus does. */
#define GPU .word = "gpu", .units = "lanes", .env = "CUDA_DEVICE_ORDER=PCI_BUS_ID", .gpu = true

static const struct sw_device_kind kind_gpu = {GPU, .several = true, .watched = true};
/* A process sees one part of a GPU alone, so no trial has several. */
static const struct sw_device_kind kind_part = {GPU, .watched = true};

/* Pilots are on several machines. */
static const struct sw_device_kind kind_pilot = {.word = "cpu", .units = "CPU slots", .away = true};
static const struct sw_device_kind kind_gpu_pilot = {GPU, .away = true};

struct slot_list {
	struct sw_device *v;
	size_t n;
};

static sw_status add_slot(struct slot_list *l, const struct sw_device *device, struct sw_err *err)
{
	if (l->n == SW_DEVICE_MAX_SLOTS)
		return sw_err_set(err, SW_INVALID, "--devices: more than %d slots",
				  SW_DEVICE_MAX_SLOTS);
	if (!sw_array_resize(&l->v, l->n + 1, sizeof *l->v))
		return sw_err_set(err, SW_NOMEM, "out of memory");
	l->v[l->n++] = *device;
	return SW_OK;
}

static unsigned count_cores(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned)n;
}

static sw_status add_cpus(struct slot_list *l, unsigned n, struct sw_err *err)
{
	const unsigned all = count_cores();
	/* The cores of the machine are shared out evenly; more slots than cores share them as the
	 * kernel sees fit. */
	struct sw_device d = {.kind = &kind_cpu, .cores = all / n == 0 ? 1 : all / n, .lanes = 1};
	sw_status rc = SW_OK;

	for (; rc == SW_OK && d.index < n; d.index++) {
		(void)snprintf(d.name, sizeof d.name, "cpu:%u", d.index);
		rc = add_slot(l, &d, err);
	}
	return rc;
}

/* A whole decimal number that ends at end or a comma; -1 otherwise. */
static long read_number(const char **p)
{
	char *stop;

	if (**p < '0' || **p > '9')
		return -1;
	const long v = strtol(*p, &stop, 10);
	*p = stop;
	/* strtol() gives LONG_MAX where it overflows, which this catches, too. */
	return v > 1000000 ? -1 : v;
}

/* --- GPUs --- */

/* One of a list: up to a comma. */
struct gpu_item {
	char name[96]; /* a number, or a UUID or its beginning */
	unsigned lanes;
};

/* ":4", ":auto"; -1: neither. */
static long read_lanes(const char **p)
{
	++*p;
	if (strncmp(*p, "auto", 4) != 0)
		return read_number(p);
	*p += 4;
	return SW_DEVICE_AUTO_LANES;
}

static sw_status read_gpu_item(const char **p, struct gpu_item *out, struct sw_err *err)
{
	const size_t whole = strcspn(*p, ","), n = strcspn(*p, ",:");
	const char *lanes = *p + n;
	long v = 1;

	if (*lanes == ':')
		v = read_lanes(&lanes);
	if (n == 0 || n >= sizeof out->name || v < 1 || v > SW_DEVICE_MAX_SLOTS ||
	    lanes != *p + whole)
		return sw_err_set(
			err, SW_INVALID,
			"--devices gpu:%s: numbers with commas, such as gpu:0,1, or UUIDs; "
			"each with :N for N lanes",
			*p);
	(void)snprintf(out->name, sizeof out->name, "%.*s", (int)n, *p);
	out->lanes = (unsigned)v;
	*p += whole;
	return SW_OK;
}

/* "1", or "1m0" of a part. */
static void number_card(const struct sw_nvml_view *view, size_t i, char out[12])
{
	const struct sw_nvml_card *c = view != NULL ? &view->card[i] : NULL;

	if (c != NULL && c->part.is)
		(void)snprintf(out, 12, "%um%u", c->part.gpu % 1000, c->part.number % 1000);
	else
		(void)snprintf(out, 12, "%zu", i % 1000000);
}

/* The card of a number, or of (the beginning of) a UUID; -1: none, or more than one. */
static long find_card(const struct sw_nvml_view *view, const char *name)
{
	const char *p = name;
	char number[12];
	long found = -1;

	/* Without NVML a number is all that can be understood. */
	if (view == NULL) {
		found = read_number(&p);
		return *p == '\0' ? found : -1;
	}
	/* A UUID begins with GPU- or MIG-, so what begins with a digit is a number. */
	name += strspn(name, "0");
	name -= p != name && (*name < '0' || *name > '9'); /* "02" is 2, "00" is 0 */
	for (size_t i = 0; i < view->n; i++) {
		number_card(view, i, number);
		if (strcmp(number, name) == 0)
			return (long)i;
	}
	for (size_t i = 0; i < view->n && (*name < '0' || *name > '9'); i++)
		if (strncmp(view->card[i].uuid, name, strlen(name)) == 0) {
			/* The beginning of two UUIDs names neither. */
			if (found >= 0)
				return -1;
			found = (long)i;
		}
	return found;
}

static sw_status add_card(struct slot_list *l, const struct sw_nvml_view *view, unsigned index,
			  unsigned lanes, struct sw_err *err)
{
	struct sw_device d = {.kind = &kind_gpu, .index = index, .cores = 1, .lanes = lanes};
	sw_status rc = SW_OK;
	char number[12];

	number_card(view, index, number);
	(void)snprintf(d.card, sizeof d.card, "gpu:%s", number);
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].kind->gpu && l->v[i].index == index)
			return sw_err_set(err, SW_INVALID, "--devices: %s twice", d.card);
	/* Known by its UUID: numbers change when a card is added. */
	if (view != NULL) {
		memcpy(d.uuid, view->card[index].uuid, sizeof d.uuid);
		d.capability = view->card[index].capability;
		if (view->card[index].part.is)
			d.kind = &kind_part;
	}
	for (; rc == SW_OK && d.lane < lanes; d.lane++) {
		if (lanes == 1)
			(void)snprintf(d.name, sizeof d.name, "%s", d.card);
		else
			(void)snprintf(d.name, sizeof d.name, "%s.%u", d.card, d.lane % 10000);
		rc = add_slot(l, &d, err);
	}
	return rc;
}

/* "this machine has 2: gpu:0 GPU-aa.., gpu:1 GPU-bb.." */
static sw_status refuse_gpu(const struct sw_nvml_view *view, const char *name, bool divided,
			    struct sw_err *err)
{
	char list[200] = "", number[12];
	size_t len = 0, n = 0;

	if (view == NULL)
		return sw_err_set(
			err, SW_INVALID,
			"--devices gpu:%s: a number such as gpu:0 is needed where there is "
			"no NVML to ask for UUIDs",
			name);
	for (size_t i = 0; i < view->n; i++) {
		if (view->card[i].divided)
			continue;
		number_card(view, i, number);
		if (len < sizeof list - 64)
			len += (size_t)snprintf(list + len, sizeof list - len, "%s gpu:%s %.44s",
						n > 0 ? "," : ":", number, view->card[i].uuid);
		n++;
	}
	return sw_err_set(err, SW_INVALID, "--devices gpu:%s: %s; this machine has %zu%s", name,
			  divided ? "it is divided (MIG), and each part is named by itself"
				  : "no such GPU, or more than one",
			  n, list);
}

/* "0m1" */
static bool is_part_number(const char *name)
{
	const char *p = name;

	return read_number(&p) >= 0 && *p++ == 'm' && read_number(&p) >= 0 && *p == '\0';
}

/* A number without NVML is taken on trust. */
static sw_status add_gpus(struct slot_list *l, const struct sw_nvml_view *view, const char *text,
			  bool syntax, struct sw_err *err)
{
	struct gpu_item item = {.lanes = 1};
	const char *p = text;

	for (;;) {
		sw_status rc = read_gpu_item(&p, &item, err);
		if (rc != SW_OK)
			return rc;
		const long found = find_card(view, item.name);
		const bool uuid = strncmp(item.name, "GPU-", 4) == 0 ||
				  strncmp(item.name, "MIG-", 4) == 0;
		/* A part's number means nothing before NVML has said what parts there are. */
		const bool later = syntax && (uuid || is_part_number(item.name));
		if (found < 0 && !uuid && !later && view == NULL)
			return sw_err_set(
				err, SW_INVALID,
				"--devices gpu:%s: numbers with commas, such as gpu:0,1, or "
				"UUIDs (GPU-..., MIG-...)",
				text);
		const bool divided = found >= 0 && view != NULL && view->card[found].divided;
		if (divided || (found < 0 && !later))
			return refuse_gpu(view, item.name, divided, err);
		/* When only the syntax is checked, a UUID gets a number that no GPU has: it must
		 * not be taken for one that is named twice. */
		const unsigned index = found >= 0 ? (unsigned)found
						  : SW_NVML_CARDS + (unsigned)l->n;
		rc = add_card(l, view, index, item.lanes, err);
		if (rc != SW_OK || *p == '\0')
			return rc;
		p++;
	}
}

/* Is card i among those of CUDA_VISIBLE_DEVICES? As CUDA reads it: up to the first that is no
 * card. */
static bool is_visible(const struct sw_nvml_view *view, size_t i)
{
	const char *p = getenv("CUDA_VISIBLE_DEVICES");
	char name[96];

	/* Nothing is hidden. */
	if (p == NULL)
		return true;
	for (;;) {
		p += strspn(p, " ");
		const size_t n = strcspn(p, ","), blanks = n > 0 && p[n - 1] == ' ';

		if (n == 0 || n >= sizeof name)
			return false;
		(void)snprintf(name, sizeof name, "%.*s", (int)(n - blanks), p);
		const long found = find_card(view, name);
		if (found < 0)
			return false;
		if ((size_t)found == i ||
		    (view->card[i].part.is && view->card[i].part.gpu == (size_t)found))
			return true;
		if (p[n] == '\0')
			return false;
		p += n + 1;
	}
}

static sw_status add_auto(struct slot_list *l, const struct sw_nvml_view *view, const char *spec,
			  struct sw_err *err)
{
	const char *p = spec + 4;
	long lanes = 1;
	sw_status rc = SW_OK;

	if (*p == ':')
		lanes = read_lanes(&p);
	if (*p != '\0' || lanes < 1 || lanes > SW_DEVICE_MAX_SLOTS)
		return sw_err_set(err, SW_INVALID,
				  "--devices %s: it is auto, or auto:N with N lanes a GPU", spec);
	for (size_t i = 0; rc == SW_OK && view != NULL && i < view->n; i++)
		if (view->card[i].health == SW_NVML_OK && !view->card[i].divided &&
		    is_visible(view, i))
			rc = add_card(l, view, (unsigned)i, (unsigned)lanes, err);
	return rc == SW_OK && l->n == 0 ? add_cpus(l, count_cores(), err) : rc;
}

static bool has_parts(const struct sw_nvml_view *view, size_t gpu)
{
	for (size_t i = 0; i < view->n; i++)
		if (view->card[i].part.is && view->card[i].part.gpu == gpu)
			return true;
	return false;
}

bool sw_device_left_out(const char *spec, const struct sw_nvml_view *view, char *out, size_t cap)
{
	const char *given = getenv("CUDA_VISIBLE_DEVICES");
	size_t hidden = 0, ill = 0, whole = 0, n = 0;
	char why[140] = "", mig[80] = "";

	/* Named GPUs are an error if they cannot be had; only auto leaves out. */
	if (strncmp(spec, "auto", 4) != 0 || view == NULL)
		return false;
	for (size_t i = 0; i < view->n; i++) {
		const struct sw_nvml_card *c = &view->card[i];

		/* Its parts are counted instead. */
		if (c->divided && has_parts(view, i))
			continue;
		n++;
		whole += c->divided;
		ill += !c->divided && c->health != SW_NVML_OK;
		hidden += !c->divided && c->health == SW_NVML_OK && !is_visible(view, i);
	}
	if (hidden > 0)
		(void)snprintf(why, sizeof why, "CUDA_VISIBLE_DEVICES=%.80s", given);
	else if (ill > 0)
		(void)snprintf(why, sizeof why, "they cannot be read");
	if (whole > 0)
		(void)snprintf(mig, sizeof mig, "%s%zu in MIG mode without an instance",
			       *why != '\0' ? "; " : "", whole);
	(void)snprintf(out, cap, "--devices auto leaves out %zu of %zu GPUs: %s%s",
		       hidden + ill + whole, n, why, mig);
	return hidden + ill + whole > 0;
}

static bool has_file(const char *root, const char *pattern)
{
	char path[PATH_MAX];
	glob_t found = {0};

	(void)snprintf(path, sizeof path, "%s%s", root, pattern);
	const bool has = glob(path, 0, NULL, &found) == 0;

	globfree(&found);
	return has;
}

bool sw_device_is_there(const char *root)
{
	return (has_file(root, "/proc/driver/nvidia/gpus/*") &&
		has_file(root, "/dev/nvidia[0-9]*")) ||
	       (has_file(root, "/dev/dxg") && has_file(root, "/usr/lib/wsl/lib/libcuda.so*"));
}

bool sw_device_wants_gpus(const char *spec)
{
	return strncmp(spec, "auto", 4) == 0 || strstr(spec, "gpu:") != NULL;
}

unsigned sw_device_lanes(const struct sw_device *device, double gpu)
{
	if (!device->kind->gpu)
		return gpu > 0.0 ? 0 : 1;
	if (gpu < 0.0)
		return 0;
	/* a third of three lanes is one, whatever the last bit of the product says */
	const double lanes = ceil(gpu * device->lanes - 1e-9);
	return lanes > 1.0 ? (unsigned)lanes : 1;
}

static sw_status add_part(struct slot_list *l, const struct sw_nvml_view *view, const char *part,
			  bool syntax, struct sw_err *err)
{
	if (strncmp(part, "cpu:", 4) == 0) {
		const char *p = part + 4;
		const long n = read_number(&p);

		if (n < 1 || n > SW_DEVICE_MAX_SLOTS || *p != '\0')
			return sw_err_set(err, SW_INVALID,
					  "--devices %s: cpu:N, with N from 1 to %d slots; parts "
					  "are joined by +, "
					  "as in gpu:0+cpu:2",
					  part, SW_DEVICE_MAX_SLOTS);
		for (size_t i = 0; i < l->n; i++)
			if (!l->v[i].kind->gpu)
				return sw_err_set(err, SW_INVALID, "--devices: cpu: twice");
		return add_cpus(l, (unsigned)n, err);
	}
	if (strncmp(part, "gpu:", 4) == 0)
		return add_gpus(l, view, part + 4, syntax, err);
	return sw_err_set(err, SW_INVALID, "--devices %s: it is cpu:N, gpu:0,1, auto or none",
			  part);
}

static sw_status parse_devices(const char *spec, const struct sw_nvml_view *view, bool syntax,
			       struct slot_list *l, struct sw_err *err)
{
	char text[SW_CONFIG_MAX_DEVICES], *save = NULL;
	sw_status rc = SW_OK;

	if (strcmp(spec, "none") == 0)
		return SW_OK;
	if (strlen(spec) >= sizeof text || *spec == '\0')
		return sw_err_set(err, SW_INVALID, "--devices is %s", *spec ? "too long" : "empty");
	memcpy(text, spec, strlen(spec) + 1);
	if (*spec == '+' || spec[strlen(spec) - 1] == '+' || strstr(spec, "++") != NULL)
		return sw_err_set(err, SW_INVALID, "--devices %s: a part beside + is empty", spec);
	if (strncmp(spec, "auto", 4) == 0)
		rc = add_auto(l, view, spec, err);
	else
		for (char *part = strtok_r(text, "+", &save); rc == SW_OK && part != NULL;
		     part = strtok_r(NULL, "+", &save))
			rc = add_part(l, view, part, syntax, err);
	if (rc == SW_OK && l->n == 0)
		rc = sw_err_set(err, SW_INVALID, "--devices %s names no slot", spec);
	return rc;
}

sw_status sw_device_parse(const char *spec, const struct sw_nvml_view *view, struct sw_device **out,
			  size_t *n, struct sw_err *err)
{
	struct slot_list l = {NULL, 0};
	const sw_status rc = parse_devices(spec, view, false, &l, err);

	if (rc != SW_OK) {
		free(l.v);
		l = (struct slot_list){NULL, 0};
	}
	*out = l.v;
	*n = l.n;
	return rc;
}

sw_status sw_device_check(const char *spec, struct sw_err *err)
{
	struct slot_list l = {NULL, 0};
	const sw_status rc = parse_devices(spec, NULL, true, &l, err);

	free(l.v);
	return rc;
}

sw_status sw_device_add_pilots(const struct sw_pilot_options *o, struct sw_device **devices,
			       size_t *n, struct sw_err *err)
{
	if (!sw_array_resize(devices, *n + o->max, sizeof **devices))
		return sw_err_set(err, SW_NOMEM, "out of memory");
	for (unsigned i = 0; i < o->max; i++) {
		struct sw_device *dev = &(*devices)[(*n)++];

		*dev = (struct sw_device){.kind = o->gpus > 0 ? &kind_gpu_pilot : &kind_pilot,
					  .index = i,
					  .cores = o->cpus,
					  .lanes = 1};
		(void)snprintf(dev->name, sizeof dev->name, "%s:%u", o->executor, i % SW_PILOT_MAX);
		if (dev->kind->gpu)
			memcpy(dev->card, dev->name, sizeof dev->card);
	}
	return SW_OK;
}

int64_t sw_device_memory(const struct sw_device *device, const struct sw_config *config)
{
	return device->kind->gpu ? config->gpu_memory : config->cpu_memory;
}
