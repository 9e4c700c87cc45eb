/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to the host's memory by bus address. */
#include "softnic/efa/nic.h"

void *sne_dma(struct sne_nic *nic, uint64_t addr, size_t len)
{
	const struct softnic_efa_host *host = &nic->config.host;
	void *p = host->dma(host->ctx, addr, len);

	if (!p)
		sne_violate(nic, SNE_V_DMA_REFUSED, "%#llx +%zu", (unsigned long long)addr, len);
	return p;
}
