/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_integrity: transfers of many sizes, alignments and lists of segments between two endpoints of this
 * process, with each byte and guard bytes checked, and accesses that have to be refused. It uses only
 * <dat/udat.h>.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "softnic/argp/program.h"
#include "perf/dat_integrity/integrity.h"

static const char doc[] =
	"Moves data of many sizes, alignments and numbers of segments by messages, RDMA writes, RDMA reads "
	"and windows between two endpoints of this process, and checks each byte and the bytes around. "
	"Then it tries wrong contexts, bounds and rights, which the adapter has to refuse.\v"
	"The exit status is 0 only if all data is right and all refusals are as expected.";

enum { OPT_JSON = 256, OPT_PLANT };

static const struct argp_option options[] = {
	{ "ia", 'i', "NAME", 0, "Interface Adapter, a name of dat.conf (soft-mlx5-0)", 0 },
	{ "test", 't', "KIND", 0, "Only data, or only refusals", 0 },
	{ "rounds", 'n', "N", 0, "Repeat all transfers with other data and segments (1)", 0 },
	{ "quick", 'q', NULL, 0, "A quarter of the alignments and numbers of segments", 0 },
	{ "seed", 'S', "N", 0, "Seed of data and segments (random)", 0 },
	{ "json", OPT_JSON, "FILE", 0, "Write the results as JSON", 0 },
	{ "plant", OPT_PLANT, "WHAT", 0, "Change one byte of the first transfer: of its data, or a guard "
	  "byte, to see that this program reports it", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report *r = state->input;

	switch (key) {
	case 'i': r->ia = arg; break;
	case 'q': r->quick = true; break;
	case 'S': r->seed = program_number(state, "--seed", arg, 0, UINT64_MAX); break;
	/* The JSON has it, and integers of JSON are signed. */
	case 'n': r->rounds = program_number(state, "--rounds", arg, 1, INT64_MAX); break;
	case 't':
		r->data = !strcmp(arg, "data");
		r->refusals = !strcmp(arg, "refusals");
		if (!r->data && !r->refusals)
			argp_error(state, "'%s' is neither data nor refusals", arg);
		break;
	case OPT_JSON: r->json = arg; break;
	case OPT_PLANT:
		r->plant = !strcmp(arg, "guard") ? PLANT_GUARD : PLANT_DATA;
		if (r->plant == PLANT_DATA && strcmp(arg, "data") != 0)
			argp_error(state, "'%s' is neither data nor guard", arg);
		break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected '%s'", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void print_summary(const struct report *r, const struct world *w)
{
	unsigned int good = 0;

	for (unsigned int i = 0; i < OPS && r->data; i++) {
		if (i == OP_WINDOW && !w->windows)
			printf("window: the adapter has no RMRs\n");
		else
			printf("%-7s %8llu transfers, %12llu bytes, %llu failed\n", op_names[i],
			       (unsigned long long)r->op[i].transfers, (unsigned long long)r->op[i].bytes,
			       (unsigned long long)r->op[i].failed);
	}
	for (unsigned int i = 0; i < r->n_refusals; i++)
		good += r->refusal[i].good;
	if (r->refusals)
		printf("refused %8u of %u accesses\n", good, r->n_refusals);
}

int main(int argc, char **argv)
{
	static const char *const proved[] = { "", "every byte verified", "every wrong access refused",
					      "every byte verified, every wrong access refused" };
	static const struct argp argp = { options, parse, NULL, doc, program_options, NULL, NULL };
	static struct report r = { .ia = "soft-mlx5-0", .rounds = 1, .data = true, .refusals = true };
	static struct world w;
	bool opened;
	int err;

	if (getrandom(&r.seed, sizeof(r.seed), 0) != sizeof(r.seed))
		r.seed = (uint64_t)getpid();
	argp_parse(&argp, argc, argv, 0, NULL, &r);
	if (!program_can_write(r.json))
		return EXIT_FAILURE;
	printf("%s, seed %llu\n", r.ia, (unsigned long long)r.seed);
	fflush(stdout);
	opened = world_open(&w, r.ia) == 0;
	err = opened ? 0 : -1;
	if (!err && r.data)
		err = transfer_all(&w, &r);
	if (!err && r.refusals)
		err = refuse_all(&w, &r);
	if (err)
		report_failure(&r, "%s", opened ? "the endpoints cannot be connected again" :
			       "the endpoints cannot be connected");
	if (opened)
		print_summary(&r, &w);
	if (r.json && report_json(&r, &w))
		err = -1;
	world_close(&w);
	err = err || r.failures;
	printf("%s\n", err ? "FAILED" : proved[r.data + 2 * r.refusals]);
	return err ? 1 : 0;
}
