/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of ia_params for a ConnectX; core/param.h has the syntax. */
#ifndef M5_PARAMS_H
#define M5_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dap.h"
#include "core/param.h"
#include "hw_mlx5/mmio.h"

enum m5_gid_from { M5_GID_OF_IP, M5_GID_AUTO, M5_GID_GIVEN };	/* auto: from the MAC address */

/* Messages whose data the adapter may put into the CQE. */
enum m5_scatter { M5_SCATTER_NONE, M5_SCATTER_RECEIVES, M5_SCATTER_READS_TOO };

struct m5_params {
	/* parameters of every access */
	uint8_t rnr_retry;		/* 0..7; 7 repeats for ever */
	uint8_t retry_cnt;		/* number of retries, 0..7 */
	uint8_t ack_timeout;		/* 4.096 us << n; 0: never */
	uint8_t min_rnr;		/* RNR timer code of IBTA 9.7.5.2.8 that we send to the peer */
	uint16_t inline_max;		/* posts up to this size travel in their WQE */
	uint8_t bf_eps;			/* endpoints that get their own BlueFlame register */
	enum m5_mmio mmio;		/* how these endpoints use their registers */
	uint8_t scatter_cqe;		/* a value of enum m5_scatter */
	bool eal;			/* queue memory from the heap of the program's DPDK */
	bool base;			/* use hot functions for any x86-64 processor */
	/* By dap_qos_index(): IP traffic class; service level, or priority of Ethernet frames. */
	uint8_t tclass[DAP_QOS_CLASSES], sl[DAP_QOS_CLASSES];
	uint8_t sl_given[DAP_QOS_CLASSES];	/* set by ia_params, not by DAPL_IB_SL */
	/* parameters for a port behind the kernel */
	int16_t gid_index;		/* entry of the GID table; -1: find the best one */
	uint16_t pkey;			/* InfiniBand partition */
	/* parameters for a device behind VFIO, which has no network interface */
	bool has_ip, has_mac;
	enum m5_gid_from gid_from;
	union dap_addr ip;
	uint8_t mac[6], gid[16];
	/* parameters of the software ConnectX */
	uint64_t seed;
	bool strict;			/* abort if the device found errors of this driver */
	bool memlock;			/* registrations above RLIMIT_MEMLOCK fail, as with pinning */
	bool adversarial;
	/* post and poll as with a real device; the model scans its UAR pages */
	bool silicon;
	char fault[512];
	char pcap[256];
};

extern const struct dap_param m5_param_table[];

/* Returns 0, or -EINVAL with the key and the reason in why. params may be NULL. */
int m5_params_parse(const char *params, struct m5_params *p, char *why, size_t whylen);

#endif
