/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each attribute of an endpoint or a shared receive queue at zero, at one, at the maximum of
 * dat_ia_query(3), and beyond; in each call that takes them.
 */
#include <limits.h>
#include <string.h>

#include "tests/conformance/fixture.h"

/* SOME: a count that must be at least one */
enum form { COUNT, SOME, LENGTH, FLAGS, QOS, SERVICE };

struct member {
	const char *name;
	size_t at;			/* offset in DAT_EP_ATTR or DAT_SRQ_ATTR */
	enum form form;
	/* where DAT_IA_ATTR has the maximum; for flags, the mask of valid bits */
	size_t most;
	DAT_EP_PARAM_MASK bit;
};

#define EP(member_, form_, most_, bit_)                                                            \
	{ #member_, offsetof(DAT_EP_ATTR, member_), form_, most_, DAT_EP_FIELD_EP_ATTR_##bit_ }
#define UPTO(member_) offsetof(DAT_IA_ATTR, member_)

static const struct member of_ep[] = {
	EP(service_type, SERVICE, 0, SERVICE_TYPE), EP(qos, QOS, 0, QOS),
	EP(recv_completion_flags, FLAGS, SOLICITED | UNSIGNALLED | 0x10, RECV_COMPLETION_FLAGS),
	EP(request_completion_flags, FLAGS, 0x1f, REQUEST_COMPLETION_FLAGS),
	EP(max_message_size, LENGTH, UPTO(max_message_size), MAX_MESSAGE_SIZE),
	EP(max_rdma_size, LENGTH, UPTO(max_rdma_size), MAX_RDMA_SIZE),
	EP(max_recv_dtos, COUNT, UPTO(max_dto_per_ep), MAX_RECV_DTOS),
	EP(max_request_dtos, COUNT, UPTO(max_dto_per_ep), MAX_REQUEST_DTOS),
	EP(max_recv_iov, COUNT, UPTO(max_iov_segments_per_dto), MAX_RECV_IOV),
	EP(max_request_iov, COUNT, UPTO(max_iov_segments_per_dto), MAX_REQUEST_IOV),
	EP(max_rdma_read_in, COUNT, UPTO(max_rdma_read_per_ep_in), MAX_RDMA_READ_IN),
	EP(max_rdma_read_out, COUNT, UPTO(max_rdma_read_per_ep_out), MAX_RDMA_READ_OUT),
	EP(max_rdma_read_iov, COUNT, UPTO(max_iov_segments_per_rdma_read), MAX_RDMA_READ_IOV),
	EP(max_rdma_write_iov, COUNT, UPTO(max_iov_segments_per_rdma_write), MAX_RDMA_WRITE_IOV),
};

static const struct member of_srq[] = {
	{ "max_recv_dtos", offsetof(DAT_SRQ_ATTR, max_recv_dtos), SOME, UPTO(max_recv_per_srq), 0 },
	{ "max_recv_iov", offsetof(DAT_SRQ_ATTR, max_recv_iov), COUNT, UPTO(max_iov_segments_per_dto), 0 },
};

static struct side s;
static DAT_SRQ_HANDLE srq;
static DAT_EP_ATTR ep_attr;
static DAT_SRQ_ATTR srq_attr;

struct row {
	const char *page;
	DAT_RETURN (*make)(const struct member *m, DAT_HANDLE *out);
	DAT_RETURN (*undo)(DAT_HANDLE h);
	const struct member *members;
	size_t n;
	void *attr;
	const char *ignores;		/* a count that this call ignores */
};

/* ---- One value ---- */

static void put(const struct row *row, const struct member *m, uint64_t n)
{
	char *to = (char *)row->attr + m->at;
	DAT_COUNT count = (DAT_COUNT)n;

	if (m->form == LENGTH)
		memcpy(to, &n, sizeof(n));
	else
		memcpy(to, &count, sizeof(count));
}

static void usual(void)
{
	ep_attr = side_attr();
	srq_attr = (DAT_SRQ_ATTR){ 8, 1, DAT_SRQ_LW_DEFAULT };
}

static DAT_RETURN answer(const struct row *row, const struct member *m, uint64_t n)
{
	DAT_HANDLE h = (DAT_HANDLE)&s;
	DAT_RETURN ret;

	usual();
	put(row, m, n);
	ret = row->make(m, &h);
	conform_note(row->page, ret);
	if (!is(ret, DAT_SUCCESS))
		check(h == (DAT_HANDLE)&s);
	else
		must(row->undo(h));
	return ret;
}

static void refused(const struct row *row, const struct member *m, uint64_t n)
{
	DAT_RETURN ret = answer(row, m, n);

	if (!is(ret, DAT_INVALID_PARAMETER))
		conform_fail(__FILE__, __LINE__,
			     "%s with %s 0x%llx returned %s (0x%08x) instead of "
			     "DAT_INVALID_PARAMETER",
			     row->page, m->name, (unsigned long long)n,
			     code_name(DAT_GET_TYPE(ret)), ret);
}

static void done(const struct row *row, const struct member *m, uint64_t n, bool much)
{
	DAT_RETURN ret = answer(row, m, n);

	if (!is(ret, DAT_SUCCESS) && !(much && is(ret, DAT_INSUFFICIENT_RESOURCES)))
		conform_fail(__FILE__, __LINE__, "%s with %s %llu returned %s (0x%08x)", row->page,
			     m->name, (unsigned long long)n, code_name(DAT_GET_TYPE(ret)), ret);
}

/* ---- All values of one attribute ---- */

static void try_count(const struct row *row, const struct member *m)
{
	DAT_COUNT most;

	memcpy(&most, (char *)&s.ia_attr + m->most, sizeof(most));
	if (row->ignores && !strcmp(row->ignores, m->name)) {
		done(row, m, (uint64_t)(int64_t)-1, false);
		done(row, m, INT_MAX, false);
		return;
	}
	refused(row, m, (uint64_t)(int64_t)INT_MIN);
	refused(row, m, (uint64_t)(int64_t)-1);
	if (m->form == SOME)
		refused(row, m, 0);
	else
		done(row, m, 0, false);
	done(row, m, 1, false);
	done(row, m, (uint64_t)most, true);
	if (most == INT_MAX)
		return;
	refused(row, m, (uint64_t)most + 1);
	refused(row, m, INT_MAX);
}

static void try_length(const struct row *row, const struct member *m)
{
	DAT_VLEN most;

	memcpy(&most, (char *)&s.ia_attr + m->most, sizeof(most));
	done(row, m, 1, false);
	done(row, m, most, true);
	if (most == UINT64_MAX)
		return;
	refused(row, m, most + 1);
	refused(row, m, UINT64_MAX);
}

static void try_flags(const struct row *row, const struct member *m)
{
	for (unsigned int i = 0; i < 32; i++) {
		if (!(m->most & 1u << i))
			refused(row, m, 1u << i);
	}
	refused(row, m, UINT32_MAX);
}

/* Values that are not in the enum: in its gaps, and next to its ends. */
static void try_enum(const struct row *row, const struct member *m)
{
	for (unsigned int n = 1; n < 32; n++) {
		if (m->form == SERVICE || n > DAT_QOS_PREMIUM || n & (n - 1))
			refused(row, m, n);
	}
	refused(row, m, UINT32_MAX);
	refused(row, m, INT_MAX);
}

static void each_attribute(const void *arg)
{
	const struct row *row = arg;

	side_open(&s);
	usual();
	if (s.attr.srq_supported)
		must(dat_srq_create(s.ia, s.pz, &srq_attr, &srq));
	else if (strstr(row->page, "srq"))
		skip("srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED");
	for (const struct member *m = row->members; m < row->members + row->n; m++) {
		switch (m->form) {
		case COUNT:
		case SOME: try_count(row, m); break;
		case LENGTH: try_length(row, m); break;
		case FLAGS: try_flags(row, m); break;
		default: try_enum(row, m);
		}
	}
	if (srq)
		must(dat_srq_free(srq));
	side_free(&s);
}

/* ---- The calls ---- */

static DAT_RETURN create(const struct member *m, DAT_HANDLE *out)
{
	(void)m;
	return dat_ep_create(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, &ep_attr, out);
}

static DAT_RETURN create_with_srq(const struct member *m, DAT_HANDLE *out)
{
	(void)m;
	return dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, srq, &ep_attr, out);
}

