#include "proto/form.h"
#include "base/utf8.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 128 /* keys of a form */

static const struct sw_hint *hint_of(const struct sw_hint *hints, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(hints[i].key, word) == 0)
			return &hints[i];
	return NULL;
}

/* --- one value --- */

/* each: v is an item of an array of that name. */
struct value {
	const struct sw_form_key *key;
	const cJSON *v;
	const char *ptr;
	bool each;
	struct sw_faults *f;
};

static void check_value(const struct value *at);

static void refuse(const struct value *at, const char *instead)
{
	char want[320];

	sw_fault_note(at->f, at->ptr, "%s\"%s\" must be %s%s%s", at->each ? "each of " : "",
		      at->key->name, sw_key_want(at->key, want, sizeof want),
		      instead != NULL ? ", not " : "", instead != NULL ? instead : "");
}

static void check_number(const struct value *at)
{
	const struct sw_form_key *k = at->key;
	const double d = at->v->valuedouble;

	/* Before the bounds: 0.5 of "at least 1" is a fraction first. */
	if (k->kind == SW_KEY_INTEGER && d != floor(d))
		refuse(at, "a fraction");
	else if (!isfinite(d) || (k->min_open ? d <= k->min : d < k->min) ||
		 (k->max_open ? d >= k->max : d > k->max))
		refuse(at, NULL);
}

size_t sw_key_word(const struct sw_form_key *k, const char *word)
{
	size_t i = 0;

	while (k->choices[i] != NULL && strcmp(k->choices[i], word) != 0)
		i++;
	return i;
}

/* Returns what a word that is no choice was perhaps meant to be. */
static const char *nearest_word(const struct sw_form_key *k, const char *word)
{
	const struct sw_hint *hint = hint_of(k->hints, k->hints_n, word);

	/* The word is no choice: its place is one behind the last, how many there are. */
	return hint != NULL ? hint->use : sw_nearest(word, k->choices, sw_key_word(k, word));
}

static void check_word(const struct value *at)
{
	const struct sw_form_key *k = at->key;
	const char *word = at->v->valuestring;
	char want[240], did[SW_DID_YOU_MEAN];

	if (k->choices[sw_key_word(k, word)] != NULL)
		return;
	const struct sw_hint *hint = hint_of(k->hints, k->hints_n, word);
	const char *near = nearest_word(k, word);
	if (near != NULL)
		sw_fault_note(at->f, at->ptr, "unknown %s \"%.64s\"%s", k->name, word,
			      sw_did_you_mean(near, did));
	else if (hint != NULL)
		sw_fault_note(at->f, at->ptr, "unknown %s \"%.64s\": %s", k->name, word,
			      hint->line);
	else
		sw_fault_note(at->f, at->ptr, "unknown %s \"%.64s\": it must be %s", k->name, word,
			      sw_key_want(k, want, sizeof want));
}

/* Refuses characters that turn the direction of text, too: a terminal would show another line than
 * the one that is stored. */
static bool is_plain(const char *text)
{
	while (*text != '\0') {
		const uint32_t r = sw_utf8_next(&text);

		if (r < 0x20 || r == 0x7f || r == 0x200e || r == 0x200f ||
		    (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069))
			return false;
	}
	return true;
}

static void check_string(const struct value *at)
{
	const struct sw_form_key *k = at->key;
	const double n = (double)strlen(at->v->valuestring);

	if (n < k->min || n > k->max)
		refuse(at, NULL);
	else if (k->plain && !is_plain(at->v->valuestring))
		sw_fault_note(at->f, at->ptr,
			      "\"%s\" has a control or text-direction character in it", k->name);
}

static void check_array(const struct value *at)
{
	const struct sw_form_key *k = at->key;
	const int n = cJSON_GetArraySize(at->v);
	const cJSON *item;
	char place[sizeof at->f->list->ptr];
	size_t i = 0;

	if (n == 0 && k->min > 0) {
		refuse(at, "an empty one");
		return;
	}
	if ((n < k->min || n > k->max) && k->min == k->max) {
		refuse(at, NULL);
		return;
	}
	if (n < k->min || n > k->max) {
		sw_fault_note(at->f, at->ptr, "\"%s\" has %d of them: it takes %.0f to %.0f",
			      k->name, n, k->min, k->max);
		return;
	}
	if (k->item == NULL)
		return;
	cJSON_ArrayForEach (item, at->v) {
		const struct value one = {k->item, item, place, true, at->f};

		/* In the caller's buffer, one for all items: each is noted, with its own text,
		 * before the next. */
		(void)snprintf(place, sizeof place, "%s/%zu", at->ptr, i++);
		check_value(&one);
	}
}

