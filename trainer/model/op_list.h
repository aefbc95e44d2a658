/*
 * trainer/model/op_list.h — the operations that a model is made of: one row each.
 *
 * SW_OP_ROW(kind, word, id, flags, functions): the word is the one of model lists and of messages;
 * the id stands in checkpoints and is never given to another. `functions` is what the operation's
 * functions in forward.c and backward.c are called.
 * SW_OP_EACH(kind, word, id, flags): y = kernel(x), element by element, by the kernels word_forward
 * and word_backward: such an operation needs its row and nothing more. What the backward kernel
 * reads is x with SW_OP_KEEPS_X, else y.
 *
 * Whoever includes this defines SW_OP_ROW, and SW_OP_EACH too where rows of that kind differ from
 * SW_OP_ROW(kind, word, id, flags, each). Both are undefined at the end.
 */
#ifndef SW_OP_EACH
#define SW_OP_EACH(kind, word, id, flags) SW_OP_ROW(kind, #word, id, flags, each)
#endif
/* clang-format off */

SW_OP_ROW(LINEAR, "linear", 1, SW_OP_KEEPS_X, linear)
SW_OP_EACH(RELU, relu, 2, SW_OP_KEEPS_Y)
SW_OP_EACH(TANH, tanh, 3, SW_OP_KEEPS_Y)
SW_OP_ROW(DROPOUT, "dropout", 4, SW_OP_IN_PLACE, dropout)
SW_OP_EACH(GELU, gelu, 5, SW_OP_KEEPS_X)
SW_OP_EACH(SIGMOID, sigmoid, 6, SW_OP_KEEPS_Y)
SW_OP_ROW(FLATTEN, "flatten", 7, 0, none)
SW_OP_ROW(CONV2D, "conv2d", 8, SW_OP_KEEPS_X, conv2d)
SW_OP_ROW(MAXPOOL2D, "maxpool2d", 9, 0, maxpool2d)
SW_OP_ROW(AVGPOOL2D, "avgpool2d", 10, 0, avgpool2d)
SW_OP_ROW(BATCHNORM, "batchnorm", 11, SW_OP_KEEPS_X | SW_OP_IN_PLACE, batchnorm)
SW_OP_ROW(LAYERNORM, "layernorm", 12, SW_OP_KEEPS_X | SW_OP_IN_PLACE, layernorm)
SW_OP_ROW(ADD, "add", 13, SW_OP_IN_PLACE, add)
SW_OP_ROW(EMBEDDING, "embedding", 14, SW_OP_KEEPS_X, embedding)
SW_OP_ROW(POSITION, "positional", 15, SW_OP_IN_PLACE, position)
SW_OP_ROW(ATTENTION, "attention", 16, SW_OP_KEEPS_X, attention)
SW_OP_ROW(TOKEN_MEAN, "mean_tokens", 17, 0, token_mean)
SW_OP_EACH(SILU, silu, 18, SW_OP_KEEPS_X)

/* clang-format on */
#undef SW_OP_ROW
#undef SW_OP_EACH
