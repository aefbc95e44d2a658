/* worker/data/data_about.c — the columns and classes of a data set, as JSON lists. */
#include "proto/json.h"
#include "worker/data/data_raw.h"
#include <stdlib.h>
#include <string.h>

sw_status sw_data_about_take(struct sw_data_about *about, struct sw_buf *list, char **out,
			     struct sw_err *err)
{
	const sw_status failed = list->failed;
	size_t len;

	*out = failed == SW_OK ? sw_buf_take(list, &len) : NULL;
	sw_buf_fini(list);
	about->too_big = about->too_big || failed == SW_TOO_BIG;
	if (*out || failed == SW_TOO_BIG)
		return SW_OK;
	return sw_err_set(err, SW_NOMEM, "no memory for what is known of the columns");
}

sw_status sw_data_about_numbers(struct sw_data_about *about, const double *v, size_t n, char **out,
				struct sw_err *err)
{
	struct sw_buf list;
	struct sw_jw w;

	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	sw_jw_init(&w, &list);
	sw_jw_arr(&w);
	for (size_t i = 0; i < n; i++)
		sw_jw_num(&w, v[i]);
	sw_jw_arr_end(&w);
	return sw_data_about_take(about, &list, out, err);
}

void sw_data_about_fini(struct sw_data_about *about)
{
	free(about->columns);
	free(about->label);
	free(about->classes);
	free(about->mean);
	free(about->std);
	memset(about, 0, sizeof *about);
}
