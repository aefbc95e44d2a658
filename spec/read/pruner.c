/* "early_terminate": finds the type, and reads what all types have in common. */
#include "proto/json.h"
#include "spec/read/pruner_type.h"
#include <string.h>

/* clang-format off */
static const struct sw_spec_pruner_type *const types[SW_SPEC_PRUNER_TYPE_N] = {
#define SW_ROW(name, KIND) &sw_spec_pruner_##name,
	SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
};
/* clang-format on */

const char *sw_spec_pruner_given(const struct sw_spec_pruner_reading *r, const char *key)
{
	const char *given = NULL;

	(void)sw_form_get(r->form, r->v, key, &given);
	return given;
}

static sw_status read_type(struct sw_spec_pruner_reading *r, const struct sw_spec_pruner_type *t,
			   struct sw_err *err)
{
	r->out->kind = t->kind;
	sw_form_fill(r->form, r->v, t->rows, t->rows_n, r->out);
	return t->finish(r, err);
}

sw_status sw_spec_pruner_read(struct sw_pruner_config *out, const struct sw_spec *s,
			      const cJSON *early_terminate, struct sw_err *err)
{
	struct sw_spec_pruner_reading r = {.out = out, .spec = s, .v = early_terminate};
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};

	*out = (struct sw_pruner_config){.kind = SW_PRUNER_NONE};
	if (s->n_metrics > 1)
		return sw_err_at(err, SW_INVALID, "",
				 "\"early_terminate\" compares trials by one metric, and the sweep "
				 "has %zu: leave it out, or give one \"metric\"",
				 s->n_metrics);
	sw_key_check(sw_form_find(&sw_form_top, "early_terminate"), early_terminate, "", &f);
	if (f.n > 0)
		return sw_spec_first(&f, err);
	r.form = sw_forms_check(&sw_forms_pruner, early_terminate, "", &f);
	for (size_t i = 0; i < SW_SPEC_PRUNER_TYPE_N; i++)
		if (strcmp(types[i]->name, r.form->name) == 0)
			return read_type(&r, types[i], err);
	return sw_err_set(err, SW_INTERNAL, "no reader of type \"%s\"", r.form->name);
}

sw_status sw_spec_early_terminate_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const sw_status rc = sw_spec_pruner_read(&s->pruner, s, v, err);

	sw_err_prefix(err, "/early_terminate");
	return rc;
}
