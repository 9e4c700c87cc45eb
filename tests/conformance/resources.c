/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each allocation of a call that needs memory fails in turn: the call returns the error, and succeeds
 * as soon as there is memory.
 */
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"

#define MOST 400		/* most allocations of one call */

struct row {
	const char *page;
	DAT_RETURN (*call)(void);
	void (*undo)(void);
};

static struct side s, peer;
static DAT_HANDLE made;
static DAT_EVD_HANDLE async;
static DAT_CONN_QUAL qual;
static DAT_EP_HANDLE joined;
static DAT_SRQ_HANDLE srq;
static DAT_SRQ_ATTR srq_attr = { 8, 1, DAT_SRQ_LW_DEFAULT };

static bool names_what_ran_out(DAT_RETURN ret)
{
	uint32_t subtype = DAT_GET_SUBTYPE(ret);

	return subtype == DAT_RESOURCE_MEMORY || subtype == DAT_RESOURCE_DEVICE ||
	       subtype == DAT_RESOURCE_MEMORY_REGION;
}

/* Lets each allocation of the call fail, until the call makes no more. Returns their number; *seen: the call
 * has failed. */
static unsigned long each_allocation(const struct row *row, bool *seen)
{
	for (unsigned long n = 1; n < MOST; n++) {
		unsigned long asked;
		DAT_RETURN ret;

		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, n);
		ret = row->call();
		asked = th_fail_stop();
		conform_note(row->page, ret);
		if (ret == DAT_SUCCESS) {
			row->undo();
			if (asked < n)
				return asked;
			continue;
		}
		if (!is(ret, DAT_INSUFFICIENT_RESOURCES) ||
		    (conform_options.own && !names_what_ran_out(ret)))
			conform_fail(__FILE__, __LINE__,
				     "after failed allocation %lu the call returned %s (0x%08x)", n,
				     code_name(DAT_GET_TYPE(ret)), ret);
		*seen = true;
	}
	conform_fail(__FILE__, __LINE__, "the call has not succeeded without a failed allocation");
}

static void each_failure(const void *arg)
{
	struct th_usage before, after;
	bool seen = false;
	unsigned long asked;

	two_open(&s, &peer);
	joined = s.ep;
	s.ep = side_ep(&s, NULL);
	if (s.attr.srq_supported)
		must(dat_srq_create(s.ia, s.pz, &srq_attr, &srq));
	each_allocation(arg, &seen);
	th_usage(&before);
	asked = each_allocation(arg, &seen);
	check(TH_WITHIN(SOON_MS, (th_usage(&after), after.fds <= before.fds &&
						    after.threads <= before.threads)));
	check(seen || !asked || !conform_options.own);
	if (!seen)
		skip("nothing that this call allocates can fail");
}

static DAT_RETURN open_ia(void)
{
	async = DAT_HANDLE_NULL;
	return dat_ia_open((DAT_NAME_PTR)(uintptr_t)th_ia(conform_options.ia), 8, &async, &made);
}

