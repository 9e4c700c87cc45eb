/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/programs.h"

#ifdef DAP_DAT20
#define LEVEL "2.0"
#define PROVIDER "libdapl-direct2.so"
#else
#define LEVEL "1.2"
#define PROVIDER "libdapl-direct.so"
#endif

void program_must(bool cond, const char *what, const char *file, int line)
{
	if (cond)
		return;
	fprintf(stderr, "%s:%d: this should be true: %s\n", file, line, what);
	abort();
}

const char *program_ia(void)
{
	const char *name = getenv("DAPL_TEST_IA");

	return name ? name : "soft-mlx5-0";
}

const char *program_relaxed_ia(void)
{
	return strstr(program_ia(), "efa") ? "relaxed" : NULL;
}

static void print_line(int fd, const char *ia, const char *instance, const char *dir, const char *params)
{
	dprintf(fd, "%s u%s %s default %s/lib/%s dapl_direct.%s \"strict=1%s\" \"\"\n", ia, LEVEL, instance,
		dir, PROVIDER, LEVEL, params);
}

static void print_lines(int fd, const char *dir)
{
	char params[128];

	print_line(fd, NO_LIBRARY, "nonthreadsafe", "/nowhere", "");
	print_line(fd, NO_ADAPTER, "nonthreadsafe", dir, "");
	print_line(fd, program_ia(), "nonthreadsafe", dir, "");
	print_line(fd, program_ia(), "threadsafe", dir, "");
	snprintf(params, sizeof(params), ";device=%s;write_order=relaxed", program_ia());
	if (program_relaxed_ia())
		print_line(fd, program_relaxed_ia(), "nonthreadsafe", dir, params);
}

/* libdat2 has read its file before main, so the process restarts with a dat.conf of its own. */
__attribute__((constructor)) static void use_own_file(int argc, char **argv)
{
	const char *dir = getenv("DAPL_BUILD_DIR"), *of = getenv("PROGRAMS_PID");
	char text[64];
	int fd;

	(void)argc;
	if (of && atoi(of) == getpid())
		return;
	fd = memfd_create("dat.conf", 0);
	print_lines(fd, dir ? dir : "build");
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", text, 1);
	snprintf(text, sizeof(text), "%d", getpid());
	setenv("PROGRAMS_PID", text, 1);
	execv("/proc/self/exe", argv);
}

void program_open(struct program *p, size_t bytes, const DAT_EP_ATTR *attr)
{
	program_open_ia(p, program_ia(), bytes, attr);
}

void program_open_ia(struct program *p, const char *ia, size_t bytes, const DAT_EP_ATTR *attr)
{
	*p = (struct program){ .c.idle_ns = SOON_MS * 1000000ull };
	must(!consumer_open(&p->c, ia));
	must(!consumer_make_ep(&p->c, attr));
	must(!region_create(&p->c, &p->mem, bytes, DAT_MEM_PRIV_ALL_FLAG));
}

void program_close(struct program *p)
{
	consumer_close(&p->c);
	free(p->mem.buf);
}

DAT_EP_ATTR program_attr(struct program *p)
{
	DAT_EP_PARAM param;

	ok(dat_ep_query(p->c.ep, DAT_EP_FIELD_ALL, &param));
	return param.ep_attr;
}

struct card program_card(const struct program *p, uint64_t qual)
{
	return (struct card){ qual, (uintptr_t)p->mem.buf, p->mem.rmr_context };
}

void program_dial(struct program *p, uint64_t qual)
{
	must(!consumer_connect(&p->c, "127.0.0.1", qual, SOON_MS * 1000u, NULL, 0, NULL, NULL));
}

static void accept_request(struct program *p)
{
	DAT_CR_HANDLE cr;

	must(!consumer_wait_request(&p->c, &cr, SOON_MS * 1000000ull));
	ok(dat_cr_accept(cr, p->c.ep, 0, NULL));
}

void program_accept(struct program *p)
{
	accept_request(p);
	must(!consumer_wait_established(&p->c, NULL, NULL));
}

void program_join(struct program *from, struct program *to, uint64_t qual)
{
	must(!consumer_request(&from->c, "127.0.0.1", qual, SOON_MS * 1000u, NULL, 0));
	program_accept(to);
	must(!consumer_wait_established(&from->c, NULL, NULL));
}

DAT_LMR_TRIPLET piece_of(const struct program *p, size_t at, uint32_t len)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (uintptr_t)p->mem.buf + at,
				  .segment_length = len,
				  .lmr_context = p->mem.lmr_context };
}

DAT_RMR_TRIPLET place_at(const struct card *c, size_t at, uint32_t len)
{
	return (DAT_RMR_TRIPLET){ .REMOTE_ADDRESS = c->address + at,
				  .segment_length = len, .rmr_context = c->context };
}

DAT_DTO_COOKIE cookie_of(uint64_t n)
{
	return (DAT_DTO_COOKIE){ .as_64 = n };
}

void program_completes(struct program *p, DAT_EVD_HANDLE evd, uint64_t cookie)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev;

	must(!consumer_completion(&p->c, evd, &ev));
	must(ev.event_number == DAT_DTO_COMPLETION_EVENT);
	d = &ev.event_data.dto_completion_event_data;
	must(d->status == DAT_DTO_SUCCESS);
	must(d->user_cookie.as_64 == cookie);
}
