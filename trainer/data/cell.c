#include "trainer/data/cell.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST ((size_t)400) /* bytes of a number */

const char *const sw_date_names[SW_DATE_FORMS] = {"2024-01-31", "31.01.2024", "01/31/2024"};

static bool digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* --- numbers --- */

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
			      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
			      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Reads on behind an 'e'. false: no exponent stands there. */
static bool exponent_read(const char *s, int *exponent, const char **end)
{
	const bool minus = *s == '-';
	int n = 0;

	s += *s == '-' || *s == '+';
	if (!digit(*s))
		return false;
	for (; digit(*s); s++)
		n = n < 100000 ? 10 * n + (*s - '0') : n;
	*exponent += minus ? -n : n;
	*end = s;
	return true;
}

/* whole / 10^k, k at most 17, rounded once: there are more bits than a double has room for, and the
 * last of them also says whether there is a rest. whole: over 2^53. */
static double divided(uint64_t whole, size_t k)
{
	__extension__ typedef unsigned __int128 wide;
	const wide n = (wide)whole << 64, ten = (wide)tens[k], q = n / ten;

	return ldexp((double)(q | (q * ten != n)), -64);
}

/* Whole digits below 2^53 and a power of ten up to 22 are exact as doubles, so one product or
 * quotient of them is rounded once: Clinger, "How to read floating point numbers accurately", 1990.
 * The rest is strtod's. */
bool sw_cell_plain(const struct sw_csv_cell *c, double *out)
{
	const char *s = c->text;
	const bool minus = *s == '-';
	uint64_t whole = 0;
	int exponent = 0;

	s += *s == '-' || *s == '+';
	const char *first = s;

	for (; digit(*s); s++)
		whole = 10 * whole + (uint64_t)(*s - '0');
	size_t digits = (size_t)(s - first);
	if (*s == '.') {
		const char *point = ++s;

		for (; digit(*s); s++)
			whole = 10 * whole + (uint64_t)(*s - '0');
		exponent = -(int)(s - point);
		digits += (size_t)(s - point);
	}
	if (digits == 0 || ((*s == 'e' || *s == 'E') && !exponent_read(s + 1, &exponent, &s)) ||
	    s != c->text + c->len)
		return false;
	if (digits <= 19 && whole <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
		const double v = exponent < 0 ? (double)whole / tens[-exponent]
					      : (double)whole * tens[exponent];

		*out = minus ? -v : v;
		return true;
	}
	if (digits <= 19 && exponent < 0 && exponent >= -17) {
		const double v = divided(whole, (size_t)-exponent);

		*out = minus ? -v : v;
		return true;
	}
	*out = strtod(c->text, NULL);
	return isfinite(*out);
}

/* Copies a number to `to` without its marks between thousands, with a point. 0: it is none. */
static size_t unmarked(const struct sw_csv_cell *c, char mark, char point, char to[LONGEST])
{
	size_t n = 0, group = 0; /* digits since the last mark */
	bool marked = false, whole = true;

	if (c->len >= LONGEST)
		return 0;
	for (size_t i = 0; i < c->len; i++) {
		const char at = c->text[i];

		if (whole && at == mark) {
			/* "1,200" and "12,000,000": up to three digits, then three each; no "0.123"
			 */
			if (group == 0 || group > 3 || (marked && group != 3) ||
			    (!marked && c->text[i - group] == '0'))
				return 0;
			marked = true;
			group = 0;
			continue;
		}
		if (whole && !digit(at) && !(i == 0 && (at == '-' || at == '+'))) {
			if (marked && group != 3)
				return 0;
			whole = false;
		}
		if ((at == '.' || at == ',') && at != point)
			return 0;
		group += digit(at);
		to[n++] = at == point ? '.' : at;
	}
	to[n] = '\0';
	return marked && whole && group != 3 ? 0 : n;
}

bool sw_cell_number(const struct sw_csv_cell *c, enum sw_decimal how, double *out)
{
	const bool comma = how == SW_DECIMAL_COMMA;
	char plain[LONGEST];

	if (!sw_cell_may_be_number(c))
		return false;

	if (!comma && sw_cell_plain(c, out))
		return true;
	const size_t n = unmarked(c, comma ? '.' : ',', comma ? ',' : '.', plain);

	return n > 0 && sw_cell_plain(&(struct sw_csv_cell){.text = plain, .len = n}, out);
}

/* Reads on behind spaces, also those that break no line, and signs of money and percent, and counts
 * those. */
static const char *signs_skip(const char *s, int *signs)
{
	for (;;) {
		const unsigned char *u = (const unsigned char *)s;
		const bool money = u[0] == 0xe2 && ((u[1] == 0x82 && u[2] >= 0xa0) ||
						    (u[1] == 0x83 && u[2] <= 0x8f));
		const bool latin = u[0] == 0xc2 && u[1] >= 0xa2 && u[1] <= 0xa5;
		const bool ascii = *s == '$' || *s == '%';

		if (!money && !latin && !ascii && *s != ' ' && !(u[0] == 0xc2 && u[1] == 0xa0))
			return s;
		*signs += money || latin || ascii;
		s += money ? 3 : u[0] == 0xc2 ? 2 : 1;
	}
}

