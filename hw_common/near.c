/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw_common/device.h"
#include "hw_common/near.h"

enum { NODES = 1024, WORD_BITS = 8 * sizeof(unsigned long) };

/* Returns the number in a file of sysfs, or -1. */
static int read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	int n;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

static int read_node(const char *path)
{
	int node = read_number(path);

	return node >= 0 && node < NODES ? node : HW_NO_NODE;
}

bool hw_near_huge_pages(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", hw_sysfs());
	return read_number(path) > 0;
}

int hw_near_rdma(const char *device)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/numa_node", hw_sysfs(), device);
	return read_node(path);
}

int hw_near_pci(const char *address)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", address);
	return read_node(path);
}

void hw_near_text(int node, char *text, size_t len)
{
	if (node < 0)
		snprintf(text, len, "unknown");
	else
		snprintf(text, len, "%d", node);
}

/* A kernel without NUMA refuses this call; all memory is then equally near. */
void hw_near(void *mapping, size_t len, int node)
{
	unsigned long nodes[NODES / WORD_BITS] = { 0 };

	if (node < 0)
		return;
	nodes[(unsigned int)node / WORD_BITS] = 1ul << ((unsigned int)node % WORD_BITS);
	syscall(SYS_mbind, mapping, len, MPOL_PREFERRED, nodes, NODES + 1, 0);
}

void *hw_near_map(size_t len, int node)
{
	void *mapping = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapping == MAP_FAILED)
		return NULL;
	hw_near(mapping, len, node);
	return mapping;
}
