/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dat_types.h - scalars, handles, flags and buffer descriptions. Included by dat.h.
 */
#ifndef _DAT_TYPES_H_
#define _DAT_TYPES_H_

#include <endian.h>

#include <dat/dat_platform_specific.h>

typedef char *DAT_NAME_PTR;

/* Bytes of an IA name with its final null. */
#define DAT_NAME_MAX_LENGTH 256

/* A named attribute, for which DAT has no member; name and value are text. */
typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

typedef enum dat_boolean {
	DAT_FALSE = 0,
	DAT_TRUE = 1
} DAT_BOOLEAN;

/* 8 bytes of the consumer. The provider returns them unchanged and does not interpret them. */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/*
 * Handles. Each points to an object whose first word points at a struct dat_provider; what
 * follows belongs to the provider.
 */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;

#define DAT_HANDLE_NULL ((DAT_HANDLE)NULL)

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR,
	DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_EVD,
	DAT_HANDLE_TYPE_IA,
	DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_PSP,
	DAT_HANDLE_TYPE_PZ,
	DAT_HANDLE_TYPE_RMR,
	DAT_HANDLE_TYPE_RSP,
	DAT_HANDLE_TYPE_CNO,
	DAT_HANDLE_TYPE_SRQ
} DAT_HANDLE_TYPE;

typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

/* A time in microseconds. 0: do not wait; DAT_TIMEOUT_INFINITE: wait without limit. */
typedef DAT_UINT32 DAT_TIMEOUT;

#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0)

/* How a request or receive completes. As an attribute: how all requests, or all receives, of an Endpoint
 * complete. The flags are or-ed together. */
typedef enum dat_completion_flags {
	/* The completion is an event that wakes a waiter. */
	DAT_COMPLETION_DEFAULT_FLAG		= 0x00,
	/* A successful completion makes no event, a failed one always does. Not for receives. */
	DAT_COMPLETION_SUPPRESS_FLAG		= 0x01,
	/* The sender decides whether the completion of the peer's receive wakes a waiter. */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG	= 0x02,
	/* The completion is an event that wakes no waiter. The Endpoint's attributes must have the flag,
	 * too. */
	DAT_COMPLETION_UNSIGNALLED_FLAG		= 0x04,
	/* The request starts only after all RDMA reads posted before it have completed. */
	DAT_COMPLETION_BARRIER_FENCE_FLAG	= 0x08,
	/* Only as an attribute of an Endpoint. Has the same effect as 0 here. */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG	= 0x10
} DAT_COMPLETION_FLAGS;

/* Quality of service of a connection. A provider attribute is the OR of several. */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0x00,
	DAT_QOS_HIGH_THROUGHPUT	= 0x01,
	DAT_QOS_LOW_LATENCY	= 0x02,
	DAT_QOS_ECONOMY		= 0x04,	/* neither high bandwidth nor low latency */
	DAT_QOS_PREMIUM		= 0x08	/* high bandwidth and low latency */
} DAT_QOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG	= 0x01
} DAT_CONNECT_FLAGS;

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG	= 0x01
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/* The streams whose events an EVD receives, or-ed together. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x001,
	DAT_EVD_CR_FLAG		= 0x010,
	DAT_EVD_DTO_FLAG	= 0x020,
	DAT_EVD_CONNECTION_FLAG	= 0x040,
	DAT_EVD_RMR_BIND_FLAG	= 0x080,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1F0	/* all but software events */
} DAT_EVD_FLAGS;

/* Whether the consumer or the provider makes the Endpoint for a Connection Request. */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0x00,
	DAT_PSP_PROVIDER_FLAG	= 0x01
} DAT_PSP_FLAGS;

/* Kinds of memory for an LMR. A provider attribute is the OR of several. */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x00,	/* a range of this process */
	DAT_MEM_TYPE_LMR		= 0x01,	/* the memory of another LMR */
	DAT_MEM_TYPE_SHARED_VIRTUAL	= 0x02	/* a range shared with other processes */
} DAT_MEM_TYPE;

/* Rights over a memory region, or-ed together. */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33
} DAT_MEM_PRIV_FLAGS;

/* DAT 1.0 did not distinguish local and remote. */
#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/*
 * Memory. Contexts, addresses and lengths (bytes) are in this host's byte order, in
 * triplets too; the macros give them a fixed order, for a message to a peer.
 */
typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT64 DAT_VADDR;

#define DAT_LMRC_TO_LSB(lmrc)	htole32(lmrc)
#define DAT_LMRC_TO_MSB(lmrc)	htobe32(lmrc)
#define DAT_RMRC_TO_LSB(rmrc)	htole32(rmrc)
#define DAT_RMRC_TO_MSB(rmrc)	htobe32(rmrc)
#define DAT_VADDR_TO_LSB(vaddr)	htole64(vaddr)
#define DAT_VADDR_TO_MSB(vaddr)	htobe64(vaddr)
#define DAT_VLEN_TO_LSB(vlen)	htole64(vlen)
#define DAT_VLEN_TO_MSB(vlen)	htobe64(vlen)

/* A piece of an LMR. If segment_length is 0, the other members are ignored. */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT lmr_context;
	DAT_UINT32 pad;
	DAT_VADDR virtual_address;
	DAT_VLEN segment_length;
} DAT_LMR_TRIPLET;

/* A piece of the peer's memory, with the RMR context that the peer returned for it. */
typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT rmr_context;
	DAT_UINT32 pad;
	DAT_VADDR target_address;
	DAT_VLEN segment_length;
} DAT_RMR_TRIPLET;

#endif /* _DAT_TYPES_H_ */