bool sw_cell_has_sign(const struct sw_csv_cell *c)
{
	int signs = 0;
	const char *from = signs_skip(c->text, &signs), *at = from;
	double v;

	while (*at && signs_skip(at, &(int){0}) == at)
		at++;
	/* no number is read on into what ends it here */
	const struct sw_csv_cell number = {.text = (char *)from, .len = (size_t)(at - from)};

	return *signs_skip(at, &signs) == '\0' && signs > 0 &&
	       (sw_cell_number(&number, SW_DECIMAL_POINT, &v) ||
		sw_cell_number(&number, SW_DECIMAL_COMMA, &v));
}

/* --- holes --- */

bool sw_cell_is_hole(const struct sw_csv_cell *c)
{
	static const char words[][4] = {"na",   "n/a",  "#n/a", "<na>", "nan",
					"null", "none", "?",    "-"};
	char low[4] = "";

	if (c->len == 0 || c->len > sizeof low)
		return c->len == 0;
	/* most cells are none */
	if ((*c->text | 0x20) != 'n' && *c->text != '#' && *c->text != '<' && *c->text != '?' &&
	    *c->text != '-')
		return false;
	for (size_t i = 0; i < c->len; i++)
		low[i] = c->text[i] | 0x20; /* what is no letter has that bit */
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (memcmp(low, words[i], 4) == 0)
			return true;
	return false;
}

/* --- dates --- */

/* A whole number of 1 to `most` digits at *s, which is behind it then; -1: none. */
static int number_take(const char **s, int most)
{
	int v = 0, n = 0;

	for (; n < most && digit(**s); n++, ++*s)
		v = 10 * v + (**s - '0');
	return n > 0 && !digit(**s) ? v : -1;
}

/* Days since 1970-01-01 in the Gregorian calendar: years are counted from March on, so that the
 * leap day is the last of one. */
static int64_t days_of(int y, int m, int d)
{
	const int64_t year = y - (m <= 2), month = (m + 9) % 12;
	const int64_t of_year = (153 * month + 2) / 5 + d - 1;

	return 365 * year + year / 4 - year / 100 + year / 400 + of_year - 719468;
}

static int month_days(int y, int m)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return m == 2 && (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)) ? 29 : days[m - 1];
}

/* "12:30", "12:30:59.5", each with "Z", "+02:00" or none, as a part of a day. */
static bool time_take(const char *s, double *day)
{
	double seconds = 0;
	const int h = number_take(&s, 2), m = *s == ':' ? (s++, number_take(&s, 2)) : -1;

	if (h < 0 || h > 24 || m < 0 || m > 59)
		return false;
	if (*s == ':') {
		char *end;

		s++;
		if (!digit(s[0]) || !digit(s[1]))
			return false;
		seconds = strtod(s, &end);
		if (!(seconds < 61) || (end != s + 2 && s[2] != '.'))
			return false;
		s = end;
	}
	*day = (h * 3600 + m * 60 + seconds) / 86400;
	if (*s == 'Z')
		return s[1] == '\0';
	if (*s == '+' || *s == '-') {
		const int sign = *s++ == '-' ? -1 : 1, oh = number_take(&s, 2);
		const int om = *s == ':' ? (s++, number_take(&s, 2)) : 0;

		if (oh < 0 || om < 0)
			return false;
		*day -= sign * (oh * 60 + om) / 1440.0;
	}
	return *s == '\0';
}

bool sw_cell_date(const struct sw_csv_cell *c, enum sw_date_form form, struct sw_date *out)
{
	static const int year_at[] = {0, 2, 2}, month_at[] = {1, 1, 0}, day_at[] = {2, 0, 1};
	const char *s = c->text;
	double part = 0;
	int v[3];

	if (c->len < 8 || c->len > 40 || !digit(*s))
		return false;
	for (int i = 0; i < 3; i++) {
		if (i > 0 && *s != '-' && *s != '/' && *s != '.')
			return false;
		s += i > 0;
		v[i] = number_take(&s, 4);
		if (v[i] < 0)
			return false;
	}
	const int y = v[year_at[form]], m = v[month_at[form]], d = v[day_at[form]];

	/* a year of two digits could be any of the three numbers */
	if (y < 1000 || m < 1 || m > 12 || d < 1 || d > month_days(y, m))
		return false;
	if (*s != '\0' && ((*s != ' ' && *s != 'T') || !time_take(s + 1, &part)))
		return false;
	const int64_t days = days_of(y, m, d);

	out->days = (double)days + part;
	out->month = m;
	out->weekday = (int)(((days + 3) % 7 + 7) % 7); /* the first of 1970 was a Thursday */
	return true;
}
