/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/rig.h"

/* ---- Results ---- */

static bool second;		/* true in the second process of a test */

static void failed(const char *what, const char *why, const char *file, int line)
{
	if (!second)
		cr_assert_fail("%s:%d: %s: %s", file, line, what, why);
	fprintf(stderr, "second process: %s:%d: %s: %s\n", file, line, what, why);
	_exit(2);
}

static const char *words(DAT_RETURN ret)
{
	const char *major = "?", *minor = "";
	static _Thread_local char text[160];

	if (ret != DAT_SUCCESS)
		dat_strerror(ret, &major, &minor);
	else
		major = "DAT_SUCCESS";
	snprintf(text, sizeof(text), "returned 0x%08x %s %s", ret, major, minor);
	return text;
}

void rig_expect(DAT_RETURN got, DAT_RETURN type, const char *what, const char *file, int line)
{
	if (DAT_GET_TYPE(got) != type)
		failed(what, words(got), file, line);
}

void rig_expect_code(DAT_RETURN got, DAT_RETURN code, const char *what, const char *file, int line)
{
	if (got != code)
		failed(what, words(got), file, line);
}

void rig_check(bool ok, const char *what, const char *file, int line)
{
	if (!ok)
		failed(what, "is false, should be true", file, line);
}

void rig_same(uint64_t got, uint64_t want, const char *what, const char *file, int line)
{
	char text[64];

	if (got == want)
		return;
	snprintf(text, sizeof(text), "it is %#llx instead of %#llx", (unsigned long long)got,
		 (unsigned long long)want);
	failed(what, text, file, line);
}

/* ---- Ends ---- */

static bool configured;

static const char *rig_ia_name(void)
{
	const char *name = getenv("DAPL_TEST_IA");

	return th_ia(name ? name : "soft-mlx5-0");
}

bool rig_model(void)
{
	return !strncmp(rig_ia_name(), "soft-mlx5-", 10);
}

static void configure(void)
{
	if (!configured)
		rig_conf("strict=1");
}

/* Opens the IA for a moment, as the test will, to query its provider. */
static void provider(DAT_PROVIDER_ATTR *attr, const char *name, char *value, size_t len)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	configure();
	must(rig_ia_open(&async, &ia));
	must(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, attr));
	value[0] = '\0';
	for (int i = 0; name && i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			snprintf(value, len, "%s", attr->provider_specific_attr[i].value);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Returns an attribute of the provider, or "". */
static const char *rig_attribute(const char *name)
{
	static char value[256];
	DAT_PROVIDER_ATTR attr;

	provider(&attr, name, value, sizeof(value));
	return value;
}

void rig_skip_if(const char *name, const char *value)
{
	if (!strcmp(rig_attribute(name), value))
		cr_skip_test("the adapter says %s = %s", name, value);
}

void rig_needs_srq(void)
{
	DAT_PROVIDER_ATTR attr;
	char value[64];

	provider(&attr, NULL, value, sizeof(value));
	if (!attr.srq_supported)
		cr_skip_test("the adapter says srq_supported = FALSE");
}

#define NEAR "at the peer's adapter"

bool rig_sends_end_near(void)
{
	return !strcmp(rig_attribute("send_completion"), NEAR);
}

void rig_needs_end_to_end(void)
{
	rig_skip_if("send_completion", NEAR);
}

void rig_needs_fresh_contexts(void)
{
	rig_skip_if("efa_rmr_bind", "reregister");
}

static bool knows(const char *words, const char *word, size_t len)
{
	for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == len && !strncmp(at, word, len))
			return true;
	return false;
}

/* Removes parameters of a ConnectX if the adapter under test is an EFA, which refuses them. */
static void keys_for(const char *ia, const char *params, char *out, size_t size)
{
	static const char connectx[] = "rnr_retry retry_cnt ack_timeout min_rnr inline bf_eps "
				       "scatter_cqe isa memlock";
	size_t n = 0;

	out[0] = '\0';
	for (const char *at = params; *at; at += strcspn(at, ";"), at += strspn(at, ";")) {
		if (!strstr(ia, "efa") || !knows(connectx, at, strcspn(at, "=;")))
			n += (size_t)snprintf(out + n, size - n, "%.*s;", (int)strcspn(at, ";"), at);
		check(n < size);
	}
}

