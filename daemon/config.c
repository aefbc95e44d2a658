#include "daemon/config.h"
#include "daemon/slot/device.h"
#include "proto/socket_path.h"
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char sw_config_usage[] =
	"usage: sweepd [OPTIONS]\n"
	"       sweepd replay DB [SWEEP]\n"
	"The hyperparameter tuning daemon. Talk to it with `sweep`.\n"
	"\n"
	"  --state DIR      where everything is stored (default: $XDG_STATE_HOME/sweepd or\n"
	"                   ~/.local/state/sweepd)\n"
	"  --database DIR   where sweepd.db is instead, for a state directory on a shared\n"
	"                   file system: a database needs a local disk\n"
	"  --socket PATH    where clients connect (default: $SWEEPD_SOCKET, or\n"
	"                   $XDG_RUNTIME_DIR/sweepd/sweepd.sock)\n"
	"  --devices SPEC   the slots: cpu:N, gpu:0,1 (numbers or UUIDs; gpu:0:4 has 4 lanes),\n"
	"                   gpu:0+cpu:2, auto (every healthy GPU, or every core where\n"
	"                   there is none), none (default: auto)\n"
	"  --cpu-memory N   most bytes of a trial on a CPU slot, with its data set; with a\n"
	"                   suffix K, M or G (of 1024; default: no limit)\n"
	"  --gpu-memory N   most bytes of all trials on one GPU together, with their data\n"
	"                   sets (default: what is free)\n"
	"  --keep-days N    delete sweeps N days after they ended, with all their files\n"
	"  --keep-checkpoints N  of each sweep keep the checkpoints of at most N trials that\n"
	"                   have ended, the best; \"checkpoint\" in a spec may keep fewer\n"
	"  --quota N        most bytes of the state directory, with a suffix as above: once\n"
	"                   it is met no trial begins; those that run go on\n"
	"  --executor NAME  trains on a cluster, too: slurm, ssh, or a program of your own (docs/\n"
	"                   cluster.md); its jobs are slots NAME:0 ... behind --devices\n"
	"  --max-workers N  most of its jobs at a time, 1 to 1000 (default: 16)\n"
	"  --executor-options FILE  what a job asks for: lines `key = value`\n"
	"  --log FILE       append the log to FILE (default: stderr); SIGHUP reopens it\n"
	"  --log-level L    debug, info, warn or error (default: info)\n"
	"  --version, --help\n"
	"\n"
	"SIGTERM and SIGINT end it: trials have 10 seconds to finish their epoch and to write\n"
	"a checkpoint, programs 8 of their grace_s, and the next start goes on from there. All\n"
	"is over in 20 seconds at most; a second signal ends it at once.\n"
	"\n"
	"`sweepd replay --help` says how to check a database against its own events.\n";

static sw_status put_text(char *out, size_t cap, const char *value, const char *what,
			  struct sw_err *err)
{
	const int n = snprintf(out, cap, "%s", value);

	if (*value == '\0')
		return sw_err_set(err, SW_INVALID, "%s is empty", what);
	if (n < 0 || (size_t)n >= cap)
		return sw_err_set(err, SW_INVALID, "%s is longer than %zu bytes", what, cap - 1);
	return SW_OK;
}

/* "1048576", "512M": above 0. */
static sw_status read_bytes(const char *option, const char *text, int64_t *out, struct sw_err *err)
{
	static const char suffix[] = "KMG";
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);
	const char *at = *end != '\0' ? strchr(suffix, *end) : NULL;
	const unsigned shift = at != NULL ? 10 * (unsigned)(at - suffix + 1) : 0;

	if (*text < '0' || *text > '9' || n == 0 || end[at != NULL] != '\0' ||
	    n > (unsigned long long)INT64_MAX >> shift)
		return sw_err_set(err, SW_INVALID,
				  "--%s %s: it is a number of bytes, such as 800000000 or 512M (K, "
				  "M or G)",
				  option, text);
	*out = (int64_t)(n << shift);
	return SW_OK;
}

