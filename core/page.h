/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of an open IA, in a file that its process maps and dat_top(1) reads. The file is in
 * /dev/shm, because a daemon and the session of dat_top rarely have the same XDG_RUNTIME_DIR. Its name
 * is "dapl-direct.", the process id, a random number of eight hexadecimal digits, and the IA. Only the
 * user of the process may read it.
 *
 * The process holds a write lock of fcntl(2) on the whole file, so the kernel says whether it still
 * lives, even to a reader in another PID namespace. The FIFO of the same name with the suffix ".ask"
 * asks the process to write current values. Without a reader a page costs no time.
 */
#ifndef DAP_PAGE_H
#define DAP_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DAP_PAGE_DIR "/dev/shm"
#define DAP_PAGE_PREFIX "dapl-direct."
#define DAP_PAGE_ASK ".ask"
#define DAP_PAGE_MAGIC UINT64_C(0x3167617050414444)
#define DAP_PAGE_SIZE 4096
#define DAP_PAGE_UNKNOWN UINT64_MAX	/* the adapter does not count this */

/* Index, family, label and value of the label. The counters of a family follow each other. */
#define DAP_PAGE_COUNTERS(X)                                                                       \
	X(CREATED, "objects_created", "object", "pz")                                              \
	X(CREATED_LMR, "objects_created", "object", "lmr")                                         \
	X(CREATED_RMR, "objects_created", "object", "rmr")                                         \
	X(CREATED_EVD, "objects_created", "object", "evd")                                         \
	X(CREATED_EP, "objects_created", "object", "ep")                                           \
	X(CREATED_PSP, "objects_created", "object", "psp")                                         \
	X(CREATED_RSP, "objects_created", "object", "rsp")                                         \
	X(CREATED_CR, "objects_created", "object", "cr")                                           \
	X(CREATED_CNO, "objects_created", "object", "cno")                                         \
	X(CREATED_SRQ, "objects_created", "object", "srq")                                         \
	X(FREED, "objects_freed", "object", "pz")                                                  \
	X(FREED_LMR, "objects_freed", "object", "lmr")                                             \
	X(FREED_RMR, "objects_freed", "object", "rmr")                                             \
	X(FREED_EVD, "objects_freed", "object", "evd")                                             \
	X(FREED_EP, "objects_freed", "object", "ep")                                               \
	X(FREED_PSP, "objects_freed", "object", "psp")                                             \
	X(FREED_RSP, "objects_freed", "object", "rsp")                                             \
	X(FREED_CR, "objects_freed", "object", "cr")                                               \
	X(FREED_CNO, "objects_freed", "object", "cno")                                             \
	X(FREED_SRQ, "objects_freed", "object", "srq")                                             \
	X(REQ_SENT, "connection_requests", "request", "sent")                                      \
	X(REQ_REPEATED, "connection_requests", "request", "repeated")                              \
	X(REQ_RECEIVED, "connection_requests", "request", "received")                              \
	X(REQ_ACCEPTED, "connection_requests", "request", "accepted")                              \
	X(REQ_REJECTED, "connection_requests", "request", "rejected")                              \
	X(REQ_REFUSED, "connection_requests", "request", "refused")                                \
	X(CONN, "connection_events", "event", "established")                                       \
	X(CONN_PEER_REJECTED, "connection_events", "event", "peer_rejected")                       \
	X(CONN_NON_PEER_REJECTED, "connection_events", "event", "non_peer_rejected")               \
	X(CONN_ACCEPT_ERROR, "connection_events", "event", "accept_completion_error")              \
	X(CONN_DISCONNECTED, "connection_events", "event", "disconnected")                         \
	X(CONN_BROKEN, "connection_events", "event", "broken")                                     \
	X(CONN_TIMED_OUT, "connection_events", "event", "timed_out")                               \
	X(CONN_UNREACHABLE, "connection_events", "event", "unreachable")                           \
	X(ASYNC, "async_events", "event", "evd_overflow")                                          \
	X(ASYNC_CATASTROPHIC, "async_events", "event", "ia_catastrophic")                          \
	X(ASYNC_EP_BROKEN, "async_events", "event", "ep_broken")                                   \
	X(ASYNC_TIMED_OUT, "async_events", "event", "timed_out")                                   \
	X(ASYNC_INTERNAL, "async_events", "event", "provider_internal")                            \
	X(POSTED, "posts", "operation", "send")                                                    \
	X(POSTED_WRITE, "posts", "operation", "rdma_write")                                        \
	X(POSTED_READ, "posts", "operation", "rdma_read")                                          \
	X(POSTED_WRITE_IMM, "posts", "operation", "rdma_write_immed")                              \
	X(POSTED_CMP_SWAP, "posts", "operation", "cmp_swap")                                       \
	X(POSTED_FETCH_ADD, "posts", "operation", "fetch_add")                                     \
	X(POSTED_RECV, "posts", "operation", "recv")                                               \
	X(BYTES, "posted_bytes", "operation", "send")                                              \
	X(BYTES_WRITE, "posted_bytes", "operation", "rdma_write")                                  \
	X(BYTES_READ, "posted_bytes", "operation", "rdma_read")                                    \
	X(BYTES_WRITE_IMM, "posted_bytes", "operation", "rdma_write_immed")                        \
	X(RECEIVES, "receives", NULL, NULL)                                                        \
	X(RECEIVED_BYTES, "received_bytes", NULL, NULL)                                            \
	X(DEQUEUED, "events_dequeued", NULL, NULL)                                                 \
	X(EMPTY, "empty_dequeues", NULL, NULL)                                                     \
	X(CQ_EVENTS, "completion_notifications", NULL, NULL)                                       \
	X(WAITS, "evd_waits", NULL, NULL)                                                          \
	X(SLEEPS, "evd_sleeps", NULL, NULL)                                                        \
	X(FAILED, "failed_completions", "status", "flushed")                                       \
	X(FAILED_LOCAL_LENGTH, "failed_completions", "status", "local_length")                     \
	X(FAILED_LOCAL_EP, "failed_completions", "status", "local_ep")                             \
	X(FAILED_LOCAL_PROTECTION, "failed_completions", "status", "local_protection")             \
	X(FAILED_BAD_RESPONSE, "failed_completions", "status", "bad_response")                     \
	X(FAILED_REMOTE_ACCESS, "failed_completions", "status", "remote_access")                   \
	X(FAILED_REMOTE_RESPONDER, "failed_completions", "status", "remote_responder")             \
	X(FAILED_TRANSPORT, "failed_completions", "status", "transport")                           \
	X(FAILED_NOT_READY, "failed_completions", "status", "receiver_not_ready")                  \
	X(FAILED_PARTIAL, "failed_completions", "status", "partial_packet")                        \
	X(FAILED_BIND, "failed_completions", "status", "rmr_operation_failed")

