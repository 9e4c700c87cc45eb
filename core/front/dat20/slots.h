/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that a 2.0 provider adds to core/front/slots.h: functions with other arguments, and functions
 * that 1.2 does not have.
 */
#ifndef DAP_FRONT_DAT20_SLOTS_H
#define DAP_FRONT_DAT20_SLOTS_H

#include <stdarg.h>

DAT_RETURN front_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT pd_size, const DAT_PVOID pd);
DAT_RETURN front_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			    DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *reg_size, DAT_VADDR *reg_addr);
DAT_RETURN front_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
			  DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			  DAT_RMR_CONTEXT *rmr_context);

DAT_RETURN front_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			    DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp);
DAT_RETURN front_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN front_csp_free(DAT_CSP_HANDLE csp);
DAT_RETURN front_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_TIMEOUT timeout,
				   DAT_COUNT pd_size, const DAT_PVOID pd);
DAT_RETURN front_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN front_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					      DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT rmr_context);
DAT_RETURN front_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					  DAT_COMPLETION_FLAGS flags);
DAT_RETURN front_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno);
DAT_RETURN front_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd);
DAT_RETURN front_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer);
DAT_RETURN front_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

/* ---- extension.c: the InfiniBand extension, dat_ib_extensions.h ---- */
#define FRONT_EXTENSION_VERSION 209
/* Adds the number and data of an extension's completion to those of a DTO. */
void front_extend(const struct dap_event *from, DAT_EVENT *to);
/* Adds the named attributes that consumers look for. */
void front_name_attributes(struct dap_ia *ia);

/* ---- count.c ---- */
DAT_RETURN front_query_counters(DAT_HANDLE handle, va_list args);
DAT_RETURN front_print_counters(DAT_HANDLE handle, va_list args);

#endif
