/*
 * trainer/data/cell.h — what the text of one cell says: a number, a date, that nothing is known.
 *
 * Pure. Cells end with a NUL, which is not part of len.
 */
#ifndef SW_TRAINER_DATA_CELL_H
#define SW_TRAINER_DATA_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_csv_cell {
	char *text;
	size_t len;
	bool plain; /* of a reader: seen to be up to 32 digits, with a point or a minus, or none */
};

/* How a column writes its numbers. */
enum sw_decimal {
	SW_DECIMAL_POINT, /* 1,200.5 */
	SW_DECIMAL_COMMA  /* 1.200,5 */
};

/* Most texts are told by their first byte. */
static inline bool sw_cell_may_be_number(const struct sw_csv_cell *c)
{
	return (*c->text >= '+' && *c->text <= '.') || (*c->text >= '0' && *c->text <= '9');
}
/* A whole cell as a finite decimal number, correctly rounded; no hexadecimal, no inf. Marks between
 * thousands must stand before three digits each. */
bool sw_cell_number(const struct sw_csv_cell *c, enum sw_decimal how, double *out);
/* The same without marks between thousands, with a point: fast. */
bool sw_cell_plain(const struct sw_csv_cell *c, double *out);
/* "$1,200.00", "7 %": it would be one without the signs of money or percent around it. */
bool sw_cell_has_sign(const struct sw_csv_cell *c);
/* Empty, NA, N/A, #N/A, <NA>, NaN, null, None, ?, -: in any case. */
bool sw_cell_is_hole(const struct sw_csv_cell *c);

/* Forms of dates, each with a time behind it or none: 12:30, 12:30:59.5, Z, +02:00. */
enum sw_date_form {
	SW_DATE_YMD, /* 2024-01-31, 2024/01/31 */
	SW_DATE_DMY, /* 31.01.2024, 31/01/2024, 31-01-2024 */
	SW_DATE_MDY, /* 01/31/2024 */
	SW_DATE_FORMS
};
extern const char *const sw_date_names[SW_DATE_FORMS]; /* "2024-01-31", ... */

struct sw_date {
	double days;        /* since 1970-01-01, with the part of the day */
	int month, weekday; /* 1 to 12; 0 is Monday */
};
bool sw_cell_date(const struct sw_csv_cell *c, enum sw_date_form form, struct sw_date *out);

#endif
