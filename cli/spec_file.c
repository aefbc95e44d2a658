#include "cli/spec_file.h"
#include "cli/spec_path.h"
#include "cli/yaml.h"
#include "proto/json.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sw_status slurp(struct sw_buf *b, const char *name, int fd, struct sw_err *err)
{
	for (;;) {
		const sw_status room = sw_buf_reserve(b, 16384);
		ssize_t n;

		if (room == SW_NOMEM)
			return sw_err_set(err, room, "out of memory");
		if (room != SW_OK)
			return sw_err_set(err, room, "%s: a spec has at most %zu bytes", name,
					  SW_SPEC_FILE_MAX);
		n = read(fd, b->data + b->len, 16384);
		if (n == 0)
			return SW_OK; /* its end */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sw_err_set(err, SW_IO, "%s: %s", name, strerror(errno));
		b->len += (size_t)n;
		b->data[b->len] = '\0';
	}
}

sw_status sw_spec_file_place(const char *name, const char *text, size_t len,
			     const struct sw_err *why, struct sw_err *err)
{
	static const char mark[] = "at byte ";
	const char *at = strstr(why->msg, mark), *what = why->msg;
	size_t byte = 0, line = 1, column = 1;
	int used = 0;

	if (at != NULL && sscanf(at + sizeof mark - 1, "%zu%n", &byte, &used) == 1) {
		what = at + sizeof mark - 1 + used;
		what += strspn(what, ": ");
	}
	for (size_t i = 0; i < byte && i < len; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	const char *colon = why->ptr[0] != '\0' ? ": " : "";
	if (at == NULL)
		return sw_err_set(err, SW_PARSE, "%s: %s%s%s", name, why->ptr, colon, what);
	return sw_err_set(err, SW_PARSE, "%s:%zu:%zu: %s%s%s", name, line, column, why->ptr, colon,
			  what);
}

/* The format is seen by the name's end; stdin's by its first character: a spec in JSON begins with
 * {. */
static bool is_yaml(const char *path, const struct sw_buf *text)
{
	const size_t n = strlen(path);

	if (strcmp(path, "-") == 0) {
		const char *first = text->data + strspn(text->data, " \t\r\n");
		return strchr("{[\"", *first) == NULL;
	}
	return (n > 5 && strcmp(path + n - 5, ".yaml") == 0) ||
	       (n > 4 && strcmp(path + n - 4, ".yml") == 0);
}

static sw_status parse(cJSON **out, const struct sw_buf *text, const char *path, const char *name,
		       struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;

	if (text->len > SW_SPEC_FILE_MAX)
		return sw_err_set(err, SW_TOO_BIG, "%s: a spec has at most %zu bytes", name,
				  SW_SPEC_FILE_MAX);
	if (is_yaml(path, text))
		return sw_yaml_read(out, name, text->data, text->len, err);
	const sw_status rc = sw_json_parse(out, text->data, text->len, &why);
	return rc == SW_PARSE ? sw_spec_file_place(name, text->data, text->len, &why, err) : rc;
}

sw_status sw_spec_file_parse(cJSON **out, const struct sw_buf *text, const char *path,
			     const char *name, bool far, struct sw_err *err)
{
	const sw_status rc = parse(out, text, path, name, err);
	char folder[PATH_MAX];

	if (rc != SW_OK || far)
		return rc;
	if (strcmp(path, "-") == 0 || strlen(path) >= sizeof folder)
		return sw_spec_path_absolute(*out, NULL, err);
	(void)strcpy(folder, path);
	return sw_spec_path_absolute(*out, dirname(folder), err);
}

sw_status sw_spec_file_read(cJSON **out, const char *path, bool far, struct sw_place_source *source,
			    struct sw_err *err)
{
	const bool from_stdin = strcmp(path, "-") == 0;
	const char *name = from_stdin ? "stdin" : path;
	const int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct sw_buf text;
	sw_status rc;

	*out = NULL;
	if (fd < 0)
		return sw_err_set(err, SW_IO, "%s: %s", path, strerror(errno));
	/* Room for one read past the limit: reads ask for 16 KiB, and the last may end just within
	 * it. */
	sw_buf_init(&text, SW_SPEC_FILE_MAX + 16384);
	rc = slurp(&text, name, fd, err);
	/* Before parsing: the text is needed most where it turns out to be wrong. */
	if (rc == SW_OK && source != NULL) {
		source->form = is_yaml(path, &text) ? SW_PLACE_YAML : SW_PLACE_JSON;
		rc = sw_buf_add(&source->text, text.data, text.len);
	}
	if (rc == SW_OK)
		rc = sw_spec_file_parse(out, &text, path, name, far, err);
	sw_buf_fini(&text);
	if (!from_stdin)
		(void)close(fd);
	return rc;
}
