/* SPDX-License-Identifier: BSD-2-Clause */
/* Open and close, counters. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "softnic/efa/nic.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int atfork_error;

static void in_child(void)
{
	sne_forks++;
}

static void install(void)
{
	atfork_error = pthread_atfork(NULL, NULL, in_child);
}

static void init_lists(struct sne_nic *nic)
{
	TAILQ_INIT(&nic->inbox);
	TAILQ_INIT(&nic->unacked);
	TAILQ_INIT(&nic->spare[0]);
	TAILQ_INIT(&nic->spare[1]);
	TAILQ_INIT(&nic->senders);
	TAILQ_INIT(&nic->rnr);
	TAILQ_INIT(&nic->done);
	TAILQ_INIT(&nic->reads);
}

static void init_numbers(struct sne_nic *nic)
{
	nic->pd_ids.max = SNE_PDS;
	nic->ah_ids.max = SNE_AHS;
	nic->mr_ids.max = SNE_MRS;
	nic->cq_ids.max = SNE_CQS;
	nic->qp_ids.max = SNE_QPS;
}

/* Derives all random values of the device from the seed, so that a new seed makes a new device. */
static void init_random(struct sne_nic *nic, uint64_t seed)
{
	uint16_t high;
	uint64_t poison;

	nic->rng = seed;
	nic->now = nic->births = nic->youngest_sent = 0;
	high = (uint16_t)sne_below(nic, 256);
	poison = sn_draw(&nic->rng) | 1;
	/* While QPs exist, keep the poison value and the upper bits of QPNs: their queues are
	 * poisoned already. */
	if (nic->qp_ids.live)
		return;
	nic->qpn_high = high;
	nic->poison = poison;
}

/* An EFA derives its GID from the MAC of its network interface. The model uses random bits and the
 * device's index. */
static int choose_gid(struct sne_nic *nic)
{
	static const uint8_t none[16];
	uint8_t *g = nic->gid.raw;

	if (memcmp(nic->config.gid, none, sizeof(none)) != 0) {
		memcpy(g, nic->config.gid, sizeof(none));
		return 0;
	}
	g[0] = 0xfe;
	g[1] = 0x80;
	if (getrandom(g + 8, 8, 0) != 8)
		return -EAGAIN;
	g[8] = 0x02;
	g[11] = 0xff;
	g[12] = 0xfe;
	g[15] = (uint8_t)nic->config.index;
	return 0;
}

static void deliver(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	sne_receive_packet(ctx, src, pkt, len);
}

/* The packets in the link are lost. Retransmitting them also detects a peer that is gone. */
static void down(void *ctx, const struct sn_addr *peer)
{
	struct sne_flow *flow = sne_flow_find(ctx, peer);

	if (!flow)
		return;
	flow->blocked = false;
	sne_flow_release(ctx, flow);
}

/* The operation is the index of its name in the list of fault.c. */
static bool label_packet(const void *pkt, size_t len, struct sn_fab_label *label)
{
	struct sne_hdr h;

	if (len < sizeof(h))
		return false;
	memcpy(&h, pkt, sizeof(h));
	*label = (struct sn_fab_label){ h.kind - SNE_K_ACK, h.dst_qpn, h.seq };
	return true;
}

static int open_fabric(struct sne_nic *nic)
{
	struct sn_fab_config config = { .gid = nic->gid, .protocol = SNE_MAGIC, .deliver = deliver,
					.down = down, .label = label_packet, .ctx = nic };

	if (nic->config.flags & SOFTNIC_EFA_LOOPBACK_ONLY)
		config.flags |= SN_FAB_ALONE;
	if (!(nic->config.flags & SOFTNIC_EFA_NO_THREAD))
		config.flags |= SN_FAB_RESTS;
	return sn_fab_open(&config, &nic->fab);
}

static int init(struct sne_nic *nic, const struct softnic_efa_config *config)
{
	uint64_t seed = config->seed;
	int err = sne_profile(&nic->caps, config->profile);

	if (err)
		return err;
	if (!seed && getrandom(&seed, sizeof(seed), 0) < 0)
		return -errno;
	nic->config = *config;
	nic->config.profile = nic->caps.profile;
	nic->forks = sne_forks;
	nic->virtual_time = config->flags & SOFTNIC_EFA_NO_THREAD;
	nic->window = config->window ? config->window : SNE_WINDOW;
	if (nic->window > SNE_FLIGHT)
		return -EINVAL;
	if (getrandom(&nic->life, sizeof(nic->life), 0) < 0)
		return -errno;
	nic->life |= 1;
	sne_fault_default(nic, &nic->fault);
	init_lists(nic);
	init_numbers(nic);
	init_random(nic, seed);
	err = choose_gid(nic);
	memcpy(nic->caps.gid, nic->gid.raw, sizeof(nic->caps.gid));
	memcpy(&nic->caps.guid, nic->gid.raw + 8, sizeof(nic->caps.guid));
	return err;
}

static int start(struct sne_nic *nic)
{
	int err = sne_bar_open(&nic->bar);

	if (err)
		return err;
	err = open_fabric(nic);
	if (err)
		goto close_bar;
	err = sne_thread_start(nic);
	if (!err)
		return 0;
	sn_fab_close(nic->fab);
close_bar:
	sne_bar_close(&nic->bar, false);
	return err;
}

