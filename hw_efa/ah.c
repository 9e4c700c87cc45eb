/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Address handles. The endpoints of a PZ whose peers have the same GID share one. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hw_efa/calls.h"
#include "hw_efa/ops.h"

static void log_no_way(const struct efa_engine *eng, const uint8_t gid[16], int err)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, efa_ia(eng->ia)->dev.gid, from, sizeof(from));
	inet_ntop(AF_INET6, gid, to, sizeof(to));
	dap_log(DAP_LOG_ERR, "cannot create an address handle from GID %s to GID %s: %s%s", from, to,
		strerror(-err), err == -EINVAL ? ": is the peer in another availability zone?" : "");
}

/* Finds the address handle of this PD and GID, or creates one. A device refuses a second address handle
 * for the same PD and GID. */
static int ah_find_or_make(struct dap_ep *ep)
{
	struct efa_engine *eng = efa_ep(ep)->tx.eng;
	const uint8_t *gid = ep->remote_path.gid;
	void *pd = efa_pz(ep->pz)->pd;
	struct efa_ah *ah = eng->ahs;
	int err;

	while (ah && (ah->pd != pd || memcmp(ah->gid, gid, sizeof(ah->gid))))
		ah = ah->next;
	if (!ah) {
		ah = calloc(1, sizeof(*ah));
		if (!ah)
			return -ENOMEM;
		ah->pd = pd;
		memcpy(ah->gid, gid, sizeof(ah->gid));
		err = eng->ctl->ops->ah_create(eng->ctl, ah);
		if (err) {
			log_no_way(eng, gid, err);
			free(ah);
			return err;
		}
		ah->next = eng->ahs;
		eng->ahs = ah;
	}
	ah->refs++;
	efa_ep(ep)->cold->ah = ah;
	return 0;
}

int efa_ah_get(struct dap_ep *ep)
{
	struct efa_engine *eng = efa_ep(ep)->tx.eng;
	int err;

	pthread_mutex_lock(&eng->ah_lock);
	err = ah_find_or_make(ep);
	pthread_mutex_unlock(&eng->ah_lock);
	return err;
}

void efa_ah_put(struct dap_ep *ep)
{
	struct efa_engine *eng = efa_ep(ep)->tx.eng;
	struct efa_ah *ah = efa_ep(ep)->cold->ah, **at = &eng->ahs;

	if (!ah)
		return;
	efa_ep(ep)->cold->ah = NULL;
	pthread_mutex_lock(&eng->ah_lock);
	if (dap_invariant(&eng->ia->obj, ah->refs) && !--ah->refs) {
		while (*at != ah)
			at = &(*at)->next;
		*at = ah->next;
		eng->ctl->ops->ah_destroy(eng->ctl, ah);
		free(ah);
	}
	pthread_mutex_unlock(&eng->ah_lock);
}