static void check_value(const struct value *at)
{
	static int (*const is_kind[])(const cJSON *) = {
		[SW_KEY_OBJECT] = cJSON_IsObject, [SW_KEY_ARRAY] = cJSON_IsArray,
		[SW_KEY_STRING] = cJSON_IsString, [SW_KEY_INTEGER] = cJSON_IsNumber,
		[SW_KEY_REAL] = cJSON_IsNumber,   [SW_KEY_BOOLEAN] = cJSON_IsBool,
		[SW_KEY_CHOICE] = cJSON_IsString};
	static void (*const check[])(const struct value *) = {
		[SW_KEY_ARRAY] = check_array,    [SW_KEY_STRING] = check_string,
		[SW_KEY_INTEGER] = check_number, [SW_KEY_REAL] = check_number,
		[SW_KEY_CHOICE] = check_word,    [SW_KEY_CHOICE + 1] = NULL};
	const struct sw_form_key *k = at->key;

	/* Only those who know the parameters can say whether there is such a one. */
	if (k->kind == SW_KEY_ANY || (k->searched && cJSON_IsString(at->v)))
		return;
	if (!is_kind[k->kind](at->v))
		refuse(at, sw_json_kind(at->v));
	else if (k->forms != NULL)
		(void)sw_forms_check(k->forms, at->v, at->ptr, at->f);
	else if (k->form != NULL)
		sw_form_check(k->form, at->v, at->ptr, at->f);
	else if (check[k->kind] != NULL)
		check[k->kind](at);
}

void sw_key_check(const struct sw_form_key *k, const cJSON *v, const char *ptr, struct sw_faults *f)
{
	const struct value at = {k, v, ptr, false, f};

	check_value(&at);
}

void sw_key_check_literal(const struct sw_form_key *k, const cJSON *v, const char *ptr,
			  struct sw_faults *f)
{
	struct sw_form_key literal = *k;

	/* A copy: the table is constant, and shared by all threads that read specs. */
	literal.searched = false;
	sw_key_check(&literal, v, ptr, f);
}

/* --- the keys of an object --- */

const struct sw_form_key *sw_form_find(const struct sw_form *form, const char *name)
{
	for (size_t i = 0; i < form->n; i++)
		if (strcmp(form->keys[i].name, name) == 0)
			return &form->keys[i];
	return NULL;
}

/* The names of its keys but another tool's, and with ours alone but others' names for ours. */
static size_t list_names(const struct sw_form *form, bool ours, const char *names[NAMES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < form->n && n < NAMES_MAX; i++)
		if (!form->keys[i].inert && !(ours && form->keys[i].means != NULL))
			names[n++] = form->keys[i].name;
	return n;
}

const char *sw_form_nearest(const struct sw_form *form, const char *name)
{
	const struct sw_hint *hint = hint_of(form->hints, form->hints_n, name);
	const char *names[NAMES_MAX];

	return hint != NULL ? hint->use : sw_nearest(name, names, list_names(form, false, names));
}

static void unknown_key(const struct sw_form *form, const char *name, const char *ptr,
			struct sw_faults *f)
{
	const char *names[NAMES_MAX];
	char list[SW_KNOWN_HERE], did[SW_DID_YOU_MEAN];

	/* a line that nobody would see is not worth the search for a near name */
	if (f->n >= f->cap) {
		f->n++;
		return;
	}
	const struct sw_hint *hint = hint_of(form->hints, form->hints_n, name);
	const char *near = sw_form_nearest(form, name);

	if (near == NULL && hint != NULL) {
		sw_fault_note(f, ptr, "\"%s\" is not supported by this version: %s", name,
			      hint->line);
		return;
	}
	sw_known_here(names, list_names(form, true, names), list);
	sw_fault_note(f, ptr, "unknown %s \"%.64s\"%s", form->noun != NULL ? form->noun : "key",
		      name, near != NULL ? sw_did_you_mean(near, did) : list);
}

/* The key that a name belongs to, be it another name of it. */
static const struct sw_form_key *own_key(const struct sw_form *form, const struct sw_form_key *k)
{
	return k->means != NULL ? sw_form_find(form, k->means) : k;
}

const cJSON *sw_form_get(const struct sw_form *form, const cJSON *object, const char *name,
			 const char **given)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, object) {
		const struct sw_form_key *k = sw_form_find(form, v->string);

		if (k == NULL || strcmp(own_key(form, k)->name, name) != 0)
			continue;
		if (given != NULL)
			*given = k->name;
		return v;
	}
	return NULL;
}

/* Is there a key that may stand for it? Then it is not missing, too. */
static bool is_misspelt(const struct sw_form *form, const cJSON *object, const char *name)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, object) {
		const char *near = sw_form_find(form, v->string) == NULL
					   ? sw_form_nearest(form, v->string)
					   : NULL;
		if (near != NULL && strcmp(near, name) == 0)
			return true;
	}
	return false;
}

/* --- one of several forms --- */

static const struct sw_form *form_of(const struct sw_forms *forms, const char *word)
{
	for (size_t i = 0; i < forms->n; i++)
		if (strcmp(forms->list[i].name, word) == 0)
			return &forms->list[i];
	return NULL;
}

