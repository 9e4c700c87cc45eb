/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_walk: random calls of DAT by two processes of two threads, judged by a model. A mismatch is shrunk to
 * few calls, which are printed as a C program. With faults, the results are still those of the model.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <sys/resource.h>

#include "tests/walk/walk.h"

enum { SHRINK_TRIES = 2000, SHRINK_MS = 60000 };

struct walk {
	struct shared *shared;
	struct agents *agents;
	struct model *m;
	struct call waits[PROCS][THREADS]; /* calls that run in the background */
	bool waiting[PROCS][THREADS];
	uint64_t seed;
	bool pauses;
	/* while a walk is shrunk: operation of the call that showed the mismatch */
	uint8_t last_op;
	const char *why, *params;
	char outcome[200];
};

/* The calls of a walk; while the walk is shrunk, the remaining calls. */
struct list {
	struct call c[MAX_CALLS];
	int n;
};

int patience_ms = PATIENCE_MS;
static bool verbose;

static void tell_call(const struct call *c, const char *outcome)
{
	fprintf(stderr, "%d.%d %s", c->proc, c->thread, op_names[c->op]);
	for (int i = 0; op_args[c->op][i]; i++)
		fprintf(stderr, " %c%d", op_args[c->op][i], c->a[i]);
	if (c->pause || c->fail)
		fprintf(stderr, " (pause %d, failing allocation %d)", c->pause, c->fail);
	fprintf(stderr, "%s: %s\n", c->background ? " (background)" : "", outcome);
}

static void walk_end(struct walk *w)
{
	agents_stop(w->agents);
	model_free(w->m);
	/* The processes that have just ended may still occupy their qualifiers, so the next walk uses
	 * others. */
	w->shared->qual += 0x10000;
}

/* Checks the outcome of a call with the model. False: a mismatch. */
static bool take_outcome(struct walk *w, const struct call *c)
{
	struct outcome o = {0};
	int err = agent_receive(w->agents, c, &o, 2 * patience_ms, &w->why);

	if (err < 0) {
		snprintf(w->outcome, sizeof(w->outcome), "%s", w->why);
	} else if (err > 0) {
		snprintf(w->outcome, sizeof(w->outcome), "the call was not made");
	} else {
		describe(&o, w->outcome, sizeof(w->outcome));
		if (!model_judge(w->m, c, &o) || !model_judge_memory(w->m))
			w->why = model_why(w->m);
	}
	if (verbose)
		tell_call(c, w->outcome);
	return !w->why;
}

/* Checks the outcomes of background waits that must have returned. */
static bool collect(struct walk *w, struct call *failed)
{
	for (int p = 0; p < PROCS; p++) {
		for (int t = 0; t < THREADS; t++) {
			if (!w->waiting[p][t] || !model_waiter_due(w->m, &w->waits[p][t]))
				continue;
			w->waiting[p][t] = false;
			*failed = w->waits[p][t];
			if (!take_outcome(w, &w->waits[p][t]))
				return false;
		}
	}
	return true;
}

static void end_process(struct walk *w, int process)
{
	agent_kill(w->agents, process);
	model_die(w->m, process);
	memset(w->waiting[process], 0, sizeof(w->waiting[process]));
}

/* Makes a call. Returns 1: it was made; 0: it was left out; negative: a mismatch, at *failed. */
static int make_step(struct walk *w, struct call *c, struct call *failed)
{
	*failed = *c;
	if (w->waiting[c->proc][c->thread])
		c->thread = (uint8_t)!c->thread;
	if (w->waiting[c->proc][c->thread] || !model_may(w->m, c))
		return 0;
	model_plan(w->m, c);
	if (c->op == DIE) {
		end_process(w, c->proc);
		return collect(w, failed) ? 1 : -1;
	}
	agent_send(w->agents, c);
	if (c->background) {
		model_begin_wait(w->m, c);
		w->waits[c->proc][c->thread] = *c;
		w->waiting[c->proc][c->thread] = true;
		if (verbose)
			tell_call(c, "begun");
		return 1;
	}
	if (!take_outcome(w, c))
		return -1;
	return collect(w, failed) ? 1 : -1;
}

/* Makes the calls that every walk begins with. False: a mismatch in them. */
static bool walk_begin(struct walk *w)
{
	struct call c, failed;

	memset(w->waiting, 0, sizeof(w->waiting));
	fill_memory(w->shared);
	w->why = NULL;
	if (w->shared->faults)
		w->params = faults_begin(w->shared->ia, w->seed);
	w->m = model_new(w->shared);
	w->agents = agents_start(w->shared);
	for (int i = 0; world_call(i, &c); i++) {
		if (make_step(w, &c, &failed) <= 0)
			return false;
	}
	return true;
}

