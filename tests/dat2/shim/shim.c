/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded between a consumer of uDAPL 2.0 and libdat2. It counts posts and completions, and sums up
 * the bytes of all messages, sent and received, so that scripts/check-dat2 can compare both sides. At
 * exit it writes the counts to the file DAT2_COUNTS.
 *
 * DAT2_FAULT causes faults that a check must detect: corrupt flips one byte of a sent message, drop
 * removes a completion. For programs that send no messages or wait for no completion there are three
 * more: private flips a byte of a connection's private data, handle one of a new handle, refuse fails
 * the creation of an object.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_RECVS 65536
#define MAX_SIZES 64
/* index of the completion that is dropped; of messages, the first one is corrupted */
#define FAULT_AT 2

enum kind { SEND, WRITE, READ, RECV, KINDS };

struct recv {
	DAT_HANDLE ep;			/* NULL: the receive is in an SRQ */
	DAT_UINT64 cookie;
	DAT_LMR_TRIPLET iov[4];
	int n;
	bool used;
};

static const char *const names[KINDS] = { "send", "write", "read", "recv" };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct recv *recvs;
static unsigned int nrecvs;		/* number of slots used so far */
static struct { DAT_UINT64 size; unsigned long count; } sizes[KINDS][MAX_SIZES];
static unsigned long sums[KINDS], events, failures, established;
static unsigned long messages;
static unsigned int made;		/* number of objects created */
static bool corrupt, drop, private, handle, refuse, done;

static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn)
		abort();
	return fn;
}

#define NEXT(name) ((__typeof__(&name))next(#name))

static void count(enum kind kind, DAT_UINT64 size)
{
	for (int i = 0; i < MAX_SIZES; i++) {
		if (sizes[kind][i].count && sizes[kind][i].size != size)
			continue;
		sizes[kind][i].size = size;
		sizes[kind][i].count++;
		return;
	}
}

struct hash {
	DAT_UINT64 h, word;
	unsigned int fill;		/* number of bytes in `word` */
};

static void hash_byte(struct hash *s, unsigned char byte)
{
	s->word = s->word << 8 | byte;
	if (++s->fill < sizeof(s->word))
		return;
	s->h = (s->h ^ s->word) * 0x9e3779b97f4a7c15u;
	s->fill = 0;
}

/* Hashes by words if possible, because messages may have megabytes. */
static void hash(struct hash *s, const unsigned char *p, DAT_UINT64 len)
{
	DAT_UINT64 word;

	for (; len && (s->fill || len < sizeof(word)); len--)
		hash_byte(s, *p++);
	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		s->h = (s->h ^ __builtin_bswap64(word)) * 0x9e3779b97f4a7c15u;
	}
	while (len--)
		hash_byte(s, *p++);
}

/*
 * Hashes the bytes of a message in order, whatever its segments. The sum of the hashes does not depend
 * on the order of messages.
 */
static DAT_UINT64 hash_iov(const DAT_LMR_TRIPLET *iov, int n, DAT_UINT64 len)
{
	struct hash s = { .h = 0xcbf29ce484222325u };

	for (int i = 0; i < n && len; i++) {
		DAT_UINT64 part = iov[i].segment_length < len ? iov[i].segment_length : len;

		hash(&s, (const unsigned char *)(unsigned long)iov[i].virtual_address, part);
		len -= part;
	}
	return s.h ^ s.word ^ s.fill;
}

static DAT_UINT64 total(const DAT_LMR_TRIPLET *iov, int n)
{
	DAT_UINT64 sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].segment_length;
	return sum;
}

static void flip(const DAT_LMR_TRIPLET *iov, int n)
{
	if (corrupt && !done && n && iov[0].segment_length && ++messages == 1) {
		unsigned char *p = (unsigned char *)(unsigned long)iov[0].virtual_address;

		p[iov[0].segment_length / 2] ^= 1;
		done = true;
	}
}

EXPORT DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret;

	pthread_mutex_lock(&lock);
	count(SEND, total(iov, n));
	sums[SEND] += hash_iov(iov, n, ~0ull);
	flip(iov, n);
	pthread_mutex_unlock(&lock);
	ret = NEXT(dat_ep_post_send)(ep, n, iov, cookie, flags);
	return ret;
}

EXPORT DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
					 DAT_COMPLETION_FLAGS flags)
{
	pthread_mutex_lock(&lock);
	count(WRITE, total(iov, n));
	pthread_mutex_unlock(&lock);
	return NEXT(dat_ep_post_rdma_write)(ep, n, iov, cookie, to, flags);
}

EXPORT DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
					DAT_COMPLETION_FLAGS flags)
{
	pthread_mutex_lock(&lock);
	count(READ, total(iov, n));
	pthread_mutex_unlock(&lock);
	return NEXT(dat_ep_post_rdma_read)(ep, n, iov, cookie, from, flags);
}

EXPORT DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL qual,
				 DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data,
				 DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	unsigned char copy[256];

	if (!private || done || size <= 0 || size > (DAT_COUNT)sizeof(copy))
		return NEXT(dat_ep_connect)(ep, to, qual, timeout, size, data, qos, flags);
	done = true;
	memcpy(copy, data, (size_t)size);
	copy[size / 2] ^= 1;
	return NEXT(dat_ep_connect)(ep, to, qual, timeout, size, copy, qos, flags);
}