static void conf_lines(int fd, const char *ia, const char *params)
{
	static const char *const kinds[] = { "nonthreadsafe", "threadsafe" };
	const char *build = getenv("DAPL_BUILD_DIR"), *more = getenv("RIG_PARAMS");
	char all[512], kept[512];

	check(build);
	check(snprintf(all, sizeof(all), "%s;%s", params, more ? more : "") < (int)sizeof(all));
	keys_for(ia, all, kept, sizeof(kept));
	for (int i = 0; i < 2; i++)
		dprintf(fd, "%s u1.2 %s default %s/lib/libdapl-direct.so dapl_direct.1.2 "
			"\"%s\" \"\"\n", ia, kinds[i], build, kept);
}

static char faults[256];

static int tell_faults(int sock, void *arg)
{
	(void)arg;
	snprintf(faults, sizeof(faults), "%s", rig_attribute("faults"));
	return th_send(sock, faults, sizeof(faults));
}

/* Runs in another process, because the registry reads the configuration only once. Children inherit
 * the result. */
static void ask_for_faults(void)
{
	static bool asked;
	struct th_child child;

	if (asked)
		return;
	asked = true;
	same(th_spawn(&child, tell_faults, NULL), 0);
	same(th_recv(child.sock, faults, sizeof(faults)), 0);
	same(th_join(&child, SOON_MS), 0);
}

static void needs_fault(const char *word)
{
	ask_for_faults();
	if (!knows(faults, word, strcspn(word, "=,;:")))
		cr_skip_test("the adapter says faults = %s", faults);
}

/* Skips the test unless the device can inject faults. Only software devices can; each has its own
 * words. */
static void needs_faults(const char *params)
{
	const char *fault = strstr(params, "fault="), *lock = strstr(params, "memlock=");

	if (lock)
		needs_fault(lock);
	for (const char *at = fault ? fault + strlen("fault=") : NULL; at;) {
		needs_fault(at);
		at += strcspn(at, ",;");
		at = *at == ',' ? at + 1 : NULL;
	}
}

void rig_conf(const char *params)
{
	int fd = memfd_create("dat.conf", 0);
	char path[64];

	needs_faults(params);
	check(fd >= 0);
	conf_lines(fd, rig_ia_name(), params);
	for (const char *ia = getenv("DAPL_TEST_CHILD_IA"); ia && *ia; ia += strspn(ia, ",")) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(ia, ","), ia);
		ia += strcspn(ia, ",");
		conf_lines(fd, name, params);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
	configured = true;
}

DAT_RETURN rig_ia_open(DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	const char *threadsafe = getenv("RIG_THREADSAFE");

	return dat_ia_openv((char *)rig_ia_name(), 8, async, ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			    threadsafe && *threadsafe == '1' ? DAT_TRUE : DAT_FALSE);
}

DAT_EP_ATTR rig_attr(void)
{
	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = RIG_DTOS, .max_request_dtos = RIG_DTOS,
		.max_recv_iov = 4, .max_request_iov = 4,
		.max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.max_rdma_read_iov = 4, .max_rdma_write_iov = 4,
	};
}

static DAT_EVD_HANDLE evd(struct end *e, DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE h = NULL;

	must(dat_evd_create(e->ia, qlen, DAT_HANDLE_NULL, flags, &h));
	return h;
}

DAT_EP_HANDLE end_ep(struct end *e, const DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR usual = rig_attr();
	DAT_EP_HANDLE ep = NULL;

	must(dat_ep_create(e->ia, e->pz, e->recv_evd, e->req_evd, e->conn_evd,
			   attr ? attr : &usual, &ep));
	return ep;
}

DAT_LMR_HANDLE end_lmr(struct end *e, void *mem, size_t len, DAT_MEM_PRIV_FLAGS priv,
		       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	DAT_LMR_HANDLE lmr = NULL;

	must(dat_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, len, e->pz, priv, &lmr,
			    lmr_context, rmr_context, NULL, NULL));
	return lmr;
}

