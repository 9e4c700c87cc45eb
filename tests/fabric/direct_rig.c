/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fabric/direct_rig.h"

struct sn_direct_ctl *words;
struct sn_direct us, it;
uint8_t *memory;
int direct_socks[2];

static struct sn_direct_ctl *direction(void)
{
	struct sn_direct_ctl *ctl = aligned_alloc(SN_RING_APART, sizeof(*ctl));

	memset(ctl, 0, sizeof(*ctl));
	return ctl;
}

void direct_open(size_t len)
{
	struct sn_grant grant = { .key = 7, .qpn = 9, .start = DIRECT_START, .len = len };
	struct sn_direct_ctl *back = direction();

	words = direction();
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, direct_socks), 0);
	sn_direct_init(&us, back, words, direct_socks[0]);
	sn_direct_init(&it, words, back, direct_socks[1]);
	us.pid = it.pid = getpid();
	grant.at = (uintptr_t)memory;
	sn_direct_grant(&it, &grant);
}

void direct_forbid(long call)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0, "%s", strerror(errno));
}
