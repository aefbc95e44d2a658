/*
 * proto/form.h — the keys of a JSON object as a table, and the one check of an object against it.
 *
 * The build makes the tables of a sweep spec from its schema.json (scripts/gen-spec), which is the
 * one statement of a key: its kind, range, words and default.
 * Pure     Tables are constant. Nothing is allocated.
 * Errors   All faults of an object are noted, with JSON pointers that begin with the object's own.
 */
#ifndef SW_PROTO_FORM_H
#define SW_PROTO_FORM_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum sw_key_kind {
	SW_KEY_ANY,
	SW_KEY_OBJECT,
	SW_KEY_ARRAY,
	SW_KEY_STRING,
	SW_KEY_INTEGER,
	SW_KEY_REAL,
	SW_KEY_BOOLEAN,
	SW_KEY_CHOICE
};

/* A key, or a word of a choice, that people know from elsewhere. */
struct sw_hint {
	const char *key;
	const char *use;  /* not NULL: "did you mean" this one of ours */
	const char *line; /* not NULL: that it is not supported, and what to do */
};

struct sw_form_key {
	const char *name;
	enum sw_key_kind kind;
	bool required;
	bool inert;    /* another tool's: accepted without effect */
	bool searched; /* of the trainer and of layers: a string may name a parameter */
	bool shared;   /* of the trainer: the same for every trial, so none may */
	bool plain;    /* of a string: without control and text-direction characters */
	bool min_open, max_open;
	double min, max;             /* of a number the range; of a string, an array its length */
	const char *const *choices;  /* of a choice: NULL-terminated */
	const struct sw_hint *hints; /* of a choice: words from elsewhere */
	size_t hints_n;
	/* The default. Of a choice it is the first. NaN: no default holds for all (split_seed's is
	 * the sweep's seed), or the value must be given (of a layer). Before that of epochs comes
	 * the pruner's max_t. */
	double fallback;
	struct {
		const char *optimizer; /* NULL: the default is the same with each */
		double fallback;       /* with this one */
	} other;
	size_t at, size;                /* the member of a struct that it fills; size 0: none */
	const char *means;              /* another name of that key; NULL: a key of its own */
	const char *must;               /* what it must be, where its kind says too little */
	const char *missing;            /* of one that is required: what it is */
	const struct sw_form *form;     /* of an object: its keys, or NULL */
	const struct sw_forms *forms;   /* of an object: one of several forms, or NULL */
	const struct sw_form_key *item; /* of an array: what each of its items is, or NULL */
};

#define SW_KEY_FILLS(type, member)                                                                 \
	.at = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

struct sw_form {
	const char *name; /* among several: the word that picks it */
	const char *noun; /* what messages call a key; NULL: "key" */
	const struct sw_form_key *keys;
	size_t n;
	const struct sw_hint *hints; /* keys from elsewhere */
	size_t hints_n;
};

/* An object whose key `by`, a choice, says which keys it has. */
struct sw_forms {
	const char *by;
	const char *or_by; /* not NULL: where this key is, the form of its name is meant */
	const struct sw_form_key *pick; /* the key `by` */
	const struct sw_form *list;
	size_t n;
};

struct sw_faults {
	struct sw_err *list;
	size_t cap, n; /* more than cap are counted alone */
};

/* Notes a fault. */
void sw_fault_note(struct sw_faults *f, const char *ptr, const char *fmt, ...) SW_PRINTF(3, 4);
/* Is one noted at ptr, around it or inside? */
bool sw_fault_near(const struct sw_faults *f, const char *ptr);

/* Each fault of the object's keys; ptr: the object's. */
void sw_form_check(const struct sw_form *form, const cJSON *object, const char *ptr,
		   struct sw_faults *f);
/* The same of an object of one of the forms, which is the result; NULL: it is not known which. */
const struct sw_form *sw_forms_check(const struct sw_forms *forms, const cJSON *object,
				     const char *ptr, struct sw_faults *f);
/* The same of one value. */
void sw_key_check(const struct sw_form_key *k, const cJSON *v, const char *ptr,
		  struct sw_faults *f);
/* The same of a value that names no parameter. */
void sw_key_check_literal(const struct sw_form_key *k, const cJSON *v, const char *ptr,
			  struct sw_faults *f);
/* The word's place among a choice's, or how many these are. */
size_t sw_key_word(const struct sw_form_key *k, const char *word);

/* The known key nearest to a wrong one, or NULL. */
const char *sw_form_nearest(const struct sw_form *form, const char *name);
/* By name, or NULL. */
const struct sw_form_key *sw_form_find(const struct sw_form *form, const char *name);
/* The value that an object has under the key's name or another name of it, or NULL. *given (may be
 * NULL): that name. */
const cJSON *sw_form_get(const struct sw_form *form, const cJSON *object, const char *name,
			 const char **given);
/* "; known here: a, b, ...": an error's line is short, so it shows the first ones. */
#define SW_KNOWN_HERE 246
void sw_known_here(const char *const *names, size_t n, char list[SW_KNOWN_HERE]);
/* "an integer, at least 1 and at most 9": what the value must be. Returns out. */
const char *sw_key_want(const struct sw_form_key *k, char *out, size_t cap);
/* "a string", "an object", ...: what v is. */
const char *sw_json_kind(const cJSON *v);

/* Fills the keys' members of *out from an object, or with their defaults, which stand for what is
 * wrong, too. An integer makes any unsigned member; a choice an enum, of two words a bool, or the
 * word itself. What has no default stays. */
void sw_form_fill(const struct sw_form *form, const cJSON *object, void *out);

#endif
