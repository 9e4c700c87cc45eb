/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's calls: open and close, commands, counters, violations. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/dev.h"

static void init(struct softnic *nic, const struct softnic_config *config)
{
	nic->config = *config;
	nic->rng = config->seed;
	if (!nic->rng && getrandom(&nic->rng, sizeof(nic->rng), 0) < 0)
		nic->rng = sn_now();
	nic->infiniband = config->flags & SOFTNIC_INFINIBAND;
	nic->ports = config->ports ? config->ports : 1;
	for (unsigned int i = 0; i < SN_PORTS; i++) {
		nic->port[i].nic = nic;
		nic->port[i].number = (uint8_t)(i + 1);
	}
	TAILQ_INIT(&nic->run);
	TAILQ_INIT(&nic->err);
	nic->dev->bar_fd = -1;
	nic->dev->epoll_fd = nic->dev->event_fd = nic->dev->timer_fd = -1;
	nic->dev->roce_en = true;
	nic->stamps = config->timer_page || config->flags & SOFTNIC_COLD;
}

static void free_tables(struct softnic *nic)
{
	sn_table_each(nic, &nic->mkeys, sn_mkey_free);
	sn_table_free(&nic->qps);
	sn_table_free(&nic->srqs);
	sn_table_free(&nic->xrc_srqs);
	sn_table_free(&nic->xrcds);
	sn_table_free(&nic->mkeys);
	sn_table_free(&nic->cqs);
	sn_table_free(&nic->eqs);
	sn_table_free(&nic->umems);
	sn_table_free(&nic->uars);
	sn_table_free(&nic->pds);
	sn_table_free(&nic->uctxs);
	sn_table_free(&nic->owned);
}

static void destroy(struct softnic *nic)
{
	sn_objects_free(nic);
	free_tables(nic);
	sn_cold_close(nic);
	sn_bar_close(nic);
	sn_capture_close(nic->capture, nic->forked);
	free(nic->heap);
	free(nic->dev);
	free(nic);
}

int softnic_open(const struct softnic_config *config, struct softnic **out)
{
	struct softnic *nic;
	int err;

	if (config->ports > SN_PORTS)
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return -ENOMEM;
	nic->dev = calloc(1, sizeof(*nic->dev));
	if (!nic->dev) {
		free(nic);
		return -ENOMEM;
	}
	init(nic, config);
	err = sn_bar_open(nic);
	if (!err)
		err = sn_cold_open(nic);
	if (!err)
		err = sn_mkey_reserved(nic);
	if (err)
		goto destroy;
	err = sn_fabric_open(nic);
	if (err)
		goto destroy;
	if (nic->dev->cold)
		sn_port_reset(nic);
	err = sn_fork_add(nic);
	if (err)
		goto close_fabric;
	err = sn_thread_start(nic);
	if (err)
		goto remove;
	*out = nic;
	return 0;
remove:
	sn_fork_remove(nic);
close_fabric:
	sn_fabric_close(nic);
destroy:
	destroy(nic);
	return err;
}

void softnic_close(struct softnic *nic)
{
	sn_thread_stop(nic);
	sn_fork_remove(nic);
	sn_table_each(nic, &nic->qps, sn_qp_free);
	sn_fabric_close(nic);
	destroy(nic);
}

void softnic_reset(struct softnic *nic)
{
	sn_enter(nic);
	sn_objects_free(nic);
	sn_mappings_forget(nic);
	nic->fatal = false;
	if (nic->dev->cold)
		sn_cold_reset(nic);
	sn_leave(nic);
}

/* The reserved lkey belongs to the device and is not counted. */
size_t softnic_object_count(struct softnic *nic, const char *kind)
{
	const struct {
		const char *kind;
		const struct sn_table *table;
		size_t own;		/* number of objects that belong to the device itself */
	} kinds[] = {
		{ "qp", &nic->qps, 0 }, { "cq", &nic->cqs, 0 },	    { "mkey", &nic->mkeys, 1 },
		{ "pd", &nic->pds, 0 }, { "uar", &nic->uars, 0 },   { "umem", &nic->umems, 0 },
		{ "eq", &nic->eqs, 0 }, { "rmp", &nic->srqs, 0 },
	};
	size_t n = 0;

	sn_enter(nic);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].kind))
			n = kinds[i].table->live - kinds[i].own;
	sn_leave(nic);
	return n;
}

void softnic_counters(struct softnic *nic, struct softnic_counters *c)
{
	sn_enter(nic);
	*c = nic->ctr;
	sn_leave(nic);
}

int softnic_is_local(struct softnic *nic, const uint8_t gid[16])
{
	int err;

	sn_enter(nic);
	err = sn_fabric_reach(nic, gid);
	/* Wakes the thread: sn_fabric_reach may have read a peer's wake-up, or made a link whose packets
	 * wake no thread yet. */
	sn_thread_wake(nic);
	sn_leave(nic);
	if (err == -EHOSTUNREACH)
		return 0;
	return err && err != -EBUSY ? err : 1;
}

static const char *const names[SN_V_COUNT + 1] = {
#define X(id, name) [SN_V_##id] = name,
	SN_VIOLATIONS(X)
#undef X
};

const char *const *softnic_violation_names(void)
{
	return names;
}

size_t softnic_violations(struct softnic *nic, struct softnic_violation *v, size_t max)
{
	size_t n = 0;

	sn_enter(nic);
	for (int i = 0; i < SN_V_COUNT; i++) {
		if (!nic->viol[i].count)
			continue;
		if (n < max) {
			v[n] = nic->viol[i];
			v[n].name = names[i];
		}
		n++;
	}
	sn_leave(nic);
	return n;
}

void softnic_violations_clear(struct softnic *nic)
{
	sn_enter(nic);
	memset(nic->viol, 0, sizeof(nic->viol));
	sn_leave(nic);
}

int softnic_cmd(struct softnic *nic, const void *in, size_t inlen, void *out, size_t outlen)
{
	uint8_t full[SN_CMD_OUT_MAX];

	if (inlen < 8 || outlen < 8)
		return -EINVAL;
	sn_enter(nic);
	sn_cmd_run(nic, in, inlen, full, outlen);
	sn_thread_recall(nic);
	sn_leave(nic);
	memset(out, 0, outlen);
	memcpy(out, full, outlen < sizeof(full) ? outlen : sizeof(full));
	return 0;
}

int softnic_mkey_modify(struct softnic *nic, uint32_t mkey, const void *mkc)
{
	int err;

	sn_enter(nic);
	err = sn_mkey_modify(nic, mkey, mkc);
	sn_leave(nic);
	return err;
}
