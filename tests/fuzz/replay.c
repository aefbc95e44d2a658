/* Runs a fuzz target over files and folders of them, in every build: replay PATH... The last line
 * counts the inputs; none at all is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;

	if (file == NULL || fstat(fileno(file), &st) != 0) {
		fprintf(stderr, "replay: cannot read %s\n", path);
		if (file != NULL)
			(void)fclose(file);
		return -1;
	}
	/* Exactly as many bytes as the file has, so that ASan sees a read beyond them. */
	const size_t size = (size_t)st.st_size;
	uint8_t *data = malloc(size > 0 ? size : 1);
	const int failed = data == NULL || fread(data, 1, size, file) != size;
	(void)fclose(file);
	if (!failed)
		(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	return failed ? -1 : 0;
}

static int run_path(const char *path, unsigned *n)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int failed = 0;

	if (dir == NULL) {
		(*n)++;
		return run_file(path);
	}
	while ((entry = readdir(dir)) != NULL && failed == 0) {
		char inside[4096];
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
		failed = run_path(inside, n);
	}
	(void)closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	for (int i = 1; i < argc; i++)
		if (run_path(argv[i], &n) != 0)
			return EXIT_FAILURE;
	printf("%u inputs replayed\n", n);
	return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
