/* trainer/data/table_kind.c — what the columns of a table come to, by what was seen of them. */
#include "trainer/data/look.h"
#include <stdio.h>

#define CLASSES_LIKELY ((size_t)20) /* whole numbers that differ: more of them are a quantity */
#define ID_ROWS_LEAST  ((size_t)10)
#define WORDS          30 /* bytes of a text on average, from which on it is no category */

const char *const sw_kind_names[SW_KIND_N] = {"number", "category", "date",    "constant",
					      "id",     "text",     "ignored", "target"};

/* Whole numbers that are 0, 1, 2, ... from some one on, in any order: as many as that, and their
 * sum and squares are those. */
static bool is_index(const struct sw_look_column *k)
{
	const uint64_t n = k->numbers, least = (uint64_t)(int64_t)k->min;
	uint64_t sum = 0, square = 0;

	if (!k->whole || k->max - k->min != (double)(n - 1))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		sum += least + i;
		square += (least + i) * (least + i);
	}
	return sum == k->sum && square == k->square;
}

/* Mostly dates, and not numbers? */
static bool has_dates(const struct sw_look_column *k)
{
	return k->dates > k->numbers;
}

/* "12o" is not a number. Returns its line. */
static size_t slip_text(const struct sw_look_column *k, bool dates, char out[80])
{
	const char *quote = dates ? "" : "\"";

	(void)snprintf(out, 80, "%s%s%s is not a %s", quote, dates ? "it" : k->text, quote,
		       dates ? "date" : "number");
	return dates ? k->odd_line : k->text_line;
}

/* Refuses numbers or dates with others between them, of which there are too few to be meant. */
static sw_status slip(const struct sw_looking *l, size_t column, bool dates, struct sw_err *err)
{
	const struct sw_look_column *k = &l->look[column];
	char show[48], text[80];
	const size_t line = slip_text(k, dates, text);

	return sw_err_at(err, SW_INVALID, "/path",
			 "%s: line %zu, column %s: %s, as %zu of its cells are: mend it, leave the "
			 "cell empty, or name the column in \"columns\": {\"category\": [...]} or "
			 "{\"ignore\": [...]}",
			 l->r.file.show, line, sw_csv_column_show(&l->r, column, show), text,
			 dates ? k->dates : k->numbers);
}

/* How many cells are likely slips; 0: there are none, or the column is one of texts. */
static size_t slips(const struct sw_look_column *k)
{
	const size_t most = has_dates(k) ? k->dates : k->numbers;
	const size_t others = k->numbers + k->texts - most;

	return most >= 9 * others ? others : 0;
}

/* Texts that are numbers but for a sign of money or of parts of a hundred? */
static bool has_signs(const struct sw_look_column *k)
{
	return k->texts > k->numbers && k->sign;
}

/* Refuses a target of amounts, which would be as many classes. */
static sw_status signs(const struct sw_looking *l, size_t column, struct sw_err *err)
{
	const struct sw_look_column *k = &l->look[column];
	char show[48];

	return sw_err_at(err, SW_INVALID, "/label",
			 "%s: line %zu, column %s: \"%s\" is a number but for its sign: take the "
			 "signs out, so that it is one",
			 l->r.file.show, k->text_line, sw_csv_column_show(&l->r, column, show),
			 k->text);
}

/* Refuses a column that is no date where the data set says so. */
static sw_status no_date(const struct sw_looking *l, size_t column, struct sw_err *err)
{
	const struct sw_look_column *k = &l->look[column];
	char show[48];

	if (k->odd_line)
		return sw_err_at(err, SW_INVALID, "/columns/date",
				 "%s: line %zu, column %s is no date: 2024-01-31, 31.01.2024 or "
				 "01/31/2024 is one, with a time or without",
				 l->r.file.show, k->odd_line,
				 sw_csv_column_show(&l->r, column, show));
	return sw_err_at(err, SW_INVALID, "/columns/date",
			 "%s: the dates of column %s have several forms: write all in one",
			 l->r.file.show, sw_csv_column_show(&l->r, column, show));
}

