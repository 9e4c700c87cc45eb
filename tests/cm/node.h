/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replacement of core above one struct dap_cm: each callback does what the test has chosen, and
 * is counted. The file also has a plain TCP socket, which can send any bytes.
 */
#ifndef TEST_CM_NODE_H
#define TEST_CM_NODE_H

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "tests/harness/harness.h"

#define SOON_MS 10000		/* only guards against hangs */
#define FOR_EVER UINT32_MAX
#define QUAL th_qual()

enum node_answer { NODE_ACCEPT, NODE_HOLD, NODE_REJECT, NODE_REFUSE };

struct node {
	struct dap_cm *cm;
	enum node_answer answer;
	bool no_rtu, no_go;
	/* the callback for an established connection disconnects and releases it */
	bool parts;
	struct in_addr calls;		/* the address to which the node connects; initially 127.0.0.1 */
	void (*on_request)(struct node *n);
	void (*on_end)(struct node *n, const struct dap_cm_conn *conn);
	uint32_t pd_size;		/* length of the private data in the node's accept */
	atomic_uint requests, replies, readies, established, ended, looks, why[DAP_CM_BROKEN + 1];
	struct dap_cm_conn *_Atomic request;	/* the last request that is not answered yet */
	pthread_mutex_t lock;		/* protects passive */
	/* the connection that was accepted last; NULL once it has ended */
	struct dap_cm_conn *_Atomic passive;
	struct dap_path path;		/* the path received last */
	union dap_addr from;
	uint64_t conn_qual;
	uint32_t got_size;
	uint8_t got[DAP_MAX_PRIVATE_DATA];
};

void node_open(struct node *n, const char *address);
void node_close(struct node *n);
void node_open_two(struct node *a, struct node *b);	/* both have the address 127.0.0.1 */
void node_close_two(struct node *a, struct node *b);
struct dap_cm_listener *node_listen(struct node *n, uint64_t conn_qual);
/* Connects to n->calls. Returns 0 or -errno. */
int node_connect(struct node *n, uint64_t conn_qual, uint32_t timeout_us, struct dap_cm_conn **c);
int node_connect_pd(struct node *n, uint64_t conn_qual, uint32_t timeout_us, const void *pd,
		    uint32_t size, struct dap_cm_conn **c);
int node_accept(struct node *n);	/* accepts the request that NODE_HOLD kept */
/* Connects a to b, which listens, and waits until both are established. */
void node_pair(struct node *a, struct node *b, uint64_t conn_qual, struct dap_cm_conn **c);
/* Disconnects the connection that n accepted last, if it has not ended yet. */
void node_disconnect(struct node *n, bool abrupt);
uint64_t node_retries(struct node *n);	/* how often the node has tried to connect again */
/* Makes the private data of a node from its seed. */
void pattern(uint8_t *to, size_t len, unsigned int seed);
struct dap_path path_of(unsigned int seed);
bool same_path(const struct dap_path *a, const struct dap_path *b);
const char *cm_type_name(enum cm_type type);

/*
 * The manager's clock stands still from clock_stop() to clock_go_on(): a busy machine uses up no timeout of a
 * connection. clock_pass() lets time pass meanwhile.
 */
void clock_stop(void);
void clock_pass(uint64_t us);
void clock_go_on(void);

#define SOON(cond) \
	cr_assert(TH_WITHIN(SOON_MS, cond), "this was not true within %d ms: %s", SOON_MS, #cond)
#define ENDED(n, reason) SOON((n)->why[reason] == 1 && (n)->ended == 1)

/* Raises the limit of descriptors, for tests with thousands of sockets. */
void raw_raise_limit(void);
/* Names the local stream of the listener at QUAL. Returns the length of the name. */
socklen_t listener_name(struct sockaddr_un *name);
int raw_connect(uint64_t conn_qual);
int raw_listen(uint64_t conn_qual);
int raw_accept(int listener);
void raw_send(int fd, const void *buf, size_t len);
void raw_message(struct cm_wire *w, enum cm_type type, uint64_t id, uint64_t conn_qual);
void raw_say(int fd, enum cm_type type, uint64_t id, uint64_t conn_qual);
/* Reads a whole message. Returns 0 at the end of the stream, -1 on a reset or after SOON_MS. */
int raw_hear(int fd, struct cm_msg *msg);
/* Does the other side close its socket without sending a message? */
bool raw_is_cut(int fd);
void raw_reset(int fd);

#endif
