/* trainer/model/internal.h — shared by the files of trainer/model/model.h. */
#ifndef SW_TRAINER_MODEL_INTERNAL_H
#define SW_TRAINER_MODEL_INTERNAL_H

#include "trainer/model/model.h"

/* The list becomes m->op[], its places in weights and running statistics (parse.c). */
SW_NODISCARD sw_status sw_model_parse(struct sw_model *m, const cJSON *list, const cJSON *params,
				      struct sw_err *err);

/* The operations of a layer, or of what a residual needs, which read the value `in`: appended,
 * m->ops_n grows (shapes.c). ptr: for errors. */
struct sw_model_at {
	const char *ptr;
	const char *part; /* of a residual: "projection.0"; NULL: none */
	uint32_t layer;
	struct sw_err *err;
};
SW_NODISCARD sw_status sw_model_op(struct sw_model *m, enum sw_op_kind kind, size_t in,
				   const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_linear(struct sw_model *m, size_t in, size_t width, bool bias,
				       const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_conv(struct sw_model *m, size_t in, const struct sw_op *shape,
				     size_t width, bool bias, const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_pool(struct sw_model *m, enum sw_op_kind kind,
				     const struct sw_op *shape, const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_batchnorm(struct sw_model *m, const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_layernorm(struct sw_model *m, const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_attention(struct sw_model *m, size_t heads, bool causal,
					  const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_embedding(struct sw_model *m, size_t dim, size_t vocab,
					  const struct sw_model_at *at);
SW_NODISCARD sw_status sw_model_position(struct sw_model *m, size_t most,
					 const struct sw_model_at *at);
/* Ends {"residual": ...}: the last value and x, which is projected where shapes differ. */
SW_NODISCARD sw_status sw_model_residual_end(struct sw_model *m, size_t x,
					     const struct sw_model_at *at);

/* "64", "3 x 32 x 32", "16 tokens of 64". Returns out. */
const char *sw_model_shape_text(const struct sw_shape *s, char out[80]);

/* Both plans and the backward pass (plan.c, back.c). */
void sw_model_plan(struct sw_model *m);
void sw_model_back(struct sw_model *m);
/* Of buffers.c. */
uint16_t sw_plan_buffer(struct sw_plan *p, size_t row, size_t fixed, uint16_t from);
void sw_plan_touch(struct sw_plan *p, uint16_t buffer, uint16_t when);

#endif
