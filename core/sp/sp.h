/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points and their requests. */
#ifndef DAP_SP_H
#define DAP_SP_H

#include "core/dap.h"

enum {					/* psp_flags */
	DAP_PSP_PROVIDER = 1,		/* requests come with an endpoint */
	DAP_PSP_COMMON = 2,		/* created as a CSP of 2.0 */
};

struct dap_psp {			/* a PSP or an RSP: obj.type */
	struct dap_obj obj;
	uint64_t conn_qual;
	struct dap_evd *evd;
	uint32_t psp_flags;
	struct dap_ep *ep;		/* RSP only, until its request arrives */
	struct dap_cm_listener *listener;
	union dap_addr address;		/* DAP_PSP_COMMON: the consumer's address */
};

struct dap_cr {
	struct dap_obj obj;
	struct dap_ep *ep;		/* reserved by an RSP, or provided */
	struct dap_cm_conn *conn;
	struct dap_path remote_path;
	union dap_addr remote_addr;
	uint64_t conn_qual;
	uint32_t private_data_size;
	uint8_t private_data[DAP_MAX_PRIVATE_DATA];
};

#endif
