/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/pair.h"

enum { FEW_DTOS = 16 };

int pair_connect(struct consumer *a, struct consumer *b, DAT_CONN_QUAL qual, uint64_t wait_ns)
{
	DAT_CR_HANDLE cr;
	DAT_IA_ATTR attr;

	if (!dat_ok(dat_ia_query(b->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL), "dat_ia_query") ||
	    !dat_ok(dat_ep_connect(a->ep, attr.ia_address_ptr, qual, 10000000, 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    "dat_ep_connect") ||
	    consumer_wait_request(b, &cr, wait_ns) ||
	    !dat_ok(dat_cr_accept(cr, b->ep, 0, NULL), "dat_cr_accept"))
		return -1;
	return consumer_wait_established(b, NULL, NULL) ||
	       consumer_wait_established(a, NULL, NULL) ? -1 : 0;
}

static DAT_EP_ATTR attr_of(DAT_COUNT dtos)
{
	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC, .max_message_size = 1 << 20,
		.max_rdma_size = 1 << 20, .qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = dtos, .max_request_dtos = dtos, .max_recv_iov = 4,
		.max_request_iov = 4, .max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.max_rdma_read_iov = 4, .max_rdma_write_iov = 4,
	};
}

static int side_open(struct consumer *c, const char *ia)
{
	DAT_EP_ATTR attr = attr_of(PAIR_DTOS);

	return consumer_open(c, ia) || consumer_make_ep(c, &attr) ? -1 : 0;
}

int pair_open(struct pair *p, const char *ia)
{
	DAT_MEM_PRIV_FLAGS rw = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (side_open(&p->a, ia) || side_open(&p->b, ia) ||
	    region_create(&p->a, &p->local, PAIR_BYTES, rw) ||
	    region_create(&p->a, &p->window, PAIR_BYTES, rw) ||
	    region_create(&p->b, &p->remote, PAIR_PLACES * PAIR_BYTES, DAT_MEM_PRIV_ALL_FLAG) ||
	    (!p->no_rmr && !dat_ok(dat_rmr_create(p->a.pz, &p->rmr), "dat_rmr_create")))
		return -1;
	/* The provider chooses an unused qualifier. */
	return dat_ok(dat_psp_create_any(p->b.ia, &p->qual, p->b.cr_evd, DAT_PSP_CONSUMER_FLAG,
					 &p->b.psp), "dat_psp_create_any") &&
	       !pair_connect(&p->a, &p->b, p->qual, PAIR_WAIT_NS) ? 0 : -1;
}

int pair_more(struct pair *p)
{
	DAT_EP_ATTR attr = attr_of(FEW_DTOS);

	return consumer_make_ep(&p->a, &attr) || consumer_make_ep(&p->b, &attr) ||
	       pair_connect(&p->a, &p->b, p->qual, PAIR_WAIT_NS) ? -1 : 0;
}

void pair_close(struct pair *p)
{
	consumer_close(&p->a);
	consumer_close(&p->b);
}