/* The form that a misspelt word means, or NULL. */
static const struct sw_form *meant_form(const struct sw_forms *forms, const cJSON *by)
{
	const char *word = cJSON_GetStringValue(by);
	const char *near = word != NULL ? nearest_word(forms->pick, word) : NULL;

	return near != NULL ? form_of(forms, near) : NULL;
}

/* A key that another form has is told of by that form. */
static bool is_anothers(const struct sw_forms *forms, const struct sw_form *form, const char *name,
			const char *ptr, struct sw_faults *f)
{
	const char *by = forms->by;

	if (hint_of(form->hints, form->hints_n, name) != NULL)
		return false;
	if (strcmp(name, by) == 0) {
		sw_fault_note(f, ptr, "\"%s\" does not go with \"%s\": give one of them", name,
			      form->name);
		return true;
	}
	for (size_t i = 0; i < forms->n; i++) {
		if (sw_form_find(&forms->list[i], name) == NULL)
			continue;
		if (forms->or_by != NULL && strcmp(form->name, forms->or_by) == 0)
			sw_fault_note(f, ptr,
				      "\"%s\" does not go with \"%s\": give \"%s\" in its place",
				      name, form->name, by);
		else
			sw_fault_note(f, ptr, "\"%s\" goes with %s \"%s\", and this is %s \"%s\"",
				      name, by, forms->list[i].name, by, form->name);
		return true;
	}
	return false;
}

/* --- the object --- */

struct object {
	const struct sw_form *form;
	const struct sw_forms *forms; /* among which it is; or NULL */
	const cJSON *v;
	const char *ptr;
	struct sw_faults *f;
};

static void check_member(const struct object *o, const cJSON *v)
{
	const struct sw_form_key *k = sw_form_find(o->form, v->string);
	char place[sizeof o->f->list->ptr];
	const char *given = NULL;

	(void)snprintf(place, sizeof place, "%s", o->ptr);
	sw_json_pointer_add(place, sizeof place, v->string);
	if (k == NULL) {
		/* Another form's key is no unknown one: "goes with" tells more than "did you
		 * mean". */
		if (o->forms == NULL || !is_anothers(o->forms, o->form, v->string, place, o->f))
			unknown_key(o->form, v->string, place, o->f);
	} else if (sw_form_get(o->form, o->v, own_key(o->form, k)->name, &given) != v) {
		sw_fault_note(o->f, place, "\"%s\" and \"%s\" are two names of one thing: give one",
			      given, k->name);
	} else {
		sw_key_check(k, v, place, o->f);
	}
}

static void note_missing(const char *ptr, const struct sw_form_key *k, struct sw_faults *f)
{
	char place[sizeof f->list->ptr], want[320];

	(void)snprintf(place, sizeof place, "%s", ptr);
	sw_json_pointer_add(place, sizeof place, k->name);
	sw_fault_note(f, place, "\"%s\" is missing: %s", k->name,
		      k->missing != NULL ? k->missing : sw_key_want(k, want, sizeof want));
}

static void check_object(const struct object *o)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, o->v)
		check_member(o, v);
	/* Names first, then what is missing: a misspelt one is told of by its own name. */
	for (size_t i = 0; i < o->form->n; i++) {
		const struct sw_form_key *k = &o->form->keys[i];

		if (k->required && sw_form_get(o->form, o->v, k->name, NULL) == NULL &&
		    (o->f->n >= o->f->cap || !is_misspelt(o->form, o->v, k->name)))
			note_missing(o->ptr, k, o->f);
	}
}

void sw_form_check(const struct sw_form *form, const cJSON *object, const char *ptr,
		   struct sw_faults *f)
{
	const struct object o = {form, NULL, object, ptr, f};

	check_object(&o);
}

const struct sw_form *sw_forms_check(const struct sw_forms *forms, const cJSON *object,
				     const char *ptr, struct sw_faults *f)
{
	const bool other = forms->or_by != NULL && sw_json_get(object, forms->or_by) != NULL;
	const cJSON *by = sw_json_get(object, forms->by);
	struct object o = {NULL, forms, object, ptr, f};
	const struct sw_form *form;

	if (by == NULL && !other) {
		note_missing(ptr, forms->pick, f);
		return NULL;
	}
	/* With the wrong form each key would look like a mistake. */
	form = form_of(forms, other ? forms->or_by : sw_json_text(object, forms->by, ""));
	/* A form that a misspelt word means is good enough for finding the other mistakes; it is
	 * not returned, for nothing may be built on a guess. */
	o.form = form != NULL ? form : meant_form(forms, by);
	if (o.form != NULL) {
		check_object(&o);
		return form;
	}
	char place[sizeof f->list->ptr];

	(void)snprintf(place, sizeof place, "%s", ptr);
	sw_json_pointer_add(place, sizeof place, forms->by);
	sw_key_check(forms->pick, by, place, f);
	return NULL;
}
