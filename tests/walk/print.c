/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the calls of a mismatch as a C program, which needs only the headers and libdat. */
#include <ctype.h>

#include "tests/walk/walk.h"

/* The text of the functions that the calls use. */
extern const char prelude_begin[], prelude_end[];
__asm__(".section .rodata\n"
	"prelude_begin: .incbin \"tests/walk/prelude.h\"\n"
	"prelude_end: .byte 0\n"
	".previous\n");

static const char *const texts[OPS] = {
#define CALL(name, args, ...) #__VA_ARGS__,
#include "tests/walk/calls.inc"
#undef CALL
};

static void print_argument(FILE *f, char what, int value)
{
	if (what == 'H')
		fprintf(f, value < 0 ? "DAT_HANDLE_NULL" : "handles[%d]", value);
	else if (what == 'W')
		fprintf(f, value < 0 ? "&nowhere" : "&handles[%d]", value);
	else
		fprintf(f, "%d", value);
}

/* Prints a call. Its arguments are H(n), NEW(n), N(n) and S(n). */
static void print_call(FILE *f, const struct call *c)
{
	for (const char *p = texts[c->op]; *p; p++) {
		const char *open = p + (strncmp(p, "NEW(", 4) ? 1 : 3);

		if (strchr("HNS", *p) && *open == '(' && isdigit((unsigned char)open[1]) &&
		    (p == texts[c->op] || !isalnum((unsigned char)p[-1]))) {
			print_argument(f, open[-1], c->a[atoi(open + 1)]);
			p = strchr(open, ')');
		} else {
			fputc(*p, f);
		}
	}
}

static void print_step(FILE *f, int n, const struct call *c)
{
	fprintf(f, "\tcase %d: out.ret = ", n);
	print_call(f, c);
	fprintf(f, "; break;\n");
}

static void print_steps(FILE *f, const struct call *calls, int n)
{
	struct call c;
	int steps = 0;

	fprintf(f, "\nstatic DAT_HANDLE nowhere;\n\nstatic void make_step(int step)\n{\n\tswitch (step) {\n"
		   "\t/* The calls at the start of every walk. */\n");
	for (; world_call(steps, &c); steps++)
		print_step(f, steps, &c);
	fprintf(f, "\t/* The calls of the mismatch. */\n");
	for (int i = 0; i < n; i++)
		print_step(f, steps + i, &calls[i]);
	fprintf(f, "\t}\n}\n\n/* Process, thread, and 1 if the next step does not wait for the call. */\n"
		   "static const int steps[][3] = {\n");
	for (int i = 0; i < steps + n; i++) {
		if (i >= steps)
			c = calls[i - steps];
		else
			world_call(i, &c);
		fprintf(f, "\t{ %d, %d, %d },\n", c.proc, c.thread, c.background || c.op == DIE);
	}
	fprintf(f, "};\n");
}

static const char main_text[] =
	"\nstatic void *serve(void *arg)\n"
	"{\n"
	"\tint thread = *(int *)arg;\n"
	"\tchar text[200];\n\n"
	"\tfor (int i = 0; i < STEPS; i++) {\n"
	"\t\tif (steps[i][0] != proc || steps[i][1] != thread)\n"
	"\t\t\tcontinue;\n"
	"\t\twhile (__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) != i)\n"
	"\t\t\tpoll(NULL, 0, 0);\n"
	"\t\tif (steps[i][2])\n"
	"\t\t\t__atomic_add_fetch(&shared->turn, 1, __ATOMIC_RELEASE);\n"
	"\t\tmemset(&out, 0, sizeof(out));\n"
	"\t\tmake_step(i);\n"
	"\t\tdescribe(&out, text, sizeof(text));\n"
	"\t\tprintf(\"step %d: %s\\n\", i, text);\n"
	"\t\tif (i == STEPS - 1)\n"
	"\t\t\tshared->wrong = WRONG;\n"
	"\t\tif (!steps[i][2])\n"
	"\t\t\t__atomic_add_fetch(&shared->turn, 1, __ATOMIC_RELEASE);\n"
	"\t}\n"
	"\treturn NULL;\n"
	"}\n\n"
	"static void be_process(int number)\n"
	"{\n"
	"\tstatic int threads[THREADS];\n"
	"\tDAT_EVD_HANDLE async = DAT_HANDLE_NULL;\n"
	"\tpthread_t t;\n\n"
	"\tprctl(PR_SET_PDEATHSIG, SIGKILL);\n"
	"\tproc = number;\n"
	"\tif (dat_ia_open(shared->ia, 8, &async, &handles[0]) != DAT_SUCCESS)\n"
	"\t\t_exit(2);\n"
	"\tfor (int i = 0; i < THREADS; i++) {\n"
	"\t\tthreads[i] = i;\n"
	"\t\tpthread_create(&t, NULL, serve, &threads[i]);\n"
	"\t}\n"
	"\twhile (__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) < STEPS)\n"
	"\t\tpoll(NULL, 0, 1);\n"
	"\tfflush(NULL);\n"
	"\t_exit(0);\n"
	"}\n\n"
	"int main(void)\n"
	"{\n"
	"\tshared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, "
	"0);\n"
	"\tshared->qual = 0x5800000000 + ((uint64_t)getpid() << 4);\n"
	"\tsnprintf(shared->ia, sizeof(shared->ia), \"%s\", IA);\n"
	"\tfill_memory(shared);\n"
	"\tfor (int p = 0; p < PROCS; p++) {\n"
	"\t\tif (fork() == 0)\n"
	"\t\t\tbe_process(p);\n"
	"\t}\n"
	"\tfor (int status; wait(&status) > 0;)\n"
	"\t\tshared->wrong |= status && status != SIGKILL;\n"
	"\tprintf(shared->wrong ? \"the mismatch is here\\n\" : \"no mismatch\\n\");\n"
	"\treturn shared->wrong != 0;\n"
	"}\n";

void print_program(const char *path, const struct shared *s, const struct call *calls, int n,
		   const char *why, const char *outcome, const struct model *m, const char *params)
{
	int process, where, value, world = 0;
	struct call c;
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		return;
	}
	while (world_call(world, &c))
		world++;
	fprintf(f,
		"/*\n * %d calls on %s after which dat_walk's model of DAT differs:\n * %s\n"
		" * Build: cc FILE $(pkg-config --cflags --libs dat) -pthread; exit status 1 if it "
		"differs.\n",
		n, s->ia, why);
	if (params)
		fprintf(f,
			" * ia_params in dat.conf: %s\n"
			" * Allocations that failed, and pauses of a process, are not in this program.\n",
			params);
	fprintf(f, " */\n#define _GNU_SOURCE\n");
	fwrite(prelude_begin, 1, (size_t)(prelude_end - prelude_begin), f);
	print_steps(f, calls, n);
	fprintf(f, "\n#define IA \"%s\"\n#define STEPS %d\n", s->ia, world + n);
	if (model_wrong_byte(m, &process, &where, &value))
		fprintf(f, "#define WRONG byte_differs(%d, %d, %d)\n", process, where, value);
	else
		fprintf(f, "/* The result of the last call. */\n#define WRONG (!strcmp(text, \"%s\"))\n",
			outcome);
	fputs(main_text, f);
	fclose(f);
}
