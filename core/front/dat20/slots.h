/* SPDX-License-Identifier: BSD-2-Clause */
/* What a 2.0 provider adds to core/front/slots.h: the slots that 1.2 does not have, and the extension. */
#ifndef DAP_FRONT_DAT20_SLOTS_H
#define DAP_FRONT_DAT20_SLOTS_H

#include <stdarg.h>

#define FRONT_SLOTS_20(X) \
	X(csp_create) X(csp_query) X(csp_free) X(ep_common_connect) X(rmr_create_for_ep) \
	X(ep_post_send_with_invalidate) X(ep_post_rdma_read_to_rmr) X(cno_fd_create) \
	X(cno_trigger) X(ia_ha_related) X(handle_extendedop)

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
