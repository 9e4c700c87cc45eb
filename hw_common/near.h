/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory on the NUMA node of an adapter: queues, doorbell records, and rings of EVDs. */
#ifndef HW_NEAR_H
#define HW_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#define HW_NO_NODE (-1)

/* Return the node of an RDMA device or of a PCI function; HW_NO_NODE: the host does not report it. */
int hw_near_rdma(const char *device);
int hw_near_pci(const char *address);
/* Does the host have free huge pages of 2 MiB? */
bool hw_near_huge_pages(void);
/* Writes the number of the node, or unknown: attribute numa_node. */
void hw_near_text(int node, char *text, size_t len);

/*
 * Pages of this mapping that no thread has touched yet come from the node while it has free memory, and from
 * any node afterwards. Nothing happens for HW_NO_NODE.
 */
void hw_near(void *mapping, size_t len, int node);

/* Returns a zeroed mapping near the adapter, or NULL. */
void *hw_near_map(size_t len, int node);

#endif
