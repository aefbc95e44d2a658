/* trainer/data/look.h — what is seen of the columns of a table, a cell at a time, and what it comes
 * to. For trainer/data/table.c. */
#ifndef SW_TRAINER_DATA_LOOK_H
#define SW_TRAINER_DATA_LOOK_H

#include "trainer/data/table.h"

/* Numbers of a column that differ and are counted: what it is does not hang on more. */
#define SW_LOOK_NUMBERS ((size_t)1024)
/* Cells that are no number, or no date, as nine of ten are: so many are likely slips. */
#define SW_LOOK_SLIPS ((size_t)3)

/* Different values, by their hashes, each with that of the target that it was met with, in whose
 * last bit stands whether it came again. */
struct sw_look_set {
	uint64_t *key, *with; /* [cap], a power of two; key 0: free */
	size_t n, cap, once;
	bool full; /* there are more */
};

/* What was seen of a column. */
struct sw_look_column {
	bool settled; /* more numbers change nothing of what it is; the first, as these are hot */
	enum sw_kind asked; /* SW_KIND_N: nothing was */
	size_t holes, numbers, texts, dates;
	size_t only_point, only_comma, marked; /* numbers: one reading alone, or with marks both */
	unsigned forms;                        /* of dates: bits that all texts so far have */
	double min, max;
	bool whole;           /* numbers: all are */
	uint64_t sum, square; /* of whole ones, modulo 2^64 */
	/* Of the values that `seen` was asked for: the one that most are, if one is, and its lead
	 * over the others, which is less than the true one where it comes late. */
	uint64_t usual;
	size_t votes, lead;
	struct sw_look_set seen;
	bool pure;                         /* each value was met with one target alone */
	bool fresh;                        /* each cell so far had a value of its own */
	size_t bytes, text_line, odd_line; /* odd: the first that is no date */
	char text[44];                     /* the first that is no number */
	bool sign;                         /* but for its sign that would be one */
	/* Of numbers that come with a target that is one, each less the first: sums. */
	double n, v0, t0, v, t, vv, tt, vt;
};

/* A table that is looked at. */
struct sw_looking {
	struct sw_table *t;
	struct sw_csv_reader r;
	struct sw_look_column *look; /* [columns] */
	size_t most;                 /* different values of a column that are counted */
	bool pure;                   /* a column may tell the target alone */
	const bool *wanted;          /* the target is one of classes; NULL: nobody says it */
	size_t hole_line; /* the first row whose target is a hole, and what stands there */
	char hole[8];
};

/* A row, beside its cells. */
struct sw_look_row {
	size_t line, most;                        /* most: different values that are counted */
	const struct sw_look_column *target_look; /* the target's column, which has no holes */
	bool classes;                             /* its numbers are all counted */
	uint64_t with;                            /* the target's hash */
	const double *number;                     /* its number, to correlate with; or NULL */
};

/* look: of n columns. false: no memory. */
bool sw_look_row(struct sw_look_column *look, const struct sw_csv_cell *cell, size_t n,
		 const struct sw_look_row *row);
/* After the last row: the kinds of all columns, and whether the target is one of classes. */
sw_status sw_looking_kinds(struct sw_looking *l, struct sw_err *err);
/* A target as a number, which it may be, and as a hash. */
bool sw_look_number(const struct sw_csv_cell *cell, double *v, uint64_t *hash);

#endif