enum {
#define X(index, family, label, value) DAP_PAGE_##index,
	DAP_PAGE_COUNTERS(X)
#undef X
	DAP_PAGE_NCOUNTERS
};

struct dap_page {
	uint64_t magic;
	uint32_t version, ncounters;
	uint32_t seq;			/* odd while the process writes; atomic */
	int32_t pid;			/* process id in the namespace of the process itself */
	uint64_t updated;		/* CLOCK_MONOTONIC, ns; 0: never */
	char ia[256], provider[32], command[16];
	uint64_t value[DAP_PAGE_NCOUNTERS];
};
_Static_assert(sizeof(struct dap_page) <= DAP_PAGE_SIZE, "the struct fits in a page");
/* A change of the counters or of the struct needs another version. */
enum { DAP_PAGE_VERSION = 1 };

/* Returns true for the name of a page, and its process id. */
bool dap_page_is_name(const char *name, unsigned int *pid);
/*
 * Opens the page of that name in the directory, and reads its texts. Returns its descriptor; -1 if it has
 * vanished, or if it is not a page of this user and release: then why is the reason, else "".
 */
int dap_page_read(int dir, const char *name, struct dap_page *page, char *why, size_t whylen);
/* Reads values that the process wrote at one time. Returns false if it writes without end, as one that was
 * killed while it wrote seems to, or if the file is no page any more. */
bool dap_page_reread(int fd, struct dap_page *page);
/* The process that holds its lock, as this process sees it; 0: it has ended. -1: it lives, but in a PID
 * namespace of which this process sees nothing. */
pid_t dap_page_owner(int fd);
/* Removes a page whose process has ended. */
void dap_page_remove(int dir, const char *name);

#endif
