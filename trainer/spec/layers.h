/*
 * trainer/spec/layers.h — the layers that a model's list may have. The build makes the table from
 * trainer/schema.json.
 *
 * A layer is a word ("relu"), an object with one key and one value ({"linear": 64}), or one with
 * options ({"conv2d": {"out": 6, "kernel": 5}}). Where a value stands, a parameter's name may
 * stand too. {"residual": [...]} holds a list.
 * Pure     No state. Errors point below the list ("/2/conv2d/out").
 */
#ifndef SW_TRAINER_SPEC_LAYERS_H
#define SW_TRAINER_SPEC_LAYERS_H

#include "base/status.h"
#include "trainer/spec/options.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define SW_LAYER_KEYS      6 /* options of one layer at most */
#define SW_LAYER_DEPTH     8 /* lists inside lists at most */
#define SW_LAYER_FORMS_MAX 40

enum sw_layer_form_id {
	SW_FORM_LINEAR,
	SW_FORM_CONV2D,
	SW_FORM_MAXPOOL2D,
	SW_FORM_AVGPOOL2D,
	SW_FORM_DROPOUT,
	SW_FORM_ATTENTION,
	SW_FORM_EMBEDDING,
	SW_FORM_POSITIONAL,
	SW_FORM_RESIDUAL,
	SW_FORM_RELU,
	SW_FORM_PLAIN, /* the operation of that name, which takes no options */
	SW_FORM_BATCHNORM,
	SW_FORM_LAYERNORM,
	SW_FORM_GLOBAL_AVGPOOL,
	SW_FORM_ACTIVATION, /* one of those without options that a value names */
	SW_FORM_PRESET
};

/* A layer, or a preset: {"preset": NAME, ...} in the place of the list (trainer/spec/presets.h). */
struct sw_layer_form {
	enum sw_layer_form_id id;
	const char *name;
	/* The first is what {"name": V} gives. fallback NaN: it must be given, but where 0 stands
	 * for what the data or another option says. */
	const struct sw_form_key *key;
	size_t keys_n;       /* SW_LAYER_KEYS at most */
	bool word;           /* may stand without any option */
	bool bare;           /* may stand with the first option's value alone */
	const char *example; /* as its document writes it */
};

extern const struct sw_layer_form sw_layer_forms[];
extern const size_t sw_layer_forms_n;

/* One layer of a list. */
struct sw_layer_item {
	const struct sw_layer_form *form;
	const cJSON *value[SW_LAYER_KEYS]; /* NULL: not given */
	const cJSON *list;                 /* residual */
};

/* v: an element of the list, at ptr[cap] (which becomes the place of what is wrong). Names and
 * forms are checked, values are not. */
SW_NODISCARD sw_status sw_layer_read(struct sw_layer_item *out, const cJSON *v, char *ptr,
				     size_t cap, struct sw_err *err);
/* The layer that an activation's word stands for, or NULL. */
const struct sw_layer_form *sw_layer_activation(const char *word);
/* The place of a layer's option k, below ptr, the layer's: "/2" -> "/2/conv2d/out". */
void sw_layer_pointer(const struct sw_layer_item *item, size_t k, const char *ptr, char *out,
		      size_t cap);
/* The option as messages call it: by the layer's name where it is {"linear": V}. */
struct sw_form_key sw_layer_option(const struct sw_layer_item *item, size_t k);

struct sw_layer_visit {
	void *ctx;
	/* Every value that is given, a literal or a string; at ptr. */
	sw_status (*value)(void *ctx, const struct sw_form_key *o, enum sw_layer_form_id layer,
			   const cJSON *v, const char *ptr, struct sw_err *err);
};

/* Walks the list, and those inside it, or a preset, and notes all faults; model: not NULL, at ptr.
 * *trains (may be NULL): has it a layer with parameters? */
void sw_layers_walk(const cJSON *model, const char *ptr, const struct sw_layer_visit *visit,
		    bool *trains, struct sw_faults *f);

/* Does another value make other tensors? (Of all options but dropout's.) */
bool sw_layer_sizes(enum sw_layer_form_id layer, const struct sw_form_key *o);

#endif
