/*
 * worker/main.c — sweep-worker: one process, one device, a trial at a time in each of its lanes.
 *
 *   sweep-worker --socket PATH --slot N --device cpu:0|gpu:0 [--name NAME] [--lanes N] [--cores N]
 *                [--memory BYTES] < ID                         (worker/serve.h)
 *   sweep-worker check [gpu] < SPEC.json          (trainer/check.h; gpu: trials may run on GPUs)
 *   sweep-worker check form < FORM.json           (the same; a spec, and the ranges of an edit)
 *   sweep-worker layers < SPEC.json                (of a preset, for people)
 *   sweep-worker export CHECKPOINT FILE
 *   sweep-worker fit FILE [EPOCHS] < JOB.json      (trainer/fit.h)
 *   sweep-worker predict MODEL DATA [FORMAT [proba]]   (trainer/predict.h)
 *   sweep-worker test MODEL < JOB.json            (trainer/test.h)
 *   sweep-worker table FILE [OPTIONS]             (trainer/table.h)
 *   sweep-worker pilot < LINES                    (worker/pilot.h; a cluster's job of the daemon's)
 *
 * Name     Errors begin with "sweep-worker: ", or with "sweep: " where argv[0] is sweep.
 * Exit     0: told to end (SIGTERM, worker.exit). 1: refused by the daemon, or the daemon is gone
 *          for good; one line on stderr. 2: usage. 3: the device is lost (an error after which only
 *          a new process can use it): one line; docs/devices.md says who is to blame.
 * Signals  SIGINT is ignored: Ctrl-C in the daemon's terminal reaches the daemon, which decides.
 */
#include "proto/frame.h"
#include "proto/json.h"
#include "trainer/check.h"
#include "trainer/file/export.h"
#include "trainer/fit.h"
#include "trainer/predict.h"
#include "trainer/spec/presets.h"
#include "trainer/table.h"
#include "trainer/test.h"
#include "worker/pilot.h"
#include "worker/serve.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wake[2] = {-1, -1};

/* The name that its errors begin with: `sweep` runs it under its own name, and shows its errors. */
static const char *program = "sweep-worker";

/* A pipe, not a mask: OpenBLAS's threads exist before main and would take the signal's default. */
static void on_term(int sig)
{
	/* write(2) is among the few calls that a handler may make; errno is the interrupted
	 * code's. */
	const int saved = errno;
	const ssize_t n = write(wake[1], "", 1);

	(void)sig;
	(void)n; /* a full pipe is readable, too */
	errno = saved;
}

static int signals(void)
{
	struct sigaction term = {.sa_handler = on_term}, ignore = {.sa_handler = SIG_IGN};

	/* Non-blocking: nobody reads the pipe, and a handler must not wait for room in it. */
	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	/* a limit on the size of files is then an error of the write, as a full disk is */
	return sigaction(SIGTERM, &term, NULL) | sigaction(SIGINT, &ignore, NULL) |
	       sigaction(SIGPIPE, &ignore, NULL) | sigaction(SIGXFSZ, &ignore, NULL);
}

/* Decimal, from min to max; -1 otherwise. */
static long option_number(const char *text, long min, long max)
{
	char *end;
	const long v = strtol(text, &end, 10);

	return *text >= '0' && *text <= '9' && *end == '\0' && v >= min && v <= max ? v : -1;
}

static int usage(void)
{
	fputs("usage: sweep-worker --socket PATH --slot N --device cpu:0|gpu:0 "
	      "[--name NAME] [--lanes N] [--cores N] [--memory BYTES] < ID\n"
	      "       sweep-worker check [gpu | form] < SPEC.json\n"
	      "       sweep-worker layers < SPEC.json\n"
	      "       sweep-worker export CHECKPOINT FILE [quiet]\n"
	      "       sweep-worker fit FILE [EPOCHS] < JOB.json\n"
	      "       sweep-worker predict MODEL DATA [FORMAT [proba]]\n"
	      "       sweep-worker test MODEL < JOB.json\n"
	      "       sweep-worker table FILE [OPTIONS]\n",
	      stderr);
	return 2;
}

static int complain(const char *line)
{
	fprintf(stderr, "%s: %s\n", program, line);
	return 1;
}

/* All of stdin. false: it cannot be read, or has no end. */
static bool read_all(struct sw_buf *in)
{
	sw_buf_init(in, SW_FRAME_MAX * 2);
	while (sw_buf_reserve(in, 65536) == SW_OK) {
		const ssize_t n = read(STDIN_FILENO, in->data + in->len, 65536);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		in->len += (size_t)n;
	}
	return false;
}