/* ---- Objects: the fault is applied to the second one ---- */

static bool refuses(void)
{
	bool hit;

	pthread_mutex_lock(&lock);
	hit = ++made == FAULT_AT && refuse;
	pthread_mutex_unlock(&lock);
	return hit;
}

static DAT_RETURN maybe_spoil(DAT_RETURN ret, DAT_HANDLE *out)
{
	pthread_mutex_lock(&lock);
	if (handle && !done && made >= FAULT_AT && ret == DAT_SUCCESS) {
		*out = (char *)*out + 4097;	/* the handle may be a number of the registry */
		done = true;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

EXPORT DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			       DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			       DAT_BOOLEAN safe)
{
	if (refuses())
		return DAT_INSUFFICIENT_RESOURCES | DAT_CLASS_ERROR;
	return maybe_spoil(NEXT(dat_ia_openv)(name, qlen, async, ia, major, minor, safe), ia);
}

EXPORT DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	if (refuses())
		return DAT_INSUFFICIENT_RESOURCES | DAT_CLASS_ERROR;
	return maybe_spoil(NEXT(dat_pz_create)(ia, pz), pz);
}

EXPORT DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
				 DAT_CNO_HANDLE *cno)
{
	if (refuses())
		return DAT_INSUFFICIENT_RESOURCES | DAT_CLASS_ERROR;
	return maybe_spoil(NEXT(dat_cno_create)(ia, agent, cno), cno);
}

EXPORT DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
				 DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	if (refuses())
		return DAT_INSUFFICIENT_RESOURCES | DAT_CLASS_ERROR;
	return maybe_spoil(NEXT(dat_evd_create)(ia, qlen, cno, flags, evd), evd);
}

static void remember(DAT_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	unsigned int i = 0;

	pthread_mutex_lock(&lock);
	while (i < nrecvs && recvs[i].used)
		i++;
	if (i == MAX_RECVS || n > 4)
		abort();
	recvs[i] = (struct recv){ .ep = ep, .cookie = cookie.as_64, .n = n, .used = true };
	memcpy(recvs[i].iov, iov, (size_t)n * sizeof(*iov));
	if (i == nrecvs)
		nrecvs++;
	pthread_mutex_unlock(&lock);
}

EXPORT DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	remember(ep, n, iov, cookie);
	return NEXT(dat_ep_post_recv)(ep, n, iov, cookie, flags);
}

EXPORT DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie)
{
	remember(NULL, n, iov, cookie);
	return NEXT(dat_srq_post_recv)(srq, n, iov, cookie);
}

static void received(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	for (unsigned int i = 0; i < nrecvs; i++) {
		struct recv *r = &recvs[i];

		if (!r->used || (r->ep && r->ep != dto->ep_handle) ||
		    r->cookie != dto->user_cookie.as_64)
			continue;
		r->used = false;
		count(RECV, dto->transfered_length);
		sums[RECV] += hash_iov(r->iov, r->n, dto->transfered_length);
		return;
	}
	failures++;		/* a completion of a receive that was never posted */
}

/* Counts an event. True: the consumer gets it. */
static bool see(const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &ev->event_data.dto_completion_event_data;
	bool dto_event = ev->event_number == DAT_DTO_COMPLETION_EVENT, visible;

	pthread_mutex_lock(&lock);
	events++;
	established += ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	visible = !drop || done || events != FAULT_AT;
	done |= !visible;
	if (dto_event && dto->status == DAT_DTO_SUCCESS && dto->operation == DAT_DTO_RECEIVE)
		received(dto);
	pthread_mutex_unlock(&lock);
	return visible;
}

EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret;

	do {
		ret = NEXT(dat_evd_dequeue)(evd, event);
	} while (ret == DAT_SUCCESS && !see(event));
	return ret;
}

EXPORT DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			       DAT_EVENT *event, DAT_COUNT *nmore)
{
	DAT_RETURN ret;

	do {
		ret = NEXT(dat_evd_wait)(evd, timeout, threshold, event, nmore);
	} while (ret == DAT_SUCCESS && !see(event));
	return ret;
}

__attribute__((constructor)) static void begin(void)
{
	const char *fault = getenv("DAT2_FAULT");

	recvs = calloc(MAX_RECVS, sizeof(*recvs));
	corrupt = fault && !strcmp(fault, "corrupt");
	drop = fault && !strcmp(fault, "drop");
	private = fault && !strcmp(fault, "private");
	handle = fault && !strcmp(fault, "handle");
	refuse = fault && !strcmp(fault, "refuse");
	setvbuf(stdout, NULL, _IOLBF, 0);
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("DAT2_COUNTS");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	for (int k = 0; k < KINDS; k++) {
		for (int i = 0; i < MAX_SIZES && sizes[k][i].count; i++)
			fprintf(f, "%s %llu %lu\n", names[k], (unsigned long long)sizes[k][i].size,
				sizes[k][i].count);
	}
	fprintf(f, "sum-send 0 %lu\nsum-recv 0 %lu\n", sums[SEND], sums[RECV]);
	fprintf(f, "unknown 0 %lu\nestablished 0 %lu\n", failures, established);
	fclose(f);
}