/* Ends the waits, and dequeues the events that are left. */
static int finish(struct walk *w, struct list *made)
{
	struct call failed;

	for (int p = 0; p < PROCS; p++) {
		for (int t = 0; t < THREADS; t++) {
			struct call c = {
				.op = EVD_SET_UNWAITABLE, .proc = (uint8_t)p, .thread = (uint8_t)!t};

			if (!w->waiting[p][t])
				continue;
			c.a[0] = w->waits[p][t].a[0];
			made->c[made->n++] = c;
			if (w->waiting[p][!t] || make_step(w, &made->c[made->n - 1], &failed) < 0)
				return w->waiting[p][!t] ? 0 : -1;
		}
	}
	for (int p = 0; p < PROCS; p++) {
		for (int i = 1; i < SLOTS && made->n < MAX_CALLS; i++) {
			struct call c = {.op = EVD_DEQUEUE, .proc = (uint8_t)p, .a = {i, -1}};

			if (model_kind(w->m, p, i) != EVD || !model_live(w->m, p, i))
				continue;
			for (int left = model_events(w->m, p, i); left >= 0 && made->n < MAX_CALLS;
			     left--) {
				made->c[made->n++] = c;
				if (make_step(w, &made->c[made->n - 1], &failed) < 0)
					return -1;
			}
		}
	}
	return 0;
}

/* With faults, a process dies in every other walk. With pauses, one is stopped for long in one of 32. */
enum { DEATH_EACH = 2, SLOW_EACH = 32, NEVER = MAX_CALLS };

/* Runs a new walk. Negative: a mismatch. */
static int walk_seed(struct walk *w, int steps, struct list *made)
{
	bool faults = w->shared->faults;
	struct chooser ch = {
		.random = w->seed * 0x9E3779B97F4A7C15ULL + 88172645463325252ULL,
		.next = {1, 1},
		.faults = faults,
		.pauses = w->pauses,
		.slow = w->pauses && w->seed % SLOW_EACH == 0,
		.death = faults && w->seed % DEATH_EACH ? steps * 2 / 3 : NEVER,
	};
	struct call failed;
	int err = 0;

	made->n = 0;
	for (int i = 0; i < steps && !err && ch.next[0] < SLOTS - 2 && ch.next[1] < SLOTS - 2; i++) {
		choose(&ch, w->m, &made->c[made->n++]);
		err = make_step(w, &made->c[made->n - 1], &failed) < 0 ? -1 : 0;
	}
	return err ? err : finish(w, made);
}

/* ---- Shrinking ---- */

