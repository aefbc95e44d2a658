/* spec/read/pruner_type.h — a type of "early_terminate": the members that its keys fill, and a
 * function for what depends on several of them. Internal to spec/. */
#ifndef SW_SPEC_READ_PRUNER_TYPE_H
#define SW_SPEC_READ_PRUNER_TYPE_H

#include "spec/forms.h"
#include "spec/read/read.h"

/* One spec's early_terminate, as far as it has been read. */
struct sw_spec_pruner_reading {
	struct sw_pruner_config *out;
	const struct sw_spec *spec;
	const struct sw_form *form;
	const cJSON *v;
};

struct sw_spec_pruner_type {
	const char *name;
	enum sw_pruner_kind kind;
	const struct sw_row *rows;
	size_t rows_n;
	sw_status (*finish)(struct sw_spec_pruner_reading *r, struct sw_err *err);
};

#define PRUNER_AT(key, part) SW_ROW_AT(struct sw_pruner_config, key, part)
#define PRUNER_ROWS(rows_)   .rows = (rows_), .rows_n = SW_SPEC_N(rows_)

/* The name that a key goes by in the spec; NULL: it is not given. */
const char *sw_spec_pruner_given(const struct sw_spec_pruner_reading *r, const char *key);

#define SW_ROW(name, KIND) extern const struct sw_spec_pruner_type sw_spec_pruner_##name;
SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
#define SW_SPEC_PRUNER_TYPE_N ((size_t)(0 SW_PRUNERS(SW_ONE_ROW, SW_NO_ROW)))

#endif
