/* The members of a struct, from an object. */
#include "proto/form.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static void fill_integer(void *to, size_t size, uint64_t v)
{
	if (size == sizeof(uint64_t))
		*(uint64_t *)to = v;
	else
		*(unsigned *)to = (unsigned)v;
}

static void fill_word(void *to, size_t size, const struct sw_form_key *k, const cJSON *v)
{
	const size_t i = v != NULL            ? sw_key_word(k, v->valuestring)
			 : isnan(k->fallback) ? 0
					      : (size_t)k->fallback;

	if (size == sizeof(const char *))
		*(const char **)to = k->choices[i];
	else if (size == sizeof(bool))
		*(bool *)to = i == 1;
	else
		*(unsigned *)to = (unsigned)i;
}

static void fill_one(const struct sw_form_key *k, const cJSON *v, size_t size, void *to)
{
	const bool none = v == NULL && isnan(k->fallback);

	switch (k->kind) {
	case SW_KEY_INTEGER:
		if (!none)
			fill_integer(to, size,
				     (uint64_t)(v != NULL ? v->valuedouble : k->fallback));
		return;
	case SW_KEY_REAL:
		if (!none)
			*(double *)to = v != NULL ? v->valuedouble : k->fallback;
		return;
	case SW_KEY_BOOLEAN:
		*(bool *)to = v != NULL ? cJSON_IsTrue(v) != 0 : k->fallback > 0;
		return;
	case SW_KEY_CHOICE:
		fill_word(to, size, k, v);
		return;
	case SW_KEY_STRING:
		if (v != NULL)
			*(const char **)to = v->valuestring;
		return;
	default:
		return;
	}
}

void sw_form_fill(const struct sw_form *form, const cJSON *object, void *out)
{
	for (size_t i = 0; i < form->n; i++) {
		const struct sw_form_key *k = &form->keys[i];
		const cJSON *v = sw_form_get(form, object, k->name, NULL);
		struct sw_faults wrong = {NULL, 0, 0};

		if (k->size == 0)
			continue;
		if (v != NULL)
			sw_key_check(k, v, "", &wrong);
		fill_one(k, wrong.n == 0 ? v : NULL, k->size, (char *)out + k->at);
	}
}
