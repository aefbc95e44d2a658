#include "trainer/predict.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/text.h"
#include "trainer/predictor.h"
#include "trainer/shown.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_AT ((size_t)64 * 1024)

struct predict {
	struct sw_predictor p;
	struct sw_rows *rows;
	struct sw_buf out;
	int to;
	bool left; /* the reader has gone */
	bool proba;
	uint64_t row;
	double *share; /* [outputs] */
};

/* Writes the lines that are gathered. A reader that has gone (head(1)) is no error. */
static sw_status flush(struct predict *d, struct sw_err *err)
{
	const char *at = d->out.data;
	size_t n = d->out.len;

	/* The buffer latches its first failure: asked here once, not after each piece of a line. */
	if (d->out.failed != SW_OK)
		return sw_err_set(err, d->out.failed, "a row is too long to be written");
	while (n > 0 && !d->left) {
		const ssize_t done = sw_fault_hit(SW_FAULT_IO) ? (errno = ENOSPC, -1)
							       : write(d->to, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EPIPE) {
			d->left = true;
			break;
		}
		if (done <= 0)
			return sw_err_set(err, errno == ENOSPC ? SW_FULL : SW_IO,
					  "the predictions cannot be written: %s", strerror(errno));
		at += done;
		n -= (size_t)done;
	}
	sw_buf_clear(&d->out);
	return SW_OK;
}

/* --- CSV --- */

/* prefix and text as one cell, quoted where it must be (RFC 4180). */
static void cell(struct sw_buf *b, const char *prefix, const char *text)
{
	const bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	(void)sw_buf_addf(b, "%s%s", quoted ? "\"" : "", prefix);
	for (const char *at = text; *at; at++)
		(void)sw_buf_add(b, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
	(void)sw_buf_adds(b, quoted ? "\"" : "");
}

/* The class's name, or its number. name: the list's element, or NULL. */
static void class_cell(struct sw_buf *b, const char *prefix, const cJSON *name, size_t number)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%zu", number);
	cell(b, prefix, name ? name->valuestring : digits);
}

static void header(struct predict *d)
{
	const struct sw_predictor *p = &d->p;
	const cJSON *name = p->names ? p->names->child : NULL;

	(void)sw_buf_adds(&d->out, p->labels > 1 ? "row,place,prediction" : "prediction");
	if (d->proba)
		(void)sw_buf_adds(&d->out, ",probability");
	for (size_t c = 0; d->proba && p->labels == 1 && c < p->outputs; c++) {
		(void)sw_buf_adds(&d->out, ",");
		class_cell(&d->out, "p_", name, c);
		name = name ? name->next : NULL;
	}
	(void)sw_buf_adds(&d->out, "\n");
}

/* Softmax of z: float[outputs], in double. Returns the largest's place. */
static size_t shares(const struct sw_predictor *p, const float *z, double *share)
{
	double sum = 0;
	size_t best = 0;

	/* The largest first: less it no exponent is above 0, so none overflows. */
	for (size_t c = 1; c < p->outputs; c++)
		if (z[c] > z[best])
			best = c;
	for (size_t c = 0; c < p->outputs; c++) {
		share[c] = exp((double)z[c] - (double)z[best]);
		sum += share[c];
	}
	for (size_t c = 0; c < p->outputs; c++)
		share[c] /= sum;
	return best;
}

/* Appends the line of a row; of one with several labels, the line of one of them. */
static void line(struct predict *d, const float *z, size_t place)
{
	const struct sw_predictor *p = &d->p;
	struct sw_buf *b = &d->out;

	if (p->labels > 1)
		(void)sw_buf_addf(b, "%" PRIu64 ",%zu,", d->row, place + 1);
	if (!p->classes) {
		/* 9 digits bring a float back, 17 a double, which the sum with a shift is. */
		(void)sw_buf_addf(b, "%.*g\n", p->shift != 0 || p->unit != 1 ? 17 : 9,
				  (double)z[0] * p->unit + p->shift);
		return;
	}
	const size_t best = shares(p, z, d->share);

	class_cell(b, "", p->names ? cJSON_GetArrayItem(p->names, (int)best) : NULL, best);
	if (d->proba)
		(void)sw_buf_addf(b, ",%.9g", d->share[best]);
	for (size_t c = 0; d->proba && p->labels == 1 && c < p->outputs; c++)
		(void)sw_buf_addf(b, ",%.9g", d->share[c]);
	(void)sw_buf_adds(b, "\n");
}

