/*
 * trainer/spec/presets.h — networks by name: {"preset": "resnet18-cifar", "outputs": 100} in the
 * place of a list of layers.
 *
 * mlp                  flatten where rows are images, depth times [linear width, relu, dropout],
 *                      then linear outputs
 * lenet-cifar          two 5x5 convolutions (6, 16) with pooling, linear l1, l2, outputs
 * resnet18-cifar       He et al. 2016 with the 3x3 stem for small images: width, 2, 4, 8 width
 * resnet50             the bottleneck form, 7x7 stem
 * transformer-encoder  the form of BERT: learned positions, norms behind the sums, gelu, the mean
 *                      of the tokens, linear outputs
 *
 * Pure     The list depends on nothing but the object, the parameters' values, and whether rows
 *          are images.
 * Source   LeCun et al. 1998; He et al. 2016, arXiv:1512.03385; Vaswani et al. 2017,
 *          arXiv:1706.03762; Devlin et al. 2019, arXiv:1810.04805.
 */
#ifndef SW_TRAINER_SPEC_PRESETS_H
#define SW_TRAINER_SPEC_PRESETS_H

#include "base/buf.h"
#include "trainer/spec/dataset.h"
#include "trainer/spec/layers.h"

#define SW_PRESETS_MAX 16
extern const struct sw_layer_form sw_presets[]; /* made of trainer/schema.json */
extern const size_t sw_presets_n;

/* The form of {"preset": NAME}: its options, as those of a layer. Says what is wrong with anything
 * that is neither a list nor a preset. */
SW_NODISCARD sw_status sw_preset_find(const cJSON *model, const struct sw_layer_form **out,
				      struct sw_err *err);

/* The list of a model: *list is model itself, and *owned NULL; or a preset's, which *owned holds
 * (cJSON_Delete by the caller). params: the values of parameters, for depth and the like; NULL, or
 * no such value: the default stands in. images: the data's rows are. */
SW_NODISCARD sw_status sw_model_list(const cJSON *model, const cJSON *params, bool images,
				     cJSON **owned, const cJSON **list, struct sw_err *err);

/* The same for people, before there are values: where a parameter sets a number its name stands, in
 * a product as "4 * width"; where it sets how often layers follow each other they are written once,
 * as {"depth times": [...]}; what only images have, where it is not known whether rows are some, as
 * {"for images": "flatten"}. No model is made of such a list. */
SW_NODISCARD sw_status sw_model_outline(const cJSON *model, enum sw_dataset_image images,
					cJSON **owned, const cJSON **list, struct sw_err *err);

/* Appends that list of a spec's model, as JSON; nothing if there is none to be made. spec: JSON. */
void sw_model_show(const char *spec, size_t len, struct sw_buf *out);

#endif
