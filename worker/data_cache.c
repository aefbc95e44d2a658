/* worker/data_cache.c — data sets kept from trial to trial, so that a trial's start costs nothing.
 */
#include "base/fault.h"
#include "worker/data.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRIES 4

struct entry {
	char *spec; /* the data set's JSON, one line; NULL: free */
	char path[sizeof((struct sw_data_source *)0)->path];
	struct sw_data_want want;
	uint64_t stamp; /* of its files */
	uint64_t used;  /* the get that used it last */
	struct sw_data data;
};

struct sw_data_cache {
	const struct sw_ops *ops;
	struct sw_queue *q;
	uint64_t gets;
	size_t loads;
	struct entry entry[ENTRIES];
};

sw_status sw_data_cache_create(struct sw_data_cache **out, const struct sw_ops *ops,
			       struct sw_queue *q)
{
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return SW_NOMEM;
	(*out)->ops = ops;
	(*out)->q = q;
	return SW_OK;
}

static void entry_drop(struct entry *e)
{
	free(e->spec);
	sw_data_fini(&e->data);
	memset(e, 0, sizeof *e);
}

void sw_data_cache_destroy(struct sw_data_cache *c)
{
	for (int i = 0; c && i < ENTRIES; i++)
		entry_drop(&c->entry[i]);
	free(c);
}

size_t sw_data_cache_loads(const struct sw_data_cache *c)
{
	return c->loads;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	for (int i = 0; i < 8; i++, v >>= 8)
		h = (h ^ (v & 255)) * 0x100000001b3u; /* FNV-1a */
	return h;
}

/* Sizes and times of all files; of one that is missing, nothing: reading it tells. */
static uint64_t stamp_of(const struct sw_data_source *source)
{
	char file[SW_DATASET_MAX_PATH + 64];
	uint64_t h = 0xcbf29ce484222325u;
	struct stat st;

	for (size_t i = 0; sw_data_source_file(source, i, file); i++) {
		if (stat(file, &st) != 0)
			continue;
		h = mix(h, i + 1);
		h = mix(h, (uint64_t)st.st_ino);
		h = mix(h, (uint64_t)st.st_size);
		h = mix(h, (uint64_t)st.st_mtim.tv_sec);
		h = mix(h, (uint64_t)st.st_mtim.tv_nsec);
	}
	return h;
}

static bool entry_is(const struct entry *e, const char *spec, const struct sw_data_source *source,
		     struct sw_data_want want, uint64_t stamp)
{
	return e->spec && strcmp(e->spec, spec) == 0 && strcmp(e->path, source->path) == 0 &&
	       e->want.classes == want.classes && e->want.split_seed == want.split_seed &&
	       e->want.standardize == want.standardize && e->want.all == want.all &&
	       e->want.val_fraction == want.val_fraction && e->stamp == stamp;
}

static sw_status load(struct sw_data_cache *c, struct entry *e, const struct sw_data_source *source,
		      struct sw_data_want want, struct sw_err *err)
{
	struct sw_err first = SW_ERR_INIT;
	sw_status status;

	c->loads++;
	status = sw_data_load(&e->data, source, want, c->ops, c->q, &first);
	if (status == SW_OK)
		return SW_OK;
	if (status != SW_NOMEM)
		return sw_err_at(err, status, first.ptr, "%s", first.msg);
	for (int i = 0; i < ENTRIES; i++)
		if (&c->entry[i] != e)
			entry_drop(&c->entry[i]);
	if (want.device_bytes == 0)
		return sw_data_load(&e->data, source, want, c->ops, c->q, err);
	first = (struct sw_err)SW_ERR_INIT;
	status = sw_data_load(&e->data, source, want, c->ops, c->q, &first);
	if (status == SW_NOMEM && want.device_bytes > 1) {
		want.device_bytes = 1;
		return sw_data_load(&e->data, source, want, c->ops, c->q, err);
	}
	return status == SW_OK ? SW_OK : sw_err_at(err, status, first.ptr, "%s", first.msg);
}

sw_status sw_data_cache_get(struct sw_data_cache *c, const cJSON *dataset, struct sw_data_want want,
			    const struct sw_data **out, struct sw_err *err)
{
	struct sw_data_source source;
	struct entry *e = &c->entry[0];
	uint64_t stamp;
	char *spec;
	sw_status status = sw_data_source_read(&source, dataset, err);

	*out = NULL;
	if (status != SW_OK)
		return status;
	spec = cJSON_PrintUnformatted(dataset);
	if (!spec)
		return sw_err_set(err, SW_NOMEM, "no memory for the data set's key");
	stamp = stamp_of(&source);
	c->gets++;
	for (int i = 0; i < ENTRIES; i++) {
		if (entry_is(&c->entry[i], spec, &source, want, stamp)) {
			free(spec);
			c->entry[i].used = c->gets;
			*out = &c->entry[i].data;
			return SW_OK;
		}
		if (c->entry[i].used < e->used)
			e = &c->entry[i];
	}
	entry_drop(e);
	status = load(c, e, &source, want, err);
	if (status != SW_OK) {
		free(spec);
		return status;
	}
	e->spec = spec;
	memcpy(e->path, source.path, sizeof e->path);
	e->want = want;
	e->stamp = stamp;
	e->used = c->gets;
	*out = &e->data;
	return SW_OK;
}
