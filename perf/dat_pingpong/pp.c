/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/dat_pingpong/pingpong.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

int pp_open(struct pp *p, const char *ia, uint32_t len, bool blocking)
{
	size_t slot = (sizeof(struct pp_msg) + len + 63) / 64 * 64;

	p->len = len;
	p->slot = slot;
	p->c.blocking = blocking;
	if (consumer_open(&p->c, ia) || consumer_make_ep(&p->c, NULL))
		return -1;
	if (region_create(&p->c, &p->send, slot, DAT_MEM_PRIV_LOCAL_READ_FLAG) ||
	    region_create(&p->c, &p->recv, slot * PP_RECVS,
			  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return -1;
	return 0;
}

int pp_release(struct pp *p, unsigned int slot)
{
	DAT_LMR_TRIPLET iov = region_segment(&p->recv, slot * p->slot, p->slot);
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	return dat_ok(dat_ep_post_recv(p->c.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv") ? 0 : -1;
}

int pp_post_recvs(struct pp *p)
{
	unsigned int i;

	for (i = 0; i < PP_RECVS; i++)
		if (pp_release(p, i))
			return -1;
	return 0;
}

static int dto(struct pp *p, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	DAT_EVENT ev;

	if (consumer_completion(&p->c, evd, &ev))
		return -1;
	if (ev.event_number != DAT_DTO_COMPLETION_EVENT) {
		fprintf(stderr, "event %s has come instead of a completion\n",
			dat_event_name(ev.event_number));
		return -1;
	}
	*d = ev.event_data.dto_completion_event_data;
	return 0;
}

int pp_send(struct pp *p, const struct pp_msg *msg, uint32_t data)
{
	DAT_LMR_TRIPLET iov = region_segment(&p->send, 0, sizeof(*msg) + data);
	DAT_DTO_COOKIE cookie = { .as_64 = msg->round };
	DAT_DTO_COMPLETION_EVENT_DATA d;
	/* The server ends the connection next, perhaps before its ACK arrives. */
	bool last = msg->op == PP_WRITE_REVOKED;

	memcpy(p->send.buf, msg, sizeof(*msg));
	if (!dat_ok(dat_ep_post_send(p->c.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		    "dat_ep_post_send"))
		return -1;
	if (dto(p, p->c.req_evd, &d))
		return last && p->c.broken ? 0 : -1;
	if (last && d.status == DAT_DTO_ERR_FLUSHED)
		return 0;
	if (d.status != DAT_DTO_SUCCESS || d.user_cookie.as_64 != msg->round) {
		fprintf(stderr, "a send completed with status %s\n", dat_status_name(d.status));
		return -1;
	}
	return 0;
}

int pp_receive(struct pp *p, struct pp_msg *msg, void **data, unsigned int *slot)
{
	DAT_DTO_COMPLETION_EVENT_DATA d;
	char *buf;

	if (dto(p, p->c.recv_evd, &d))
		return -1;
	if (d.status != DAT_DTO_SUCCESS) {
		if (d.status != DAT_DTO_ERR_FLUSHED)
			fprintf(stderr, "a receive completed with status %s\n", dat_status_name(d.status));
		return -1;
	}
	if (d.user_cookie.as_64 >= PP_RECVS || d.transfered_length < sizeof(*msg)) {
		fprintf(stderr, "unexpected receive completion of %llu bytes with cookie %llu\n",
			(unsigned long long)d.transfered_length,
			(unsigned long long)d.user_cookie.as_64);
		return -1;
	}
	*slot = (unsigned int)d.user_cookie.as_64;
	buf = (char *)p->recv.buf + *slot * p->slot;
	memcpy(msg, buf, sizeof(*msg));
	*data = buf + sizeof(*msg);
	return 0;
}

int pp_rdma(struct pp *p, bool read, struct region *local, uint64_t addr, uint32_t rmr_context,
	    DAT_DTO_COMPLETION_STATUS *status)
{
	DAT_LMR_TRIPLET iov = region_segment(local, 0, p->len);
	DAT_RMR_TRIPLET remote = {
		.rmr_context = rmr_context, .TARGET_ADDRESS = addr, .segment_length = p->len,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = addr };
	DAT_DTO_COMPLETION_EVENT_DATA d;
	DAT_RETURN ret;

	if (read)
		ret = dat_ep_post_rdma_read(p->c.ep, 1, &iov, cookie, &remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_write(p->c.ep, 1, &iov, cookie, &remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	if (!dat_ok(ret, read ? "dat_ep_post_rdma_read" : "dat_ep_post_rdma_write") ||
	    dto(p, p->c.req_evd, &d))
		return -1;
	*status = d.status;
	return 0;
}

void pp_close(struct pp *p)
{
	region_free(&p->send);
	region_free(&p->recv);
	consumer_close(&p->c);
}

int pp_lost(struct pp *p, const char *where)
{
	if (consumer_heard_end(&p->c) == 0)
		fprintf(stderr, "connection ended: %s\n", dat_event_name(p->c.end));
	fprintf(stderr, "FAILED in %s\n", where);
	return 1;
}

static void print_named(const char *what, DAT_COUNT n, const DAT_NAMED_ATTR *a)
{
	DAT_COUNT i;

	for (i = 0; i < n; i++)
		printf("  %-22s %s = %s\n", i ? "" : what, a[i].name, a[i].value);
}

static void print_adapter(const DAT_IA_ATTR *a)
{
	char addr[INET6_ADDRSTRLEN];

	printf("adapter %s by %s, address %s\n", a->adapter_name, a->vendor_name,
	       consumer_address(a, addr, sizeof(addr)));
	printf("  %-22s %u.%u, firmware %u.%u\n", "hardware", a->hardware_version_major,
	       a->hardware_version_minor, a->firmware_version_major, a->firmware_version_minor);
	printf("  %-22s %d endpoints of %d DTOs, %d segments (read %d, write %d)\n", "at most",
	       a->max_eps, a->max_dto_per_ep, a->max_iov_segments_per_dto,
	       a->max_iov_segments_per_rdma_read, a->max_iov_segments_per_rdma_write);
	printf("  %-22s %d EVDs of %d events, %d LMRs, %d RMRs, %d PZs\n", "", a->max_evds,
	       a->max_evd_qlen, a->max_lmrs, a->max_rmrs, a->max_pzs);
	printf("  %-22s message %llu, RDMA %llu, LMR %llu bytes\n", "",
	       (unsigned long long)a->max_message_size, (unsigned long long)a->max_rdma_size,
	       (unsigned long long)a->max_lmr_block_size);
	printf("  %-22s %d in, %d out per endpoint\n", "RDMA reads", a->max_rdma_read_per_ep_in,
	       a->max_rdma_read_per_ep_out);
	print_named("transport", a->num_transport_attr, a->transport_attr);
	print_named("vendor", a->num_vendor_attr, a->vendor_attr);
}

void pp_print_attributes(struct pp *p)
{
	DAT_PROVIDER_ATTR prov;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR ia;

	memset(&ia, 0, sizeof(ia));
	memset(&prov, 0, sizeof(prov));
	if (!dat_ok(dat_ia_query(p->c.ia, &async, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL,
				 &prov), "dat_ia_query"))
		return;
	print_adapter(&ia);
	printf("provider %s %u.%u, uDAPL %u.%u, %s\n", prov.provider_name,
	       prov.provider_version_major, prov.provider_version_minor, prov.dapl_version_major,
	       prov.dapl_version_minor, prov.is_thread_safe ? "threadsafe" : "nonthreadsafe");
	printf("  %-22s %d bytes\n", "private data", prov.max_private_data_size);
	printf("  %-22s %u bytes\n", "buffer alignment", prov.optimal_buffer_alignment);
	print_named("provider", prov.num_provider_specific_attr, prov.provider_specific_attr);
	fflush(stdout);
}
