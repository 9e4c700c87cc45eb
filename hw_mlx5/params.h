/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of ia_params for a ConnectX; core/param.h has the syntax. */
#ifndef M5_PARAMS_H
#define M5_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/param.h"
#include "hw_mlx5/mmio.h"

enum m5_gid_from { M5_GID_OF_IP, M5_GID_AUTO, M5_GID_GIVEN };	/* auto: made of the MAC */

/* What comes in its CQE when it is small. */
enum m5_scatter { M5_SCATTER_NONE, M5_SCATTER_RECEIVES, M5_SCATTER_READS_TOO };

struct m5_params {
	/* of every access */
	uint8_t rnr_retry;		/* 0..7; 7 repeats for ever */
	uint8_t retry_cnt;		/* 0..7 */
	uint8_t ack_timeout;		/* 4.096 us << n; 0: never */
	uint8_t min_rnr;		/* code of IBTA 9.7.5.2.8 that we ask a sender to wait */
	uint16_t inline_max;		/* bytes of a post that travel in its WQE */
	uint8_t bf_eps;			/* endpoints that get a BlueFlame register of their own */
	enum m5_mmio mmio;		/* how those use it */
	uint8_t scatter_cqe;		/* enum m5_scatter */
	bool eal;			/* queues come from the heap of the program's DPDK */
	bool base;			/* hot functions that any x86-64 processor can run */
	/* of a port behind the kernel */
	int16_t gid_index;		/* entry of the GID table; -1: the best one is found */
	uint16_t pkey;			/* InfiniBand partition */
	uint8_t sl;			/* service level, or the priority of Ethernet frames */
	/* of a device by VFIO, which has no network interface */
	bool has_ip, has_mac;
	enum m5_gid_from gid_from;
	uint8_t ip[4], mac[6], gid[16];
	/* of the software ConnectX */
	uint64_t seed;
	bool strict;			/* abort when the device found fault with this driver */
	bool memlock;			/* registrations over RLIMIT_MEMLOCK fail, as pinning does */
	bool adversarial;
	bool silicon;			/* the post and poll of a real device; it scans its UAR pages */
	char fault[128];
};

extern const struct dap_param m5_param_table[];

/* 0, or -EINVAL with the offending key in why. params may be NULL. */
int m5_params_parse(const char *params, struct m5_params *p, char *why, size_t whylen);

#endif