/* `sweep-worker check` and `layers`: a spec on standard input, what is said of it on standard
 * output. words: behind the first; NULL behind the last. */
static int spec_main(bool check, char *const *words)
{
	const bool gpu = check && *words != NULL && strcmp(*words, "gpu") == 0;
	const bool form = check && *words != NULL && strcmp(*words, "form") == 0;
	struct sw_buf in, out;
	int failed = 1;

	if (words[gpu || form] != NULL)
		return usage();
	sw_buf_init(&out, SW_FRAME_MAX);
	const bool whole = read_all(&in);
	if (whole && check)
		sw_check_spec(in.data, in.len, form, gpu ? sw_check_gpu() : NULL, &out);
	else if (whole)
		sw_model_show(in.data, in.len, &out);
	if (out.len > 0 && sw_buf_adds(&out, "\n") == SW_OK)
		failed = fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0;
	sw_buf_fini(&in);
	sw_buf_fini(&out);
	return failed ? complain("the spec cannot be read, or the answer not be written") : 0;
}

/* `sweep-worker fit`: a trial's job on standard input, trained once more, on all cores. epochs
 * NULL: its own. */
static int fit_main(const char *to, const char *epochs)
{
	struct sw_err err = SW_ERR_INIT;
	const long cores = sysconf(_SC_NPROCESSORS_ONLN),
		   n = epochs ? option_number(epochs, 1, LONG_MAX) : 0;
	cJSON *input = NULL;
	struct sw_buf in;
	struct sw_fit fit;
	struct sw_job job;
	sw_status rc = SW_IO;

	if (n < 0)
		return usage();
	if (read_all(&in))
		rc = sw_json_parse(&input, in.data, in.len, &err);
	if (rc == SW_OK)
		rc = sw_job_read(&job, input, &err);
	if (rc == SW_OK)
		rc = sw_fit_run(&fit, &job, (uint64_t)n, to, cores > 1 ? (unsigned)cores : 1, &err);
	sw_buf_fini(&in);
	cJSON_Delete(input);
	if (rc != SW_OK) {
		fprintf(stderr, "%s: %s%s%s\n", program, err.ptr, *err.ptr ? ": " : "",
			*err.msg ? err.msg : sw_status_str(rc));
		return 1;
	}
	printf("trial %" PRIu64 "/%" PRIu64
	       ": trained on %zu rows for %zu epochs, train_loss %.6g\n",
	       job.sweep, job.trial, fit.rows, fit.epochs, fit.train_loss);
	return fflush(stdout) == 0 ? 0 : complain("the output cannot be written");
}

/* `sweep-worker test`: the job of a trial on standard input, its model, and the rows that no trial
 * has seen. */
static int test_main(const char *model)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct sw_err err = SW_ERR_INIT;
	cJSON *input = NULL;
	struct sw_buf in, out;
	struct sw_job job;
	sw_status rc = SW_IO;

	sw_buf_init(&out, SW_FRAME_MAX);
	if (read_all(&in))
		rc = sw_json_parse(&input, in.data, in.len, &err);
	if (rc == SW_OK)
		rc = sw_job_read(&job, input, &err);
	if (rc == SW_OK)
		rc = sw_test_run(&job, model, cores > 1 ? (unsigned)cores : 1, &out, &err);
	if (rc == SW_OK)
		rc = out.failed;
	if (rc == SW_OK && (puts(out.data) < 0 || fflush(stdout) != 0))
		rc = sw_err_set(&err, SW_IO, "the output cannot be written");
	if (rc != SW_OK)
		fprintf(stderr, "%s: %s%s%s\n", program, err.ptr, *err.ptr ? ": " : "",
			*err.msg ? err.msg : sw_status_str(rc));
	sw_buf_fini(&in);
	sw_buf_fini(&out);
	cJSON_Delete(input);
	return rc == SW_OK ? 0 : 1;
}

static int export_main(const char *from, const char *to, bool quiet)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_exported is;

	if (sw_export(from, to, &is, &err) != SW_OK)
		return complain(err.msg);
	if (!quiet)
		printf("trial %" PRIu64 "/%" PRIu64 " after step %" PRIu64 " -> %s\n", is.sweep,
		       is.trial, is.epoch, to);
	return fflush(stdout) == 0 ? 0 : complain("the output cannot be written");
}

