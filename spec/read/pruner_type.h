/* spec/read/pruner_type.h — what the types of "early_terminate" are made of: a table of keys each,
 * and a function for what a table cannot say. Internal to spec/. */
#ifndef SW_SPEC_READ_PRUNER_TYPE_H
#define SW_SPEC_READ_PRUNER_TYPE_H

#include "spec/read/read.h"

#define PRUNER_MAX_FIELDS 8
#define PRUNER_MAX_NAMES  3
#define PRUNER_MOST       1000000000

enum sw_spec_field_kind { FIELD_U64, FIELD_REAL, FIELD_BOOL };

/* A field under its own name or another tool's. */
struct sw_spec_pruner_field {
	const char *names[PRUNER_MAX_NAMES];
	enum sw_spec_field_kind kind;
	size_t at;         /* in struct sw_pruner_config */
	double least;      /* FIELD_U64: most is PRUNER_MOST */
	bool open;         /* FIELD_REAL: above least */
	double most;       /* FIELD_REAL */
	const char *needs; /* not NULL: it must be given; the line's end */
};

#define PRUNER_AT(part) offsetof(struct sw_pruner_config, part)
#define PRUNER_COUNT(name, part, least_)                                                           \
	{                                                                                          \
		.names = {name}, .kind = FIELD_U64, .at = PRUNER_AT(part), .least = (least_)       \
	}
#define PRUNER_REAL(name, part, least_, most_)                                                     \
	{                                                                                          \
		.names = {name}, .kind = FIELD_REAL, .at = PRUNER_AT(part), .least = (least_),     \
		.most = (most_)                                                                    \
	}

/* One spec's early_terminate, as far as it has been read. */
struct sw_spec_pruner_reading {
	struct sw_pruner_config *out;
	const struct sw_spec *spec;
	const cJSON *v;
	const char *given[PRUNER_MAX_FIELDS]; /* the name a field goes by in v; NULL: not given */
};

struct sw_spec_pruner_type {
	const char *name;
	enum sw_pruner_kind kind;
	const struct sw_spec_pruner_field *fields;
	size_t n_fields;
	const char *more[2]; /* keys that finish() reads by itself */
	const struct sw_spec_hint *hints;
	size_t n_hints;
	void (*defaults)(
		struct sw_spec_pruner_reading *r); /* where they are not zeros; NULL: they are */
	sw_status (*finish)(struct sw_spec_pruner_reading *r, struct sw_err *err);
};

#define PRUNER_KEYS(fields_, hints_)                                                               \
	.fields = (fields_), .n_fields = SW_SPEC_N(fields_), .hints = (hints_),                    \
	.n_hints = SW_SPEC_N(hints_)

#define SW_ROW(name, KIND) extern const struct sw_spec_pruner_type sw_spec_pruner_##name;
SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
#define SW_SPEC_PRUNER_TYPE_N ((size_t)(0 SW_PRUNERS(SW_ONE_ROW, SW_NO_ROW)))
extern const struct sw_spec_pruner_type *const sw_spec_pruner_types[SW_SPEC_PRUNER_TYPE_N];

#endif
