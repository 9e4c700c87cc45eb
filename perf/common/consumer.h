/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a DAT consumer that all programs in perf/ share: an IA with its PZ and EVDs, one
 * endpoint, registered memory, and waits that notice a dead peer. Uses only <dat/udat.h>, of uDAPL 1.2
 * or 2.0. Functions return 0, or -1 after one line on stderr with the call and its return code.
 */
#ifndef PERF_CONSUMER_H
#define PERF_CONSUMER_H

#ifdef DAP_DAT20
#include <dat2/udat.h>
#define VA_TYPE DAT_VA_TYPE_VA,
#define TARGET_ADDRESS virtual_address
#define SEGMENT_LENGTH DAT_SEG_LENGTH
#else
#include <dat/udat.h>
#define VA_TYPE
#define TARGET_ADDRESS target_address
#define SEGMENT_LENGTH DAT_VLEN
#endif
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct consumer {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, req_evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	bool threadsafe;	/* to be set before the IA is opened */
	bool blocking;		/* waits call dat_evd_wait instead of dat_evd_dequeue in a loop */
	bool broken;		/* a BROKEN or DISCONNECTED event has arrived */
	DAT_EVENT_NUMBER end;	/* the event that ended the connection */
	uint64_t idle_ns;	/* a wait fails after this time without an event */
};

/* Calls that have other arguments at each level of uDAPL. lmr: the LMR of the segment. */
static inline DAT_RETURN consumer_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *segment,
				       DAT_MEM_PRIV_FLAGS rights, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				       DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
#ifdef DAP_DAT20
	return dat_rmr_bind(rmr, lmr, segment, rights, DAT_VA_TYPE_VA, ep, cookie, flags, context);
#else
	(void)lmr;
	return dat_rmr_bind(rmr, segment, rights, ep, cookie, flags, context);
#endif
}

static inline DAT_RETURN consumer_reject(DAT_CR_HANDLE cr)
{
#ifdef DAP_DAT20
	return dat_cr_reject(cr, 0, NULL);
#else
	return dat_cr_reject(cr);
#endif
}

struct region {
	void *buf;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

static inline DAT_LMR_TRIPLET region_segment(const struct region *r, size_t off, uint64_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = r->lmr_context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)r->buf + off,
				  .segment_length = (SEGMENT_LENGTH)len };
}

static inline DAT_RMR_TRIPLET region_target(const struct region *r, size_t off, uint64_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = r->rmr_context,
				  .TARGET_ADDRESS = (DAT_VADDR)(uintptr_t)r->buf + off,
				  .segment_length = (SEGMENT_LENGTH)len };
}

/* True if ret is DAT_SUCCESS. Otherwise prints the call that failed, and why. */
bool dat_ok(DAT_RETURN ret, const char *what);
/* Returns true if dat_ia_open returned DAT_SUCCESS. Else prints the failure, and advice if no line fits. */
bool ia_opened(DAT_RETURN ret, const char *name);
const char *dat_event_name(DAT_EVENT_NUMBER n);
const char *dat_status_name(DAT_DTO_COMPLETION_STATUS s);

int consumer_open(struct consumer *c, const char *ia_name);
/*
 * Makes room on the connection EVD for the events of this many connections, which may all begin and end
 * at once.
 */
int consumer_expect(struct consumer *c, unsigned int connections);
int consumer_make_ep(struct consumer *c, const DAT_EP_ATTR *attr);
/* Closes the IA abruptly, which frees all objects that remain. */
void consumer_close(struct consumer *c);

int region_create(struct consumer *c, struct region *r, size_t len, DAT_MEM_PRIV_FLAGS priv);
void region_free(struct region *r);

/* Listens at conn_qual. Returns after it has accepted one connection request. */
int consumer_listen(struct consumer *c, uint64_t conn_qual);
int consumer_wait_request(struct consumer *c, DAT_CR_HANDLE *cr, uint64_t timeout_ns);
/* Returns the address of an adapter as text, or "none". */
const char *consumer_address(const DAT_IA_ATTR *a, char *buf, socklen_t size);
/* Returns the address, as text, by which a process of this host reaches the consumer's adapter. A software
 * adapter listens only on its own address, which ip= in dat.conf sets. */
const char *consumer_own_host(struct consumer *c, char *buf, socklen_t size);
/* Finds the address of a host. Prefers IPv4: an adapter has an IPv6 address only if ip= in dat.conf
 * says so. */
int consumer_resolve(const char *host, struct sockaddr_storage *to);
/* Requests a connection to a host name or address, with private data. */
int consumer_request(struct consumer *c, const char *host, uint64_t conn_qual, uint32_t timeout_us,
		     const void *pd, int len);
/*
 * Requests a connection and waits for it. The peer's private data are copied to pd (*pd_len bytes).
 */
int consumer_connect(struct consumer *c, const char *host, uint64_t conn_qual,
		     uint32_t timeout_us, const void *my_pd, int my_len, void *pd, int *pd_len);
/* Waits until the connection is established. Any other event is stored in c->end. */
int consumer_wait_established(struct consumer *c, void *pd, int *pd_len);

/* Waits for the next completion of the EVD. Returns -1 after a timeout, or, without a message, if the
 * connection has ended (c->broken). */
int consumer_completion(struct consumer *c, DAT_EVD_HANDLE evd, DAT_EVENT *ev);
/* Returns true once the connect EVD has reported the end of the connection, which is then in c->end.
 * Does not wait. */
bool consumer_ended(struct consumer *c);
/* Waits up to timeout for the end of the connection. Returns 0 and sets c->end. */
int consumer_wait_end(struct consumer *c, uint64_t timeout_ns);
/* Waits for the end of the connection, which may be the reason of a failure. Waits long enough for a peer
 * whose thread gets no CPU. */
int consumer_heard_end(struct consumer *c);

#endif
