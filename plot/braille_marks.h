/* plot/braille_marks.h — the marks of a panel, on the part of a sheet inside its axes. */
#ifndef SW_PLOT_BRAILLE_MARKS_H
#define SW_PLOT_BRAILLE_MARKS_H

#include "plot/plot.h"
#include "plot/sheet.h"

struct sw_area {
	struct sw_sheet *sheet;
	const struct sw_plot *p;
	const struct sw_plot_panel *panel;
	int row, column, width, height; /* characters */
	bool dense;                     /* so many dots that each is one of braille */
};

void sw_braille_marks(const struct sw_area *a);
/* A series as the legend shows it: one character. */
void sw_braille_sample(const struct sw_area *a, const struct sw_plot_series *s, int row,
		       int column);

#endif