void end_open(struct end *e, size_t len, const DAT_EP_ATTR *attr)
{
	configure();
	*e = (struct end){ .len = len };
	e->mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(e->mem != MAP_FAILED);
	must(rig_ia_open(&e->async, &e->ia));
	must(dat_pz_create(e->ia, &e->pz));
	e->cr_evd = evd(e, 64, DAT_EVD_CR_FLAG);
	e->conn_evd = evd(e, 64, DAT_EVD_CONNECTION_FLAG);
	e->recv_evd = evd(e, 256, DAT_EVD_DTO_FLAG);
	e->req_evd = evd(e, 256, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	e->ep = end_ep(e, attr);
	e->lmr = end_lmr(e, e->mem, len, DAT_MEM_PRIV_ALL_FLAG, &e->lmr_context, &e->rmr_context);
}

static void forget(struct end *e)
{
	munmap(e->mem, e->len);
	e->ia = NULL;
	e->mem = NULL;
}

void end_close(struct end *e)
{
	if (!e->ia)
		return;
	must(dat_ia_close(e->ia, DAT_CLOSE_ABRUPT_FLAG));
	forget(e);
}

void end_free(struct end *e)
{
	if (e->psp)
		must(dat_psp_free(e->psp));
	must(dat_ep_free(e->ep));
	must(dat_lmr_free(e->lmr));
	must(dat_evd_free(e->req_evd));
	must(dat_evd_free(e->recv_evd));
	must(dat_evd_free(e->conn_evd));
	must(dat_evd_free(e->cr_evd));
	must(dat_pz_free(e->pz));
	must(dat_ia_close(e->ia, DAT_CLOSE_GRACEFUL_FLAG));
	forget(e);
}

void end_listen(struct end *e)
{
	if (!e->psp)
		must(dat_psp_create_any(e->ia, &e->qual, e->cr_evd, DAT_PSP_CONSUMER_FLAG, &e->psp));
}

DAT_RETURN end_dial(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE end_request(struct end *e)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	must(dat_evd_wait(e->cr_evd, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

void end_join(struct end *a, DAT_EP_HANDLE ea, struct end *b, DAT_EP_HANDLE eb)
{
	end_listen(b);
	must(end_dial(ea, b->qual, SOON_MS * 1000u));
	must(dat_cr_accept(end_request(b), eb, 0, NULL));
	took_conn(b, eb, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(a, ea, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void pair_open(struct end *a, struct end *b)
{
	end_open(a, RIG_MEM, NULL);
	end_open(b, RIG_MEM, NULL);
	end_join(a, a->ep, b, b->ep);
}

void pair_close(struct end *a, struct end *b)
{
	end_close(a);
	end_close(b);
}

void pair_again(struct end *a, struct end *b)
{
	same(end_state(a->ep), DAT_EP_STATE_DISCONNECTED);
	same(end_state(b->ep), DAT_EP_STATE_DISCONNECTED);
	must(dat_ep_reset(a->ep));
	must(dat_ep_reset(b->ep));
	end_join(a, a->ep, b, b->ep);
}

DAT_EP_STATE end_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	must(dat_ep_get_status(ep, &state, NULL, NULL));
	return state;
}

/* ---- The second process ---- */

void rig_second(void)
{
	second = true;
}

struct start {
	int (*fn)(int sock, void *arg);
	void *arg;
};

static int peer_main(int sock, void *arg)
{
	const struct start *start = arg;

	rig_second();
	return start->fn(sock, start->arg);
}

void peer_spawn(struct th_child *child, int (*fn)(int sock, void *arg), void *arg)
{
	struct start start = { fn, arg };

	configure();
	same(th_spawn(child, peer_main, &start), 0);
}

void peer_done(struct th_child *child)
{
	same(th_join(child, SOON_MS), 0);
}

void usage_is_back(const struct th_usage *before, unsigned int maps_slack)
{
	struct th_usage now;

	/* After a join, /proc lists the thread for a short time. */
	check(TH_WITHIN(SOON_MS, (th_usage(&now), now.threads <= before->threads)));
	/* A device that outlives the adapter closes its link to a dead peer by itself. */
	check(TH_WITHIN(SOON_MS, (th_usage(&now), now.fds <= before->fds)));
	same(now.fds, before->fds);
	/* libibverbs loads the libraries of all adapters after the first failure. */
	if (!rig_model())
		maps_slack += 200;
	/* The address sanitizer maps memory of its own, and checks for leaks itself. */
	check(TH_ASAN || now.maps <= before->maps + maps_slack);
}