/* format "": that of the file */
static int predict_main(const char *model, const char *data, const char *format, bool proba)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf said;

	/* a reader that leaves is seen by the write */
	(void)signal(SIGPIPE, SIG_IGN);
	sw_buf_init(&said, SW_FRAME_MAX);
	const sw_status rc = sw_predict(model, data, format && *format ? format : NULL, proba,
					STDOUT_FILENO, cores > 1 ? (unsigned)cores : 1, &said,
					&err);

	for (char *line = said.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		(void)complain(line);
	}
	sw_buf_fini(&said);
	return rc == SW_OK ? 0 : complain(err.msg);
}

static int table_main(const char *path, const char *options, const char *scale)
{
	struct sw_buf out;

	sw_buf_init(&out, (size_t)64 << 20);
	const bool fine = sw_table_show(path, options, scale, &out);
	const bool written = out.failed == SW_OK && puts(out.data) >= 0 && fflush(stdout) == 0;

	sw_buf_fini(&out);
	return written ? !fine : complain("the answer cannot be written");
}

/* Ends the process where others of its threads may still run, and nothing of a lost device can be
 * taken down. */
static int end_work(int code)
{
	/* exit() would run the destructors of libraries that still have the device. */
	if (code == SW_WORKER_EXIT_DEVICE)
		_exit(code);
	return code;
}

/* The id is no argument: every user of the machine may read those. */
static bool read_id(char *id, size_t cap)
{
	size_t n = 0;
	ssize_t got;

	while (n < cap - 1 && (got = read(STDIN_FILENO, id + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	id[n] = '\0';
	id[strcspn(id, "\n")] = '\0';
	return *id != '\0';
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'}, {"slot", required_argument, NULL, 'n'},
		{"device", required_argument, NULL, 'd'}, {"name", required_argument, NULL, 'a'},
		{"cores", required_argument, NULL, 'c'},  {"memory", required_argument, NULL, 'm'},
		{"lanes", required_argument, NULL, 'l'},  {NULL, 0, NULL, 0}};
	struct sw_serve config = {.link = {.slot = -1}};
	long cores = 1, memory = 0, lanes = 1;
	char id[65];
	int c;

	if (argc > 0 && strcmp(argv[0], "sweep") == 0)
		program = "sweep";
	if (argc >= 2 && (strcmp(argv[1], "check") == 0 || strcmp(argv[1], "layers") == 0))
		return spec_main(argv[1][0] == 'c', argv + 2);
	if (argc == 2 && strcmp(argv[1], "pilot") == 0)
		return signals() == 0 ? end_work(sw_pilot(wake))
				      : complain("signals cannot be handled");
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "fit") == 0)
		return fit_main(argv[2], argv[3]);
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "export") == 0)
		return export_main(argv[2], argv[3], argc == 5);
	if (argc >= 4 && argc <= 6 && strcmp(argv[1], "predict") == 0)
		return predict_main(argv[2], argv[3], argv[4], argc == 6);
	if (argc == 3 && strcmp(argv[1], "test") == 0)
		return test_main(argv[2]);
	if (argc >= 3 && argc <= 5 && strcmp(argv[1], "table") == 0)
		return table_main(argv[2], argv[3], argc == 5 ? argv[4] : NULL);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			config.link.socket = optarg;
		else if (c == 'n')
			config.link.slot = (int)option_number(optarg, 0, 100000);
		else if (c == 'd')
			config.device = optarg;
		else if (c == 'a')
			config.name = optarg;
		else if (c == 'c')
			cores = option_number(optarg, 1, 4096);
		else if (c == 'l')
			lanes = option_number(optarg, 1, SW_WORKER_LANES_MAX);
		else if (c == 'm')
			memory = option_number(optarg, 1, LONG_MAX);
		else
			return usage();
	}
	if (optind != argc || !config.link.socket || !config.device || config.link.slot < 0 ||
	    cores < 1 || lanes < 1 || memory < 0)
		return usage();
	if (!read_id(id, sizeof id))
		return complain("no worker's id on standard input");
	config.link.worker = id;
	if (signals() != 0)
		return complain("signals cannot be handled");
	config.lanes = (unsigned)lanes;
	config.cores = (unsigned)cores;
	config.memory = (size_t)memory;
	config.link.wake_fd = wake[0];
	config.wake = wake[1];
	return end_work(sw_serve(&config));
}