static void number_is(struct sw_table_column *c, const struct sw_look_column *k, size_t rows)
{
	c->kind = SW_KIND_NUMBER;
	if (k->numbers == 0) {
		c->kind = SW_KIND_CONSTANT;
		c->why = "all cells are empty";
	} else if (k->min == k->max && k->holes == 0) {
		c->kind = SW_KIND_CONSTANT;
		c->why = "all rows have the same value";
	} else if (k->holes == 0 && rows >= ID_ROWS_LEAST && is_index(k)) {
		c->kind = SW_KIND_ID;
		c->why = "it numbers the rows";
	}
}

static void text_is(struct sw_table_column *c, const struct sw_look_column *k, size_t rows)
{
	const size_t known = k->numbers + k->texts;

	c->kind = SW_KIND_CATEGORY;
	if (k->dates == k->texts && k->numbers == 0) {
		c->kind = k->forms ? SW_KIND_DATE : SW_KIND_TEXT;
		c->why = k->forms ? NULL : "its dates have several forms: write all in one";
	} else if (k->seen.n == 1 && k->holes == 0) {
		c->kind = SW_KIND_CONSTANT;
		c->why = "all rows have the same value";
	} else if (k->seen.n <= SW_TABLE_VALUES_MOST && (k->seen.n < known || known < 10)) {
		return;
	} else if (k->texts && k->bytes / k->texts > WORDS) {
		c->kind = SW_KIND_TEXT;
		c->why = "free text";
	} else if (k->fresh) {
		c->kind = SW_KIND_ID;
		c->why = "each row has another value";
	} else if (k->seen.n > rows / 2) {
		c->kind = SW_KIND_TEXT;
		c->why = "most values are there once";
	}
}

/* Does it tell the target alone? A value that is there once tells nothing. */
static bool gives_target(const struct sw_looking *l, const struct sw_look_column *k)
{
	const struct sw_look_column *t = &l->look[l->t->target];
	const double vv = k->vv - k->v * k->v / k->n, tt = k->tt - k->t * k->t / k->n;
	const double vt = k->vt - k->v * k->t / k->n;

	if (k->pure && k->seen.n > 1 && k->seen.n * 5 <= l->t->rows && t->seen.n > 1 &&
	    k->holes * 20 < l->t->rows)
		return true;
	return t->texts == 0 && t->seen.n > 2 && k->n > 10 && vv > 0 && tt > 0 &&
	       vt * vt > 0.99999 * vv * tt;
}

/* What is allowed, but likely a mistake: the first that there is. */
static void warning_make(const struct sw_looking *l, size_t i)
{
	struct sw_table_column *c = &l->t->column[i];
	const struct sw_look_column *k = &l->look[i];
	const struct sw_texts *classes = &l->t->classes;
	const bool target = i == l->t->target, class = target && l->t->is_classes;
	const size_t cap = sizeof c->warning;
	char text[80];

	if (!target && !c->why && gives_target(l, k))
		(void)snprintf(c->warning, cap,
			       "it gives the target away alone: is it known before the target is? "
			       "If not, ignore it");
	else if (k->asked == SW_KIND_N && slips(k))
		(void)snprintf(c->warning, cap, "line %zu: %s, as most of its cells are: %s",
			       slip_text(k, has_dates(k), text), text,
			       target ? "is it a class?" : "mend it, or leave the cell empty");
	else if (k->asked == SW_KIND_N && has_signs(k))
		(void)snprintf(c->warning, cap,
			       "line %zu: \"%s\" is a number but for its sign: take the sign out",
			       k->text_line, k->text);
	else if (class && classes->n > 9 && classes->n > l->t->rows / 2)
		(void)snprintf(c->warning, cap,
			       "%zu classes in %zu rows: is it an id, or a number to predict (loss "
			       "\"mse\")?",
			       classes->n, l->t->rows);
	else if (class && k->seen.once > 0)
		(void)snprintf(c->warning, cap,
			       "one of its classes has one row: no model can learn it and be "
			       "measured by it");
}

