#include "daemon/device.h"
#include "base/fault.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct list {
	struct sw_device *v;
	size_t n;
};

static sw_status add(struct list *l, bool gpu, unsigned index, unsigned cores, struct sw_err *err)
{
	struct sw_device *grown;

	if (l->n == SW_DEVICE_MAX_SLOTS)
		return sw_err_set(err, SW_INVALID, "--devices: more than %d slots",
				  SW_DEVICE_MAX_SLOTS);
	grown = sw_realloc(l->v, (l->n + 1) * sizeof *grown);
	if (grown == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	l->v = grown;
	l->v[l->n] = (struct sw_device){.gpu = gpu, .index = index, .cores = cores};
	(void)snprintf(l->v[l->n].name, sizeof l->v[l->n].name, "%s:%u", gpu ? "gpu" : "cpu",
		       index);
	l->n++;
	return SW_OK;
}

static unsigned processors(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned)n;
}

static sw_status add_cpus(struct list *l, unsigned n, struct sw_err *err)
{
	const unsigned all = processors(), cores = all / n > 0 ? all / n : 1;
	sw_status rc = SW_OK;

	for (unsigned i = 0; rc == SW_OK && i < n; i++)
		rc = add(l, false, i, cores, err);
	return rc;
}

/* A whole decimal number that ends at end or a comma; -1 otherwise. */
static long number(const char **p)
{
	char *stop;

	if (**p < '0' || **p > '9')
		return -1;
	const long v = strtol(*p, &stop, 10);
	*p = stop;
	return v > 1000000 ? -1 : v;
}

static sw_status add_gpus(struct list *l, const char *text, struct sw_err *err)
{
	sw_status rc = SW_OK;

	for (const char *p = text; rc == SW_OK;) {
		const long v = number(&p);

		if (v < 0 || (*p != '\0' && *p != ','))
			return sw_err_set(err, SW_INVALID,
					  "--devices gpu:%s: numbers with commas, such as gpu:0,1",
					  text);
		for (size_t i = 0; i < l->n; i++)
			if (l->v[i].gpu && l->v[i].index == (unsigned)v)
				return sw_err_set(err, SW_INVALID, "--devices: gpu:%ld twice", v);
		rc = add(l, true, (unsigned)v, 1, err);
		if (*p == '\0')
			break;
		p++;
	}
	return rc;
}

/* GPUs by the driver's own library, opened only if it is there. */
static unsigned count_gpus(void)
{
	int (*init)(void), (*count)(unsigned *), (*down)(void);
	unsigned n = 0;
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (nvml == NULL)
		return 0;
	*(void **)&init = dlsym(nvml, "nvmlInit_v2");
	*(void **)&count = dlsym(nvml, "nvmlDeviceGetCount_v2");
	*(void **)&down = dlsym(nvml, "nvmlShutdown");
	if (init != NULL && count != NULL && down != NULL && init() == 0) {
		if (count(&n) != 0)
			n = 0;
		(void)down();
	}
	(void)dlclose(nvml);
	return n;
}

static sw_status add_auto(struct list *l, struct sw_err *err)
{
	const unsigned gpus = count_gpus();
	sw_status rc = SW_OK;

	if (gpus == 0)
		return add_cpus(l, processors(), err);
	for (unsigned i = 0; rc == SW_OK && i < gpus; i++)
		rc = add(l, true, i, 1, err);
	return rc;
}

static sw_status add_part(struct list *l, const char *part, struct sw_err *err)
{
	if (strncmp(part, "cpu:", 4) == 0) {
		const char *p = part + 4;
		const long n = number(&p);

		if (n < 1 || n > SW_DEVICE_MAX_SLOTS || *p != '\0')
			return sw_err_set(err, SW_INVALID,
					  "--devices %s: cpu:N, with N from 1 to %d slots; parts "
					  "are joined by +, "
					  "as in gpu:0+cpu:2",
					  part, SW_DEVICE_MAX_SLOTS);
		for (size_t i = 0; i < l->n; i++)
			if (!l->v[i].gpu)
				return sw_err_set(err, SW_INVALID, "--devices: cpu: twice");
		return add_cpus(l, (unsigned)n, err);
	}
	if (strncmp(part, "gpu:", 4) == 0)
		return add_gpus(l, part + 4, err);
	return sw_err_set(err, SW_INVALID, "--devices %s: it is cpu:N, gpu:0,1, auto or none",
			  part);
}

sw_status sw_device_parse(const char *spec, struct sw_device **out, size_t *n, struct sw_err *err)
{
	struct list l = {NULL, 0};
	char text[256], *save = NULL;
	sw_status rc = SW_OK;

	*out = NULL;
	*n = 0;
	if (strcmp(spec, "none") == 0)
		return SW_OK;
	if (strlen(spec) >= sizeof text || *spec == '\0')
		return sw_err_set(err, SW_INVALID, "--devices is %s", *spec ? "too long" : "empty");
	memcpy(text, spec, strlen(spec) + 1);
	if (strcmp(spec, "auto") == 0)
		rc = add_auto(&l, err);
	else
		for (char *part = strtok_r(text, "+", &save); rc == SW_OK && part != NULL;
		     part = strtok_r(NULL, "+", &save))
			rc = add_part(&l, part, err);
	if (rc == SW_OK && l.n == 0)
		rc = sw_err_set(err, SW_INVALID, "--devices %s names no slot", spec);
	if (rc != SW_OK) {
		free(l.v);
		return rc;
	}
	*out = l.v;
	*n = l.n;
	return SW_OK;
}