static void close_ia(void)
{
	must(dat_ia_close(made, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN make_evd(void)
{
	return dat_evd_create(s.ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &made);
}

static void free_evd(void)
{
	must(dat_evd_free(made));
}

static DAT_RETURN make_cno(void)
{
	DAT_RETURN ret = dat_cno_create(s.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &made);
	static bool began;

	/* If it also fails with all memory available, the provider has no CNOs. */
	if (!began && ret != DAT_SUCCESS && dat_cno_create(s.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &made)) {
		conform_note("dat_cno_create", ret);
		skip("dat_cno_create answers INSUFFICIENT_RESOURCES, which its page allows");
	}
	began = true;
	return ret;
}

static void free_cno(void)
{
	must(dat_cno_free(made));
}

static DAT_RETURN grow_evd(void)
{
	return dat_evd_resize(s.soft_evd, 4000);
}

static void shrink_evd(void)
{
	must(dat_evd_resize(s.soft_evd, 8));
}

static DAT_RETURN make_pz(void)
{
	return dat_pz_create(s.ia, &made);
}

static void free_pz(void)
{
	must(dat_pz_free(made));
}

static DAT_RETURN make_ep(void)
{
	DAT_EP_ATTR attr = side_attr();

	return dat_ep_create(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, &attr, &made);
}

static void free_ep(void)
{
	must(dat_ep_free(made));
}

static DAT_RETURN make_lmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = s.mem };
	DAT_LMR_CONTEXT lc;
	DAT_RMR_CONTEXT rc;
	DAT_VLEN size;
	DAT_VADDR at;

	return dat_lmr_create(s.ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, s.pz, DAT_MEM_PRIV_ALL_FLAG,
			      &made, &lc, &rc, &size, &at);
}

static void free_lmr(void)
{
	must(dat_lmr_free(made));
}

static DAT_RETURN make_rmr(void)
{
	return dat_rmr_create(s.pz, &made);
}

static void free_rmr(void)
{
	must(dat_rmr_free(made));
}

static DAT_RETURN make_psp(void)
{
	return dat_psp_create(s.ia, some_qual(10), s.cr_evd, DAT_PSP_CONSUMER_FLAG, &made);
}

static DAT_RETURN make_any_psp(void)
{
	return dat_psp_create_any(s.ia, &qual, s.cr_evd, DAT_PSP_CONSUMER_FLAG, &made);
}

static void free_psp(void)
{
	must(dat_psp_free(made));
}

static DAT_RETURN make_rsp(void)
{
	return dat_rsp_create(s.ia, some_qual(10), s.ep, s.cr_evd, &made);
}

static void free_rsp(void)
{
	must(dat_rsp_free(made));
}

static DAT_RETURN connect_it(void)
{
	return dat_ep_connect(s.ep, side_address(&s), some_qual(11), SOON, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN dup_connect_it(void)
{
	return dat_ep_dup_connect(s.ep, joined, SOON, 0, NULL, DAT_QOS_BEST_EFFORT);
}

static void disconnect_it(void)
{
	must(dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG));
	/* whichever comes first: the event of this side, or that of the peer's timeout */
	took(s.conn_evd);
	must(dat_ep_reset(s.ep));
}

static DAT_RETURN make_srq(void)
{
	if (!s.attr.srq_supported)
		skip("srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED");
	return dat_srq_create(s.ia, s.pz, &srq_attr, &made);
}

static void free_srq(void)
{
	must(dat_srq_free(made));
}

static DAT_RETURN make_srq_ep(void)
{
	DAT_EP_ATTR attr = side_attr();

	if (!s.attr.srq_supported)
		skip("srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED");
	return dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, srq, &attr,
				      &made);
}

#define ROW(name_, call_, undo_)                                                                   \
	static const struct row name_##_row = { "dat_" #name_, call_, undo_ };                     \
	STATEMENT_ROW(name_##__no_memory, dat_##name_, RETURNS, each_failure, &name_##_row)

ROW(ia_open, open_ia, close_ia);
ROW(evd_create, make_evd, free_evd);
ROW(cno_create, make_cno, free_cno);
ROW(evd_resize, grow_evd, shrink_evd);
ROW(pz_create, make_pz, free_pz);
ROW(ep_create, make_ep, free_ep);
ROW(ep_create_with_srq, make_srq_ep, free_ep);
ROW(lmr_create, make_lmr, free_lmr);
ROW(rmr_create, make_rmr, free_rmr);
ROW(psp_create, make_psp, free_psp);
ROW(psp_create_any, make_any_psp, free_psp);
ROW(rsp_create, make_rsp, free_rsp);
ROW(ep_connect, connect_it, disconnect_it);
ROW(ep_dup_connect, dup_connect_it, disconnect_it);
ROW(srq_create, make_srq, free_srq);

/* ---- Qualifiers ---- */

#define PORTS 64512		/* number of unprivileged ports, which begin at 1024 */
#define OTHERS 512		/* most descriptors of a process apart from the bound ports */

/* Moves this process into a network namespace of its own. */
static bool has_own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int sock, up;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	up = ioctl(sock, SIOCSIFFLAGS, &lo);
	close(sock);
	return !up;
}

struct share {			/* the ports that one process binds */
	unsigned int first, n;
};

static int hold_ports(int sock, void *arg)
{
	const struct share *share = arg;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned int i = 0; i < share->n; i++) {
		struct sockaddr_in any = { .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)(share->first + i)) };
		int held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (held < 0 || bind(held, (struct sockaddr *)&any, sizeof(any)))
			return 1;
	}
	th_send(sock, "", 1);
	th_recv(sock, &limit, 1);
	return 0;
}

/* Binds all ports, in several processes, because one process may not have that many descriptors. */
static void take_all_ports(void)
{
	static struct th_child child[256];
	struct rlimit limit;
	unsigned int each, n = 0;
	char held;

	same(getrlimit(RLIMIT_NOFILE, &limit), 0);
	each = limit.rlim_max > PORTS ? PORTS : (unsigned int)limit.rlim_max - OTHERS;
	for (unsigned int at = 0; at < PORTS && n < 256; at += each, n++) {
		struct share share = { 1024 + at, PORTS - at < each ? PORTS - at : each };

		same(th_spawn(&child[n], hold_ports, &share), 0);
	}
	while (n--)
		same(th_recv(child[n].sock, &held, 1), 0);
}

STATEMENT(psp_create_any__all_qualifiers_taken, dat_psp_create_any, RETURNS)
{
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	if (!has_own_network())
		skip("a test may not have a network of its own here, all of whose ports it can take");
	take_all_ports();
	side_open(&s);
	ret = tried(dat_psp_create_any(s.ia, &qual, s.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	if (is(ret, DAT_SUCCESS))
		skip("qualifiers are no TCP ports: there are more of them than can be taken");
	same(DAT_GET_TYPE(ret), DAT_CONN_QUAL_UNAVAILABLE);
	side_free(&s);
}