static sw_status column_is(const struct sw_looking *l, size_t i, struct sw_err *err)
{
	struct sw_table_column *c = &l->t->column[i];
	const struct sw_look_column *k = &l->look[i];
	const bool mixed = k->only_point && k->only_comma;
	const bool few = k->seen.n <= SW_TABLE_VALUES_MOST;

	c->holes = k->holes;
	c->values = k->seen.n;
	c->more = k->seen.full || (k->texts == 0 && k->seen.n >= SW_LOOK_NUMBERS);
	/* a lead of one in a hundred may be chance */
	c->mostly = k->lead > k->votes / 100;
	for (unsigned f = 0; f < SW_DATE_FORMS; f++)
		if (k->forms & 1u << f) {
			c->form = (enum sw_date_form)f;
			break;
		}
	/* Numbers that both readings allow are as the file's others are. */
	c->decimal = k->only_comma                 ? SW_DECIMAL_COMMA
		     : k->marked && !k->only_point ? l->t->decimal
						   : SW_DECIMAL_POINT;
	if (i == l->t->target || k->asked == SW_KIND_IGNORED) {
		c->kind = i == l->t->target ? SW_KIND_TARGET : SW_KIND_IGNORED;
		if (i == l->t->target && slips(k) && !few)
			return slip(l, i, has_dates(k), err);
		if (i == l->t->target && has_signs(k) && !few)
			return signs(l, i, err);
		c->why = i == l->t->target  ? NULL
			 : i == l->t->group ? "rows are grouped by it"
					    : "as asked";
		return SW_OK;
	}
	if (k->asked == SW_KIND_N && k->texts == 0 && !mixed)
		number_is(c, k, l->t->rows);
	else if (k->asked == SW_KIND_N)
		text_is(c, k, l->t->rows);
	else
		c->kind = k->asked;
	if (k->asked == SW_KIND_DATE && (k->numbers || k->dates != k->texts || !k->forms))
		return no_date(l, i, err);
	if (k->asked == SW_KIND_NUMBER && k->texts)
		return slip(l, i, false, err);
	/* texts that come again and again are meant */
	if (k->asked == SW_KIND_N && slips(k) && !few &&
	    (slips(k) <= SW_LOOK_SLIPS || slips(k) <= l->t->rows / 1000))
		return slip(l, i, has_dates(k), err);
	return SW_OK;
}

sw_status sw_looking_kinds(struct sw_looking *l, struct sw_err *err)
{
	const struct sw_look_column *target = &l->look[l->t->target];
	sw_status rc = SW_OK;

	for (size_t i = 0; i < l->t->columns; i++)
		if (l->look[i].only_comma && !l->look[i].only_point && !l->look[i].texts)
			l->t->decimal = SW_DECIMAL_COMMA;
	for (size_t i = 0; rc == SW_OK && i < l->t->columns; i++)
		rc = column_is(l, i, err);
	const struct sw_table_column *c = &l->t->column[l->t->target];

	l->t->is_classes =
		target->texts || (target->only_point && target->only_comma) ||
		(!c->more && (c->values <= 2 || (target->whole && c->values <= CLASSES_LIKELY)));
	if (l->wanted)
		l->t->is_classes = *l->wanted;
	bool any = false;

	for (size_t i = 0; rc == SW_OK && i < l->t->columns; i++) {
		any = any || (i != l->t->target && !l->t->column[i].why);
		warning_make(l, i);
	}
	if (rc == SW_OK && l->t->is_classes && l->t->classes.others)
		rc = sw_err_at(err, SW_TOO_BIG, "/label",
			       "the label has over %d classes: is it a number to predict (loss "
			       "\"mse\")?",
			       SW_DATASET_MAX_CLASSES);
	if (rc == SW_OK && target->seen.n == 1)
		rc = sw_err_at(err, SW_INVALID, "/label", "%s: all rows have the same label",
			       l->r.file.show);
	if (rc == SW_OK && target->fresh && target->texts && l->t->rows >= ID_ROWS_LEAST)
		rc = sw_err_at(err, SW_INVALID, "/label",
			       "%s: each row has a label of its own: is it a name?",
			       l->r.file.show);
	if (rc == SW_OK && !any && !l->t->image)
		rc = sw_err_at(
			err, SW_INVALID, "/path",
			"%s has no column to learn from: all are left out, the first because "
			"%s",
			l->r.file.show, l->t->column[l->t->target == 0 ? 1 : 0].why);
	return rc;
}