/* Modifies an endpoint. A value that is refused changes nothing, so the endpoint can be used for
 * the next value. */
static DAT_RETURN modify(const struct member *m, DAT_HANDLE *out)
{
	DAT_EP_PARAM p = { .ep_attr = ep_attr };
	DAT_RETURN ret = dat_ep_modify(s.ep, m->bit, &p);

	if (is(ret, DAT_SUCCESS))
		*out = s.ep;
	return ret;
}

static DAT_RETURN modify_back(DAT_HANDLE ep)
{
	DAT_EP_PARAM p = { .ep_attr = side_attr() };

	return dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &p);
}

static DAT_RETURN create_srq(const struct member *m, DAT_HANDLE *out)
{
	(void)m;
	return dat_srq_create(s.ia, s.pz, &srq_attr, out);
}

#define ROW(name_, make_, undo_, members_, attr_, ignores_)                                        \
	static const struct row name_##_row = { "dat_" #name_, make_, undo_, members_,             \
						sizeof(members_) / sizeof((members_)[0]), attr_,   \
						ignores_ };                                        \
	STATEMENT_ROW(name_##__each_attribute, dat_##name_, RETURNS, each_attribute, &name_##_row)

ROW(ep_create, create, dat_ep_free, of_ep, &ep_attr, NULL);
ROW(ep_create_with_srq, create_with_srq, dat_ep_free, of_ep, &ep_attr, "max_recv_iov");
ROW(ep_modify, modify, modify_back, of_ep, &ep_attr, NULL);
ROW(srq_create, create_srq, dat_srq_free, of_srq, &srq_attr, NULL);
