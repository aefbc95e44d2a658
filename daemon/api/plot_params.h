/* daemon/api/plot_params.h — the parameters of a sweep's trials as numbers for its plots. Pure. */
#ifndef SW_DAEMON_API_PLOT_PARAMS_H
#define SW_DAEMON_API_PLOT_PARAMS_H

#include "base/status.h"
#include "plot/data.h"
#include "spec/spec.h"

/* *out: s->n_params of them, the caller's (free), with the names of the values of categories.
 * SW_NOMEM. */
SW_NODISCARD sw_status sw_plot_params_describe(const struct sw_spec *s, struct sw_plot_param **out,
					       struct sw_err *err);
void sw_plot_params_free(const struct sw_spec *s, struct sw_plot_param *params);

/* A trial's parameters from the text that the store has: of a category the index of its value. out
 * has s->n_params; NaN: the trial has none, or one that the spec does not know. */
void sw_plot_params_read(const struct sw_spec *s, const struct sw_plot_param *params,
			 const char *text, double *out);

/* Says of each parameter whether trials differ in it. */
void sw_plot_params_vary(struct sw_plot_param *params, const struct sw_plot_data *d);

#endif