/* Predicts n rows and appends their lines. */
static sw_status batch(struct predict *d, size_t n, struct sw_err *err)
{
	const struct sw_predictor *p = &d->p;
	sw_status rc = sw_predictor_run(&d->p, n, err);

	for (size_t i = 0; rc == SW_OK && i < n; i++) {
		d->row++;
		for (size_t k = 0; k < p->labels; k++)
			line(d, p->z + (i * p->labels + k) * p->outputs, k);
		/* Many lines a write(2), in bounded memory for a file of any length. */
		if (d->out.len >= FLUSH_AT || d->out.failed != SW_OK)
			rc = flush(d, err);
	}
	return rc;
}

/* The rows in front of a bad one are written all the same. */
static sw_status all(struct predict *d, struct sw_err *err)
{
	sw_status rc = SW_OK, written;
	size_t n = 1;

	header(d);
	while (rc == SW_OK && n > 0 && !d->left) {
		rc = sw_rows_next(d->rows, d->p.x, d->p.length, d->p.data.val.rows, &n, err);
		/* those in front of a bad one */
		const sw_status made = n > 0 ? batch(d, n, rc == SW_OK ? err : NULL) : SW_OK;

		rc = rc == SW_OK ? made : rc;
		if (!isatty(d->to)) /* else the lines themselves show it */
			sw_shown("%" PRIu64 " rows", d->row);
	}
	sw_shown_end();
	written = rc == SW_OK ? flush(d, err) : flush(d, NULL);
	return rc == SW_OK ? written : rc;
}

/* Says which columns had values that the model has no input for. */
static void say_unseen(const struct sw_encoder *e, struct sw_buf *said)
{
	char name[44], number[24];

	for (size_t i = 0; i < e->n; i++) {
		const struct sw_input *in = &e->input[i];

		(void)snprintf(number, sizeof number, "%zu", in->column);
		if (in->unseen)
			(void)sw_buf_addf(
				said,
				"column %s: %zu cells have a value that was not in the "
				"training rows, or was rare there (\"%s\"): they count as "
				"none\n",
				in->name ? sw_text_show(in->name, name) : number, in->unseen,
				in->unseen_text);
	}
}

sw_status sw_predict(const char *model, const char *rows, const char *format, bool proba, int to,
		     unsigned cores, struct sw_buf *said, struct sw_err *err)
{
	struct predict *d = sw_calloc(1, sizeof *d);
	sw_status rc;

	if (!d)
		return sw_err_set(err, SW_NOMEM, "no memory");
	d->to = to;
	sw_buf_init(&d->out, (size_t)64 << 20);
	rc = sw_predictor_open(&d->p, model, cores, err);
	if (rc == SW_OK)
		rc = sw_rows_open(&d->rows, rows, format, &d->p.want, err);
	d->proba = proba && d->p.classes; /* a value has no probabilities */
	if (rc == SW_OK) {
		d->share = sw_malloc(d->p.outputs * sizeof *d->share);
		if (!d->share)
			rc = sw_err_set(err, SW_NOMEM, "no memory for %zu classes", d->p.outputs);
	}
	if (rc == SW_OK)
		rc = all(d, err);
	say_unseen(&d->p.table, said);
	sw_rows_close(d->rows);
	sw_predictor_close(&d->p);
	sw_buf_fini(&d->out);
	free(d->share);
	free(d);
	return rc;
}
