/* SPDX-License-Identifier: BSD-2-Clause */
/* Which static probes a call passes: it runs one instruction at a time, and a probe is an address. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/api/conn.h"

#define PROBES 1024

static struct probe {
	uintptr_t at;
	char name[16];
} probes[PROBES];
static size_t nprobes;
static char passed[200];		/* names in their order, each with a space before it */

TestSuite(probe, .init = sides_open, .fini = sides_close, .timeout = 300);

/* A note of type 3 of "stapsdt": three addresses, then provider, name and arguments. */
static void add_note(const ElfW(Nhdr) *note, uintptr_t base)
{
	const char *owner = (const char *)(note + 1);
	const char *desc = owner + ((note->n_namesz + 3) & ~3u), *provider = desc + 3 * sizeof(uintptr_t);
	struct probe *p = &probes[nprobes];
	uintptr_t pc;

	if (note->n_type != 3 || strcmp(owner, "stapsdt") || strcmp(provider, "dapl_direct"))
		return;
	cr_assert_lt(nprobes++, PROBES);
	memcpy(&pc, desc, sizeof(pc));
	p->at = base + pc;
	snprintf(p->name, sizeof(p->name), "%s", provider + strlen(provider) + 1);
}

static void add_notes(const char *file, uintptr_t base)
{
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)file;
	const ElfW(Shdr) *section = (const ElfW(Shdr) *)(file + head->e_shoff);
	const char *names = file + section[head->e_shstrndx].sh_offset;

	for (int i = 0; i < head->e_shnum; i++) {
		const char *at = file + section[i].sh_offset, *end = at + section[i].sh_size;

		if (strcmp(names + section[i].sh_name, ".note.stapsdt"))
			continue;
		while (at < end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;

			add_note(note, base);
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
}

static int read_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct stat st;
	char *file;
	int fd;

	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "/libdapl-direct.so"))
		return 0;
	fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(fstat(fd, &st), 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert_neq((void *)file, MAP_FAILED);
	add_notes(file, info->dlpi_addr);
	munmap(file, (size_t)st.st_size);
	close(fd);
	return 1;
}

static void at_instruction(const uint8_t *insn)
{
	for (size_t i = 0; i < nprobes; i++) {
		size_t len = strlen(passed);

		if (probes[i].at == (uintptr_t)insn)
			snprintf(passed + len, sizeof(passed) - len, " %s", probes[i].name);
	}
}

static const char *step(void (*call)(void))
{
	if (TH_ASAN)	/* a call and the device in it have too many instructions */
		cr_skip_test("not under a sanitizer");
	if (!nprobes)
		dl_iterate_phdr(read_library, NULL);
	if (!nprobes)
		cr_skip_test("the library has no static probes");
	*passed = '\0';
	if (!th_step(call, at_instruction))
		cr_skip_test("this machine does not run a call by single instructions");
	return passed;
}

static DAT_RETURN ret;
static DAT_EVENT event;
static DAT_CR_HANDLE request;

static void post_recv(void) { ret = side_recv(&b, b.ep, 1); }
static void post_send(void) { ret = side_send(&a, a.ep, 2); }
static void dequeue_a(void) { ret = dat_evd_dequeue(a.dto_evd, &event); }
static void dequeue_b(void) { ret = dat_evd_dequeue(b.dto_evd, &event); }
static void connect_a(void) { ret = side_try_connect(&a, a.ep, DAT_TIMEOUT_INFINITE); }
static void accept_b(void) { ret = dat_cr_accept(request, b.ep, 0, NULL); }

static bool arrives(void (*dequeue)(void))
{
	step(dequeue);
	return ret == DAT_SUCCESS;
}

Test(probe, message__passes_post_and_dequeue)
{
	side_pair(&a, &b);
	cr_expect_str_eq(step(post_recv), " post");
	assert_ok(ret);
	cr_expect_str_eq(step(post_send), " post");
	assert_ok(ret);
	cr_assert(TH_WITHIN(20000, arrives(dequeue_a)));
	cr_expect_str_eq(passed, " dequeue");
	cr_assert(TH_WITHIN(20000, arrives(dequeue_b)));
	cr_expect_str_eq(passed, " dequeue");
	cr_expect_str_eq(step(dequeue_b), "", "an empty dequeue passes%s", passed);
}

Test(probe, connection__passes_connect_and_accept)
{
	side_listen(&b);
	cr_expect_str_eq(step(connect_a), " connect");
	assert_ok(ret);
	request = side_request(&b);
	/* Through rdma-core a command of the adapter blocks all signals, also the one of a step. */
	api_skip_if(b.ia, "access", "devx");
	api_skip_if(b.ia, "access", "vfio");
	cr_expect_str_eq(step(accept_b), " accept");
	assert_ok(ret);
}

Test(probe, flushed_receive__passes_error_before_its_dequeue)
{
	side_pair(&a, &b);
	post_recv();
	assert_ok(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	cr_assert(TH_WITHIN(20000, arrives(dequeue_b)));
	cr_expect_str_eq(passed, " error dequeue");
}

static DAT_RMR_HANDLE rmr;

static void bind_rmr(void)
{
	const DAT_LMR_TRIPLET range = { .lmr_context = a.context, .segment_length = 64,
					.virtual_address = (uintptr_t)a.mem };
	DAT_RMR_CONTEXT context;

	ret = dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_READ_FLAG, a.ep,
			   (DAT_RMR_COOKIE){ .as_64 = 3 }, DAT_COMPLETION_SUPPRESS_FLAG, &context);
}

Test(probe, rmr_bind__passes_bind)
{
	side_pair(&a, &b);
	assert_ok(dat_rmr_create(a.pz, &rmr));
	for (int i = 0; i < 3; i++) {
		cr_expect_str_eq(step(bind_rmr), " bind");
		assert_ok(ret);
	}
}