/* Are these the same mismatch? Their texts are equal, apart from numbers. */
static bool same_why(const char *a, const char *b)
{
	while (*a || *b) {
		if (isxdigit((unsigned char)*a) && isxdigit((unsigned char)*b)) {
			a += strspn(a, "0123456789abcdefABCDEF");
			b += strspn(b, "0123456789abcdefABCDEF");
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return true;
}

/* Do these calls lead to that mismatch, after the same call? If so, *made gets the calls that were made. */
static bool fails(struct walk *w, const struct list *calls, struct list *made, const char *why)
{
	struct call failed;
	int err = 0;

	made->n = 0;
	if (!walk_begin(w))
		err = -1;
	for (int i = 0; i < calls->n && err >= 0; i++) {
		struct call *c = &made->c[made->n];

		*c = calls->c[i];
		err = make_step(w, c, &failed);
		made->n += err != 0;
	}
	if (err >= 0 || !made->n || !w->why || !same_why(w->why, why) ||
	    made->c[made->n - 1].op != w->last_op) {
		walk_end(w);
		return false;
	}
	return true;
}

/* Removes parts of the list, first half of it, then smaller parts, until each call that is left is
 * needed. */
static void shrink(struct walk *w, struct list *calls, const char *why)
{
	static struct list shorter, made;
	int64_t end = now_ms() + SHRINK_MS;
	int size = calls->n / 2, tries = 0;

	while (size && tries < SHRINK_TRIES && now_ms() < end) {
		bool less = false;

		for (int from = calls->n - size; from > -size && now_ms() < end; from -= size) {
			int at = from < 0 ? 0 : from, stop = from + size;

			if (stop > calls->n)
				continue;
			shorter.n = calls->n - (stop - at);
			memcpy(shorter.c, calls->c, sizeof(calls->c[0]) * (size_t)at);
			memcpy(&shorter.c[at], &calls->c[stop],
			       sizeof(calls->c[0]) * (size_t)(calls->n - stop));
			tries++;
			if (!fails(w, &shorter, &made, why))
				continue;
			walk_end(w);
			*calls = made;
			less = true;
		}
		if (!less)
			size /= 2;
		else if (size > calls->n)
			size = calls->n;
	}
}

static void report(struct walk *w, const char *path, struct list *calls, const char *why)
{
	static struct list made;
	int tries = 0;

	w->last_op = calls->c[calls->n - 1].op;
	patience_ms = w->shared->faults || w->pauses ? FAULTS_PATIENCE_MS : SHRINK_PATIENCE_MS;
	shrink(w, calls, why);
	verbose = true;
	while (!fails(w, calls, &made, why)) {
		if (++tries < 8)
			continue;
		printf("the mismatch does not appear again when its %d calls are repeated\n",
		       calls->n);
		return;
	}
	printf("%d calls: %s\n", made.n, w->why);
	print_program(path, w->shared, made.c, made.n, w->why, w->outcome, w->m, w->params);
	printf("program: %s\n", path);
	walk_end(w);
}

/* ---- Options ---- */

static const char *mode_name(const struct walk *w)
{
	return w->shared->faults ? ", faults" : w->pauses ? ", pauses" : "";
}

/* Returns the CPU time of this process, or of those that it started. */
static double cpu_seconds(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void usage(void)
{
	fprintf(stderr,
		"Usage: dat_walk [-i IA] [-s SEED] [-n WALKS] [-c CALLS] [-m MINUTES] [-o FILE] "
		"[-fkpqv]\n"
		"Random calls by two processes of two threads, judged by a model of DAT.\n"
		"  -i IA       adapter; default soft-mlx5-0\n"
		"  -s SEED     seed of the first walk; each further walk has the next number; default 1\n"
		"  -n WALKS    number of walks; default 1\n"
		"  -c CALLS    number of calls in a walk; default 300\n"
		"  -m MINUTES  walks for MINUTES, and ignores -n\n"
		"  -o FILE     file for the program that shows a mismatch; default walk.c\n"
		"  -f, --faults  packets are lost, repeated and reordered; allocations fail; a process\n"
		"              dies; and pauses\n"
		"  -k          keeps a mismatch as it is: no shrinking, no program\n"
		"  -p, --pauses  a process is stopped for a moment now and then, as on a busy machine\n"
		"  -q          waits half a second, not 20 s, for an event that must come\n"
		"  -v          prints each call\n");
	exit(2);
}

/* Returns the number in the text. If there is none, or a smaller one, prints the usage and exits. */
static long number(const char *text, long least)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < least)
		usage();
	return n;
}

struct options {
	const char *ia, *path;
	long seed, walks, calls, minutes;
	bool keep, faults;
};

static void parse_options(int argc, char **argv, struct options *o, struct walk *w)
{
	static const struct option names[] = {
		{"faults", no_argument, NULL, 'f'}, {"pauses", no_argument, NULL, 'p'}, {0}};
	int opt;

	while ((opt = getopt_long(argc, argv, "i:s:n:c:m:o:fkpqv", names, NULL)) != -1) {
		switch (opt) {
		case 'i': o->ia = optarg; break;
		case 's': o->seed = number(optarg, 0); break;
		case 'n': o->walks = number(optarg, 1); break;
		case 'c': o->calls = number(optarg, 1); break;
		case 'm': o->minutes = number(optarg, 1); break;
		case 'o': o->path = optarg; break;
		case 'f': o->faults = w->pauses = true; break;
		case 'k': o->keep = true; break;
		case 'p': w->pauses = true; break;
		case 'q': patience_ms = SHRINK_PATIENCE_MS; break;
		case 'v': verbose = true; break;
		default: usage();
		}
	}
	if (o->calls > MAX_CALLS / 2 || optind != argc)
		usage();
}

static bool share_memory(struct walk *w, const struct options *o)
{
	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->shared == MAP_FAILED) {
		perror("dat_walk: mmap");
		return false;
	}
	snprintf(w->shared->ia, sizeof(w->shared->ia), "%s", o->ia);
	w->shared->faults = o->faults;
	w->shared->qual = 0x5700000000 + ((uint64_t)getpid() << 4);
	return true;
}

/* Runs the walk of one seed, and reports a mismatch. Returns true if there was none. */
static bool one_walk(struct walk *w, const struct options *o, long seed, struct list *made)
{
	char why[400] = "";
	int err;

	made->n = 0;
	w->seed = (uint64_t)seed;
	/* Another program may use a qualifier, so the next ones are tried. */
	while (!walk_begin(w) && !w->why)
		walk_end(w);
	err = w->why ? -1 : walk_seed(w, (int)o->calls, made);
	if (err) {
		printf("%s%s, seed %ld: mismatch after %d calls: %s\n", o->ia, mode_name(w), seed, made->n,
		       w->why);
		printf("outcome: %s\n", w->outcome);
		fflush(stdout);
		snprintf(why, sizeof(why), "%s", w->why);
	}
	walk_end(w);
	if (err && !o->keep)
		report(w, o->path, made, why);
	return !err;
}

int main(int argc, char **argv)
{
	struct options o = {.ia = "soft-mlx5-0", .path = "walk.c", .seed = 1, .walks = 1, .calls = 300};
	static struct list made;
	struct walk w = {0};
	long total = 0, i;
	int64_t end;

	parse_options(argc, argv, &o, &w);
	signal(SIGPIPE, SIG_IGN);
	if (!share_memory(&w, &o))
		return 2;
	end = now_ms() + o.minutes * 60000;
	for (i = 0; o.minutes ? now_ms() < end : i < o.walks; i++) {
		if (!one_walk(&w, &o, o.seed + i, &made))
			return 1;
		total += made.n;
	}
	printf("%s%s, seeds %ld to %ld: %ld calls, %.0f s of CPU time, no mismatch\n", o.ia,
	       mode_name(&w), o.seed, o.seed + i - 1, total,
	       cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN));
	return 0;
}
