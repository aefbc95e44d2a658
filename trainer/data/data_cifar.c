/* trainer/data/data_cifar.c — what a folder of CIFAR has beside its batches, whose rows are those
 * of trainer/data/array.h. */
#include "proto/json.h"
#include "trainer/data/data_raw.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder holds the version for Python instead. */
static bool is_python(const struct sw_data_source *source)
{
	static const char *const names[] = {"data_batch_1", "train",
					    "cifar-10-batches-py/data_batch_1",
					    "cifar-100-python/train"};
	char path[SW_DATASET_MAX_PATH + 64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", source->path, names[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

sw_status sw_data_cifar_check(const struct sw_data_source *source, const char *first,
			      struct sw_err *err)
{
	const bool ten = source->set.format == SW_DATASET_CIFAR10;
	char show[84];

	if (access(first, F_OK) == 0 || !is_python(source))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, "/path",
			 "%s holds the Python version of CIFAR-%s: the binary version is needed "
			 "(%s)",
			 sw_data_file_show(source->path, show), ten ? "10" : "100",
			 ten ? "data_batch_1.bin ..." : "train.bin");
}

/* Lines of printable ASCII, as many as there are classes: a JSON list of them. False: it is not. */
static bool names_list(struct sw_buf *list, char *text, size_t n, uint32_t classes)
{
	struct sw_jw w;
	char *rest = NULL;
	uint32_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (text[i] != '\n' && text[i] != '\r' && (text[i] < ' ' || text[i] > '~'))
			return false;
	sw_jw_init(&w, list);
	sw_jw_arr(&w);
	for (char *t = strtok_r(text, "\r\n", &rest); t; t = strtok_r(NULL, "\r\n", &rest), found++)
		sw_jw_str(&w, t);
	sw_jw_arr_end(&w);
	return found == classes;
}

sw_status sw_data_cifar_names(struct sw_raw *out, const struct sw_data_source *source,
			      uint32_t classes, struct sw_err *err)
{
	static const char *const ten = "batches.meta.txt", *const coarse = "coarse_label_names.txt",
				 *const fine = "fine_label_names.txt";
	const struct sw_dataset *set = &source->set;
	char path[SW_DATASET_MAX_PATH + 96], text[4096];
	struct sw_err why = SW_ERR_INIT;
	struct sw_data_file f;
	struct sw_buf list;
	sw_status rc;
	char *slash;

	(void)sw_data_source_file(source, 0, path);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 32, "%s",
		 set->format == SW_DATASET_CIFAR10 ? ten
		 : set->coarse                     ? coarse
						   : fine);
	if (sw_data_file_open(&f, path, "/path", &why) != SW_OK)
		return SW_OK;
	const size_t n = f.size < sizeof text ? (size_t)f.size : 0;

	rc = sw_data_file_read(&f, text, n, "its names", err);
	sw_data_file_close(&f);
	if (rc != SW_OK)
		return rc;
	text[n] = '\0';
	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	if (names_list(&list, text, n, classes))
		return sw_data_about_take(&out->about, &list, &out->about.classes, err);
	sw_buf_fini(&list);
	return SW_OK;
}
