/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a client: each command's message is checked, then executed. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "softnic/vfio_user/vm.h"

typedef int request_fn(struct vm_device *dev, struct vm_message *m);

static int reply_with(struct vm_message *m, const void *data, size_t len)
{
	memcpy(m->out, data, len);
	m->out_len = len;
	return 0;
}

/* The client may propose a higher minor version: the reply has ours. */
static int version(struct vm_device *dev, struct vm_message *m)
{
	const struct vm_version *in = (const void *)m->in;
	struct vm_version out = { .major = VM_MAJOR, .minor = VM_MINOR };
	int n;

	if (in->major != VM_MAJOR) {
		vm_report(dev, "protocol version %u.%u; only %u.%u is known", in->major, in->minor, VM_MAJOR,
			  VM_MINOR);
		return -ENOTSUP;
	}
	if (m->len > sizeof(*in) && m->in[m->len - 1])
		return -EINVAL;
	memcpy(m->out, &out, sizeof(out));
	n = snprintf((char *)m->out + sizeof(out), VM_PAYLOAD_MAX - sizeof(out),
		     "{\"capabilities\":{\"max_msg_fds\":%d,\"max_data_xfer_size\":%d,"
		     "\"max_dma_maps\":%d,\"pgsizes\":4096}}", VM_FDS_MAX, VM_TRANSFER_MAX, VM_MAPS_MAX);
	m->out_len = sizeof(out) + (size_t)n + 1;
	return 0;
}

static int device_info(struct vm_device *dev, struct vm_message *m)
{
	const struct vfio_device_info info = {
		.argsz = offsetof(struct vfio_device_info, num_irqs) + sizeof(info.num_irqs),
		.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
		.num_regions = VFIO_PCI_NUM_REGIONS,
		.num_irqs = VFIO_PCI_NUM_IRQS,
	};

	(void)dev;
	return reply_with(m, &info, info.argsz);
}

static int irq_info(struct vm_device *dev, struct vm_message *m)
{
	struct vfio_irq_info info;
	int err;

	memcpy(&info, m->in, sizeof(info));
	err = vf_irq_info(&dev->irqs, &info);
	info.argsz = sizeof(info);
	return err ? err : reply_with(m, &info, sizeof(info));
}

/*
 * Sets interrupts like the ioctl of VFIO, except that the eventfds come with the message, one for each
 * vector. A message without descriptors removes those of the vectors.
 */
static int set_irqs(struct vm_device *dev, struct vm_message *m)
{
	union {
		struct vfio_irq_set set;
		uint8_t bytes[sizeof(struct vfio_irq_set) + VF_VECTORS * sizeof(int32_t)];
	} u;
	struct vfio_irq_set *set = &u.set;
	size_t data = m->len - sizeof(*set);

	memcpy(set, m->in, sizeof(*set));
	if (set->count > VF_VECTORS || data > VF_VECTORS * sizeof(int32_t))
		return -EINVAL;
	if (!(set->flags & VFIO_IRQ_SET_DATA_EVENTFD)) {
		memcpy(set->data, m->in + sizeof(*set), data);
		set->argsz = (uint32_t)(sizeof(*set) + data);
		return m->nfds ? -EINVAL : vf_irq_set(&dev->irqs, set);
	}
	if (m->nfds && m->nfds != set->count)
		return -EINVAL;
	for (uint32_t i = 0; i < set->count; i++)
		memcpy(set->data + i * sizeof(int32_t), m->nfds ? &m->fds[i] : &(int32_t){ -1 },
		       sizeof(int32_t));
	set->argsz = (uint32_t)(sizeof(*set) + set->count * sizeof(int32_t));
	return vf_irq_set(&dev->irqs, set);
}

static int reset(struct vm_device *dev, struct vm_message *m)
{
	(void)m;
	vm_device_reset(dev);
	return 0;
}

/* more: data may follow the structure. fds: descriptors may come with the message. */
static const struct {
	const char *name;
	request_fn *fn;
	size_t size;
	bool more, fds;
} requests[] = {
	[VM_VERSION] = { "VERSION", version, sizeof(struct vm_version), true, false },
	[VM_DMA_MAP] = { "DMA_MAP", vm_dma_map, sizeof(struct vm_dma_map), false, true },
	[VM_DMA_UNMAP] = { "DMA_UNMAP", vm_dma_unmap, sizeof(struct vm_dma_unmap), false, false },
	[VM_DEVICE_INFO] = { "DEVICE_GET_INFO", device_info, 16, false, false },
	[VM_REGION_INFO] = { "DEVICE_GET_REGION_INFO", vm_region_info, sizeof(struct vfio_region_info), false,
			     false },
	[VM_IRQ_INFO] = { "DEVICE_GET_IRQ_INFO", irq_info, sizeof(struct vfio_irq_info), false, false },
	[VM_SET_IRQS] = { "DEVICE_SET_IRQS", set_irqs, sizeof(struct vfio_irq_set), true, true },
	[VM_REGION_READ] = { "REGION_READ", vm_region_read, sizeof(struct vm_access), false, false },
	[VM_REGION_WRITE] = { "REGION_WRITE", vm_region_write, sizeof(struct vm_access), true, false },
	[VM_RESET] = { "DEVICE_RESET", reset, 0, false, false },
};

static const char *name_of(unsigned int command)
{
	bool known = command < sizeof(requests) / sizeof(requests[0]) && requests[command].fn;

	return known ? requests[command].name : NULL;
}

/* Another message gets no reply, because the peer might take that for a command. */
static bool is_command(const struct vm_message *m)
{
	return (m->header.flags & VM_TYPE) == VM_TYPE_COMMAND;
}

static int check(const struct vm_message *m)
{
	unsigned int command = m->header.command;

	if (!is_command(m))
		return -EINVAL;
	if (!name_of(command))
		return -ENOTSUP;
	if (m->len < requests[command].size || (m->len > requests[command].size && !requests[command].more))
		return -EINVAL;
	return m->fds_lost || (m->nfds && !requests[command].fds) ? -EINVAL : 0;
}

int vm_execute(struct vm_device *dev, struct vm_message *m)
{
	const char *name = name_of(m->header.command);
	int err = check(m);

	if (!err)
		err = requests[m->header.command].fn(dev, m);
	if (err)
		vm_report(dev, "%s (command %u), %zu bytes and %u descriptors: %s", name ? name : "unknown",
			  m->header.command, m->len, m->nfds, strerror(-err));
	vm_message_close_fds(m);
	return err;
}

/* VERSION must be the first message; any other ends the connection. */
static bool negotiate(struct vm_device *dev, int sock, struct vm_message *m)
{
	int err;

	if (vm_receive(dev, sock, m) <= 0)
		return false;
	if (m->header.command != VM_VERSION) {
		vm_report(dev, "command %u before VERSION; connection closed", m->header.command);
		return false;
	}
	err = vm_execute(dev, m);
	return is_command(m) && !vm_reply(dev, sock, m, err) && !err;
}

void vm_serve(struct vm_device *dev, int sock)
{
	struct vm_message m;
	bool goes_on = !vm_message_init(&m);

	goes_on = goes_on && negotiate(dev, sock, &m);
	while (goes_on && vm_receive(dev, sock, &m) > 0) {
		int err = vm_execute(dev, &m);

		if (is_command(&m) && !(m.header.flags & VM_NO_REPLY))
			goes_on = !vm_reply(dev, sock, &m, err);
	}
	vm_message_free(&m);
	vm_device_leave(dev);
	close(sock);
}