/* A count is from 1 to a million. */
static sw_status read_count(const char *option, const char *text, int64_t *out, struct sw_err *err)
{
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || n == 0 || n > 1000000 || *end != '\0')
		return sw_err_set(err, SW_INVALID, "--%s %s: it is a number from 1 to 1000000",
				  option, text);
	*out = (int64_t)n;
	return SW_OK;
}

static sw_status default_state(struct sw_config *c, struct sw_err *err)
{
	const sw_status rc = sw_state_path_default(c->state, sizeof c->state);

	if (rc == SW_NOT_FOUND)
		return sw_err_set(err, SW_INVALID,
				  "neither XDG_STATE_HOME nor HOME is set: give --state DIR");
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, SW_INVALID, "the state directory's path is too long");
}

static sw_status default_worker(struct sw_config *c, struct sw_err *err)
{
	const char *given = getenv("SWEEPD_WORKER");
	char self[PATH_MAX], path[PATH_MAX + 16];

	if (given != NULL && *given != '\0')
		return put_text(c->worker, sizeof c->worker, given, "SWEEPD_WORKER", err);
	/* Beside the running binary, not on PATH: worker and daemon are parts of one build, and
	 * worker.hello refuses any other. */
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		return sw_err_set(err, SW_IO, "cannot find the program's own folder (/proc?)");
	self[n] = '\0';
	(void)snprintf(path, sizeof path, "%s/sweep-worker", dirname(self));
	return put_text(c->worker, sizeof c->worker, path, "the path of sweep-worker", err);
}

static sw_status fill_defaults(struct sw_config *c, struct sw_err *err)
{
	const char *env = getenv("SWEEPD_SOCKET");
	sw_status rc = default_worker(c, err);

	if (rc == SW_OK) /* what is wrong with it is said now, as a matter of usage */
		rc = sw_device_check(c->devices, err);
	/* `sweepd validate` stores nothing and listens nowhere, so a login without HOME may run
	 * it. */
	if (rc == SW_OK && *c->state == '\0' && !c->validate)
		rc = default_state(c, err);
	if (rc != SW_OK || *c->socket != '\0' || c->validate)
		return rc;
	if (env != NULL && *env != '\0')
		return put_text(c->socket, sizeof c->socket, env, "SWEEPD_SOCKET", err);
	if (sw_socket_path_default(c->socket, sizeof c->socket) != SW_OK)
		return sw_err_set(err, SW_INVALID,
				  "the default socket path is too long: "
				  "give --socket PATH");
	return SW_OK;
}

/* A name, not a path: executors lie in folders of their own. */
static sw_status read_executor(struct sw_config *c, const char *name, struct sw_err *err)
{
	const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	if (n == 0 || name[n] != '\0' || n >= sizeof c->pilots.executor)
		return sw_err_set(err, SW_INVALID,
				  "--executor %.40s: it is the name of one, at most %zu small "
				  "letters and digits, such as slurm",
				  name, sizeof c->pilots.executor - 1);
	(void)snprintf(c->pilots.executor, sizeof c->pilots.executor, "%s", name);
	return SW_OK;
}

static sw_status fill_pilots(struct sw_config *c, int64_t workers, const char *file,
			     struct sw_err *err)
{
	if (c->pilots.executor[0] == '\0' && (workers != 0 || file != NULL))
		return sw_err_set(err, SW_INVALID, "%s goes with --executor NAME",
				  file != NULL ? "--executor-options" : "--max-workers");
	if (workers > SW_PILOT_MAX)
		return sw_err_set(err, SW_INVALID, "--max-workers %lld: at most %d",
				  (long long)workers, SW_PILOT_MAX);
	if (c->pilots.executor[0] == '\0')
		return SW_OK;
	c->pilots.max = workers != 0 ? (unsigned)workers : 16;
	return file != NULL ? sw_pilot_options_read(&c->pilots, file, err) : SW_OK;
}

