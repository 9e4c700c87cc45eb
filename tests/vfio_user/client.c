/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's side of the protocol. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/vfio_user/rig.h"

atomic_uint rig_lines;

static void count(const char *line)
{
	(void)line;
	atomic_fetch_add(&rig_lines, 1);
}

static void *serve(void *arg)
{
	struct rig *r = arg;

	vm_serve(r->dev, r->served);
	return NULL;
}

void rig_connect(struct rig *r)
{
	struct timeval limit = { .tv_sec = TH_PEER_MS / 1000 };
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	r->sock = pair[0];
	r->served = pair[1];
	cr_assert_eq(setsockopt(r->sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	cr_assert_eq(pthread_create(&r->thread, NULL, serve, r), 0);
}

void rig_hang_up(struct rig *r)
{
	close(r->sock);
	r->sock = -1;
	pthread_join(r->thread, NULL);
	r->given = 0;
}

void rig_reconnect(struct rig *r)
{
	rig_hang_up(r);
	rig_connect(r);
	cr_assert_eq(rig_version(r), 0);
}

bool rig_is_cut(struct rig *r)
{
	char byte;

	return recv(r->sock, &byte, 1, 0) == 0;
}

struct rig *rig_open_with(const struct vm_config *config)
{
	struct vm_config c = *config;
	struct rig *r = calloc(1, sizeof(*r));

	cr_assert_not_null(r);
	c.name = "nic";
	c.report = count;
	cr_assert_eq(vm_device_open(&c, &r->dev), 0);
	r->ram_fd = memfd_create("guest", MFD_CLOEXEC);
	r->bar_fd = r->reply_fd = -1;
	cr_assert_eq(ftruncate(r->ram_fd, RIG_RAM), 0);
	r->ram = mmap(NULL, RIG_RAM, PROT_READ | PROT_WRITE, MAP_SHARED, r->ram_fd, 0);
	cr_assert_neq(r->ram, MAP_FAILED);
	rig_connect(r);
	cr_assert_eq(rig_version(r), 0);
	return r;
}

struct rig *rig_open(void)
{
	return rig_open_with(&(struct vm_config){ .ports = 1 });
}

void rig_close(struct rig *r)
{
	if (r->sock >= 0)
		rig_hang_up(r);
	if (r->bar)
		munmap(r->bar, r->dev->config.bar[0].size);
	if (r->bar_fd >= 0)
		close(r->bar_fd);
	munmap(r->ram, RIG_RAM);
	close(r->ram_fd);
	vm_device_close(r->dev);
	free(r);
}

void rig_send(struct rig *r, const struct vm_header *h, const void *payload, size_t len, struct rig_fds fds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
		struct cmsghdr head;
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int) * fds.n) } };
	struct iovec v[2] = { { (void *)(uintptr_t)h, sizeof(*h) }, { (void *)(uintptr_t)payload, len } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	if (fds.n) {
		memcpy(CMSG_DATA(&control.head), fds.fd, sizeof(int) * fds.n);
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * fds.n);
	}
	cr_assert_eq(sendmsg(r->sock, &m, MSG_NOSIGNAL), (ssize_t)(sizeof(*h) + len));
}

static void receive(struct rig *r, void *buf, size_t len)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control;
	struct iovec v = { buf, len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = len > 0, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = len ? recvmsg(r->sock, &m, MSG_WAITALL | MSG_CMSG_CLOEXEC) : 0;

	cr_assert_eq(n, (ssize_t)len, "transferred %zd of %zu bytes: %s", n, len, strerror(errno));
	if (len && CMSG_FIRSTHDR(&m))
		memcpy(&r->reply_fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
}

int rig_receive(struct rig *r)
{
	struct vm_header h;

	r->reply_fd = -1;
	receive(r, &h, sizeof(h));
	cr_assert_eq(h.flags & VM_TYPE, VM_TYPE_REPLY);
	cr_assert_eq(h.id, r->id, "the reply answers message %u instead of %u", h.id, r->id);
	cr_assert(h.size >= sizeof(h) && h.size - sizeof(h) <= sizeof(r->reply));
	r->reply_len = h.size - sizeof(h);
	receive(r, r->reply, r->reply_len);
	cr_assert_eq(!!(h.flags & VM_ERROR), h.error != 0);
	cr_assert(!h.error || !r->reply_len, "the error reply has a payload");
	return (int)h.error;
}

int rig_request_fds(struct rig *r, enum vm_command command, const void *payload, size_t len,
		    struct rig_fds fds)
{
	struct vm_header h = { .id = ++r->id, .command = (uint16_t)command,
			       .size = (uint32_t)(sizeof(h) + len) };

	rig_send(r, &h, payload, len, fds);
	return rig_receive(r);
}

int rig_request(struct rig *r, enum vm_command command, const void *payload, size_t len)
{
	return rig_request_fds(r, command, payload, len, (struct rig_fds){ 0 });
}

int rig_version(struct rig *r)
{
	static const char words[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":8}}";

	return rig_request(r, VM_VERSION, words, sizeof(words));
}

int rig_map(struct rig *r, uint64_t iova, uint64_t size, int fd, uint64_t offset)
{
	const struct vm_dma_map map = { .argsz = sizeof(map), .flags = 3, .offset = offset, .iova = iova,
					.size = size };

	return rig_request_fds(r, VM_DMA_MAP, &map, sizeof(map), (struct rig_fds){ &fd, fd >= 0 });
}

int rig_unmap(struct rig *r, uint64_t iova, uint64_t size)
{
	const struct vm_dma_unmap unmap = { .argsz = sizeof(unmap), .iova = iova, .size = size };

	return rig_request(r, VM_DMA_UNMAP, &unmap, sizeof(unmap));
}

int rig_read(struct rig *r, uint32_t region, uint64_t offset, void *data, uint32_t len)
{
	const struct vm_access a = { .offset = offset, .region = region, .count = len };
	int err = rig_request(r, VM_REGION_READ, &a, sizeof(a));

	if (err)
		return err;
	cr_assert_eq(r->reply_len, sizeof(a) + len);
	memcpy(data, r->reply + sizeof(a), len);
	return 0;
}

int rig_write(struct rig *r, uint32_t region, uint64_t offset, const void *data, uint32_t len)
{
	uint8_t bytes[sizeof(struct vm_access) + 4096];
	struct vm_access a = { .offset = offset, .region = region, .count = len };

	cr_assert_leq(len, 4096);
	memcpy(bytes, &a, sizeof(a));
	memcpy(bytes + sizeof(a), data, len);
	return rig_request(r, VM_REGION_WRITE, bytes, sizeof(a) + len);
}

int rig_set_irqs(struct rig *r, uint32_t index, uint32_t start, uint32_t count, struct rig_fds fds)
{
	const struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = index, .start = start, .count = count,
		.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
			(count ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE),
	};

	return rig_request_fds(r, VM_SET_IRQS, &set, sizeof(set), fds);
}

unsigned int rig_reports(const struct rig *r)
{
	return atomic_load(&r->dev->reports);
}
