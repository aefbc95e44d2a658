/* trainer/predictor.h — a model out of a safetensors file, ready to evaluate rows: what
 * trainer/predict.c is made of. Nothing in the file is believed: sizes are checked against limits,
 * lists against sizes, tensors against the layers. */
#ifndef SW_TRAINER_PREDICTOR_H
#define SW_TRAINER_PREDICTOR_H

#include "trainer/data/rows.h"
#include "trainer/file/safetensors.h"
#include "trainer/net/net.h"

struct sw_predictor {
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_safetensors file;
	struct sw_rows_want want;
	bool classes;
	size_t outputs, labels;
	double shift, unit;      /* a value that is predicted is the net's by unit, and shift */
	struct sw_encoder table; /* n 0: the model was trained on no CSV file */
	cJSON *list, *names;     /* layers, classes' names or NULL */
	double *mean, *std;      /* [count], of an IMAGE [c]; NULL: rows stay as they are */
	struct sw_trainer trainer;
	struct sw_model model;
	struct sw_net net;
	struct sw_data data; /* data.val: room for a batch of net.at.eval_batch rows */
	void *memory;        /* backend: of data */
	char *x;             /* host: the batch as it is read */
	int32_t *length;     /* host */
	float *z;            /* host: float[batch][labels][outputs] */
};

/* Of a zeroed one; close also after a failure. */
SW_NODISCARD sw_status sw_predictor_open(struct sw_predictor *p, const char *path, unsigned cores,
					 struct sw_err *err);
void sw_predictor_close(struct sw_predictor *p);

/* The metadata alone (predictor_label.c). */
SW_NODISCARD sw_status sw_predictor_label(struct sw_predictor *p, struct sw_err *err);

/* The n rows in p->x and p->length, to p->z. */
SW_NODISCARD sw_status sw_predictor_run(struct sw_predictor *p, size_t n, struct sw_err *err);

#endif
