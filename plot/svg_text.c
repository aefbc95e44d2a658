#include "plot/svg_text.h"
#include "base/term.h"
#include <string.h>

/* By kinds of characters: sans-serif fonts differ by more than that. */
double sw_svg_rune(uint32_t r)
{
	if (r >= 0x1100)
		return 12.5; /* CJK and emoji, and what may as well be */
	if (r > 0x7e)
		return 8;
	if (strchr("iljtfrI.,:;'|!()[] ", (int)r) != NULL)
		return 4.2;
	if (strchr("mwMW@%", (int)r) != NULL)
		return 11;
	return r >= 'A' && r <= 'Z' ? 8.4 : 7.2;
}

double sw_svg_width(const char *text)
{
	double width = 0;
	uint32_t r;

	while (width < 2000 && (r = sw_term_rune(&text)) != 0)
		width += sw_svg_rune(r);
	return width;
}

static void add_escaped(struct sw_buf *b, uint32_t r)
{
	if (r == '&')
		(void)sw_buf_adds(b, "&amp;");
	else if (r == '<')
		(void)sw_buf_adds(b, "&lt;");
	else if (r == '>')
		(void)sw_buf_adds(b, "&gt;");
	else if (r == '"')
		(void)sw_buf_adds(b, "&quot;");
	else
		sw_term_add_rune(b, r);
}

void sw_svg_cut(struct sw_buf *b, const char *text, double max)
{
	const bool cut = sw_svg_width(text) > max;
	double used = cut ? sw_svg_rune(0x2026) : 0;
	uint32_t r;

	while ((r = sw_term_rune(&text)) != 0) {
		used += sw_svg_rune(r);
		if (cut && used > max)
			break;
		add_escaped(b, r);
	}
	if (cut)
		sw_term_add_rune(b, 0x2026);
}
