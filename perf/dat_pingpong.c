/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_pingpong: two processes move verified data by send/recv, RDMA write, RDMA read and through a
 * memory window. At the end they check that the revoked window admits no write. It uses only
 * <dat/udat.h>.
 */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softnic/argp/program.h"
#include "perf/dat_pingpong/pingpong.h"

static const char doc[] =
	"Moves verified data between two processes: send/recv, RDMA write, RDMA read, bind, a "
	"write through the bound window, unbind, and a write that must then fail.\v"
	"On two terminals: `dat_pingpong -s` and `dat_pingpong HOST`. With neither -s nor HOST both "
	"sides run here, as two processes. The exit status is 0 only when all of it held.";

static const struct argp_option options[] = {
	{ "server", 's', NULL, 0, "Serve one client, then exit", 0 },
	{ "ia", 'i', "NAME", 0, "Interface Adapter, a name of dat.conf (soft-mlx5-0)", 0 },
	{ "port", 'p', "QUAL", 0, "Connection qualifier (45250; without -s and HOST: by process id)", 0 },
	{ "rounds", 'n', "N", 0, "Rounds of all operations (1000); 0: until killed", 0 },
	{ "length", 'l', "BYTES", 0, "Bytes of each transfer, 1 to 1048576 (4096)", 0 },
	{ "seed", 'S', "N", 0, "Seed of the data (random)", 0 },
	{ "events", 'e', NULL, 0, "Sleep in dat_evd_wait instead of polling", 0 },
	{ "quiet", 'q', NULL, 0, "Do not print the attributes", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct pp_options *o = state->input;

	switch (key) {
	case 's': o->server = true; break;
	case 'i': o->ia = arg; break;
	case 'p':
		o->port = program_number(state, "--port", arg, 0, UINT64_MAX);
		o->port_given = true;
		break;
	case 'n': o->rounds = program_number(state, "--rounds", arg, 0, UINT64_MAX); break;
	case 'l': o->len = (uint32_t)program_number(state, "--length", arg, 1, PP_MAX_DATA); break;
	case 'S': o->seed = program_number(state, "--seed", arg, 0, UINT64_MAX); break;
	case 'e': o->blocking = true; break;
	case 'q': o->quiet = true; break;
	case ARGP_KEY_ARG:
		if (o->host)
			argp_error(state, "one HOST is enough");
		o->host = arg;
		break;
	case ARGP_KEY_END:
		if (o->server && o->host)
			argp_error(state, "-s is the server; only a client takes a HOST");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Runs both sides on this machine, each in its own process; the child is the server. */
static int both_sides(struct pp_options *o)
{
	struct pp_options serve;
	int status, rc;
	pid_t pid;

	/* Several pairs may run on this machine at the same time. */
	if (!o->port_given)
		o->port = 40960 + (uint64_t)getpid() % 8192;
	serve = *o;
	serve.quiet = true;
	serve.both = true;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(pp_server(&serve));
	}
	rc = pp_client(o);
	if (rc)
		kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "server: FAILED\n");
		rc = 1;
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "[HOST]", doc, program_options, NULL, NULL };
	struct pp_options o = { .ia = "soft-mlx5-0", .port = 45250, .rounds = 1000, .len = 4096 };

	if (getrandom(&o.seed, sizeof(o.seed), 0) != sizeof(o.seed))
		o.seed = (uint64_t)getpid();
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.server)
		return pp_server(&o);
	return o.host ? pp_client(&o) : both_sides(&o);
}