sw_status sw_config_parse(struct sw_config *c, int argc, char **argv, struct sw_err *err)
{
	static const struct option options[] = {
		{"state", required_argument, NULL, 's'},
		{"database", required_argument, NULL, 'b'},
		{"socket", required_argument, NULL, 'k'},
		{"devices", required_argument, NULL, 'd'},
		{"cpu-memory", required_argument, NULL, 'm'},
		{"gpu-memory", required_argument, NULL, 'g'},
		{"keep-days", required_argument, NULL, 'D'},
		{"keep-checkpoints", required_argument, NULL, 'C'},
		{"quota", required_argument, NULL, 'q'},
		{"executor", required_argument, NULL, 'e'},
		{"max-workers", required_argument, NULL, 'w'},
		{"executor-options", required_argument, NULL, 'o'},
		{"log", required_argument, NULL, 'l'},
		{"log-level", required_argument, NULL, 'L'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *file = NULL;
	int64_t workers = 0;
	sw_status rc = SW_OK;
	int o;

	*c = (struct sw_config){.devices = "auto", .log_level = SW_LOG_INFO};
	sw_pilot_options_init(&c->pilots);
	c->validate = argc > 1 && strcmp(argv[1], "validate") == 0;
	argc -= c->validate;
	argv += c->validate;
	if (c->validate) /* what it says is for its client, not for a log */
		c->log_level = SW_LOG_ERROR;
	/* The ":" in front of the short options has getopt tell a missing value from an unknown
	 * option; its own messages would bypass err. */
	opterr = 0;
	while (rc == SW_OK && (o = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (o) {
		case 's':
			rc = put_text(c->state, sizeof c->state, optarg, "--state", err);
			break;
		case 'b':
			rc = put_text(c->database, sizeof c->database, optarg, "--database", err);
			break;
		case 'k':
			rc = put_text(c->socket, sizeof c->socket, optarg, "--socket", err);
			break;
		case 'd':
			rc = put_text(c->devices, sizeof c->devices, optarg, "--devices", err);
			break;
		case 'm':
			rc = read_bytes("cpu-memory", optarg, &c->cpu_memory, err);
			break;
		case 'g':
			rc = read_bytes("gpu-memory", optarg, &c->gpu_memory, err);
			break;
		case 'D':
			rc = read_count("keep-days", optarg, &c->retain_days, err);
			break;
		case 'C':
			rc = read_count("keep-checkpoints", optarg, &c->retain_checkpoints, err);
			break;
		case 'q':
			rc = read_bytes("quota", optarg, &c->quota, err);
			break;
		case 'e':
			rc = read_executor(c, optarg, err);
			break;
		case 'w':
			rc = read_count("max-workers", optarg, &workers, err);
			break;
		case 'o':
			file = optarg;
			break;
		case 'l':
			rc = put_text(c->log, sizeof c->log, optarg, "--log", err);
			break;
		case 'L':
			if (sw_log_level_parse(optarg, &c->log_level) != SW_OK)
				rc = sw_err_set(err, SW_INVALID,
						"--log-level %s: it is debug, info, warn or error",
						optarg);
			break;
		case 'v':
			c->version = true;
			break;
		case 'h':
			c->help = true;
			break;
		case ':':
			rc = sw_err_set(err, SW_INVALID, "%s needs a value", argv[optind - 1]);
			break;
		default:
			rc = sw_err_set(err, SW_INVALID, "unknown option %s", argv[optind - 1]);
		}
	}
	if (rc == SW_OK)
		rc = fill_pilots(c, workers, file, err);
	/* Options first: a mistake in one of them is likelier what the user has to mend. */
	if (rc == SW_OK && optind < argc)
		rc = sw_err_set(err, SW_INVALID, "unexpected argument %s", argv[optind]);
	if (rc == SW_OK && !c->help && !c->version)
		rc = fill_defaults(c, err);
	return rc;
}