int softnic_efa_open(const struct softnic_efa_config *config, struct softnic_efa **out)
{
	struct sne_nic *nic;
	int err;

	pthread_once(&once, install);
	if (atfork_error)
		return -atfork_error;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return -ENOMEM;
	nic->mrs = calloc(SNE_MRS, sizeof(*nic->mrs));
	nic->lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	err = nic->mrs ? init(nic, config) : -ENOMEM;
	if (!err)
		err = start(nic);
	if (err) {
		free(nic->mrs);
		free(nic);
		return err;
	}
	*out = (struct softnic_efa *)nic;
	return 0;
}

/* The model must not touch the queues in a forked child, because they are not mapped there. */
static void free_queues_and_regions(struct sne_nic *nic, bool in_child)
{
	for (uint32_t i = 0; i < SNE_QPS; i++) {
		if (nic->qps[i] && !in_child)
			sne_qp_free(nic, nic->qps[i]);
		else if (nic->qps[i])
			sne_qp_free_memory(nic->qps[i]);
	}
	for (uint32_t i = 0; i < SNE_CQS; i++)
		if (nic->cqs[i])
			sne_cq_free(nic, nic->cqs[i]);
	for (uint32_t i = 0; i < nic->mr_ids.next; i++)
		if (nic->mrs[i].live)
			sne_mr_free(nic, &nic->mrs[i]);
}

static void free_objects(struct sne_nic *nic, bool in_child)
{
	struct sne_rmsg *m;

	free_queues_and_regions(nic, in_child);
	while ((m = LIST_FIRST(&nic->rmsgs))) {
		LIST_REMOVE(m, link);
		free(m);
	}
	sne_flows_free(nic);
	free(nic->pd_ids.free);
	free(nic->ah_ids.free);
	free(nic->mr_ids.free);
	free(nic->cq_ids.free);
	free(nic->qp_ids.free);
}

void softnic_efa_close(struct softnic_efa *handle)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	bool in_child = nic->forks != sne_forks;

	sne_thread_stop(nic);
	sn_fab_close(nic->fab);
	nic->fab = NULL;
	free_objects(nic, in_child);
	sne_bar_close(&nic->bar, in_child);
	free(nic->mrs);
	free(nic);
}

void softnic_efa_reset(struct softnic_efa *handle)
{
	struct sne_nic *nic = (struct sne_nic *)handle;

	if (!sne_enter(nic))
		return;
	free_queues_and_regions(nic, false);
	for (uint32_t i = 0; i < SNE_AHS; i++)
		if (nic->ahs[i].refs)
			sne_ah_free(nic, &nic->ahs[i]);
	for (uint32_t i = 0; i < SNE_PDS; i++) {
		if (nic->pds[i].live)
			sne_id_give(&nic->pd_ids, i);
		nic->pds[i] = (struct sne_pd){ 0 };
	}
	sne_bar_reset(&nic->bar);
	sne_leave(nic);
}

void softnic_efa_caps(struct softnic_efa *handle, struct softnic_efa_caps *caps)
{
	*caps = ((struct sne_nic *)handle)->caps;
}

static bool in_flight(const struct sne_nic *nic)
{
	return nic->nheld || !TAILQ_EMPTY(&nic->unacked) || !TAILQ_EMPTY(&nic->inbox) ||
	       !TAILQ_EMPTY(&nic->senders) || !TAILQ_EMPTY(&nic->rnr) || !TAILQ_EMPTY(&nic->done) ||
	       !TAILQ_EMPTY(&nic->reads);
}

int softnic_efa_reseed(struct softnic_efa *handle, uint64_t seed)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	int err = 0;

	if (!sne_enter(nic))
		return -ENODEV;
	if (in_flight(nic)) {
		err = -EBUSY;
	} else {
		init_random(nic, seed);
		sne_ids_reset(&nic->pd_ids);
		sne_ids_reset(&nic->ah_ids);
		sne_ids_reset(&nic->mr_ids);
		sne_ids_reset(&nic->cq_ids);
		sne_ids_reset(&nic->qp_ids);
		nic->fault_rng = nic->fault.seed;
	}
	sne_leave(nic);
	return err;
}

size_t softnic_efa_object_count(struct softnic_efa *handle, const char *kind)
{
	struct sne_nic *nic = (struct sne_nic *)handle;
	const struct {
		const char *kind;
		const struct sne_ids *ids;
	} kinds[] = {
		{ "pd", &nic->pd_ids }, { "mr", &nic->mr_ids }, { "ah", &nic->ah_ids },
		{ "cq", &nic->cq_ids }, { "qp", &nic->qp_ids },
	};
	size_t n = 0;

	if (!sne_enter(nic))
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].kind))
			n = kinds[i].ids->live;
	if (!strcmp(kind, "flow"))
		n = nic->nflows;
	sne_leave(nic);
	return n;
}

void softnic_efa_counters(struct softnic_efa *handle, struct softnic_efa_counters *c)
{
	struct sne_nic *nic = (struct sne_nic *)handle;

	if (!sne_enter(nic))
		return;
	*c = nic->ctr;
	sne_leave(nic);
}
