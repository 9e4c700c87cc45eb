/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of softnic-vm that may send anything: messages of the vfio-user protocol to a ConnectX and to
 * an EFA. The input is a list of requests with changed fields, or a stream of bytes. The model's thread
 * runs beside it. After each input the client leaves, as if QEMU had been killed.
 *
 * Judges: softnic/vfio_user softnic/vfio/config.c softnic/vfio/irq.c softnic/vfio/maps.c
 */
#include <linux/vfio.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/vfio_user/vm.h"
#include "tests/fuzz/input.h"

enum { PAGES = 16, STEPS = 64, STREAM = 65536 };

static struct vm_device *devices[2];
static struct vm_message message;
static int guest;			/* the guest's memory, a memfd */

static void silent(const char *line)
{
	(void)line;
}

static void open_devices(void)
{
	struct vm_config config = { .name = "fuzz", .ports = 1, .report = silent };

	FUZZ_ASSERT(vm_device_open(&config, &devices[0]) == 0);
	config.efa = "write";
	config.index = 1;
	FUZZ_ASSERT(vm_device_open(&config, &devices[1]) == 0);
	FUZZ_ASSERT(vm_message_init(&message) == 0);
	free(message.in);
	guest = memfd_create("guest", MFD_CLOEXEC);
	FUZZ_ASSERT(guest >= 0 && ftruncate(guest, PAGES * 4096) == 0);
}

static const struct {
	uint16_t command;
	uint16_t size;			/* size of the command's structure */
} requests[] = {
	{ VM_REGION_WRITE, sizeof(struct vm_access) + 8 }, { VM_REGION_READ, sizeof(struct vm_access) },
	{ VM_DMA_MAP, sizeof(struct vm_dma_map) }, { VM_DMA_UNMAP, sizeof(struct vm_dma_unmap) },
	{ VM_SET_IRQS, sizeof(struct vfio_irq_set) + 4 }, { VM_REGION_INFO, sizeof(struct vfio_region_info) },
	{ VM_IRQ_INFO, sizeof(struct vfio_irq_info) }, { VM_DEVICE_INFO, 16 },
	{ VM_VERSION, sizeof(struct vm_version) }, { VM_RESET, 0 },
};

static void put(size_t at, uint64_t v, size_t len)
{
	if (at + len <= message.len)
		memcpy(message.in + at, &v, len);
}

/* Fills in a correct request, apart from numbers that the input selects. */
static void fill(struct fuzz_input *in, uint16_t command)
{
	switch (command) {
	case VM_REGION_READ:
	case VM_REGION_WRITE:
		put(0, fuzz_u16(in), 8);
		put(8, fuzz_below(in, 10), 4);
		put(12, command == VM_REGION_READ ? fuzz_u8(in) : message.len - sizeof(struct vm_access), 4);
		for (size_t at = sizeof(struct vm_access); at < message.len; at++)
			message.in[at] = fuzz_u8(in);
		break;
	case VM_DMA_MAP:
	case VM_DMA_UNMAP:
		put(0, message.len, 4);
		put(4, command == VM_DMA_MAP ? 3 : fuzz_below(in, 3), 4);
		put(8, command == VM_DMA_MAP ? 0 : fuzz_below(in, PAGES) * 4096ull, 8);
		put(16, (1 + fuzz_below(in, PAGES)) * 4096ull, 8);
		put(24, (1 + fuzz_below(in, PAGES)) * 4096ull, 8);
		break;
	case VM_SET_IRQS:
		put(0, message.len, 4);
		put(4, fuzz_u8(in), 4);
		put(8, fuzz_below(in, 6), 4);
		put(12, fuzz_below(in, 8), 4);
		put(16, fuzz_below(in, 3), 4);
		break;
	default:
		put(0, message.len, 4);
		put(8, fuzz_below(in, 12), 4);
	}
}

static void change_words(struct fuzz_input *in)
{
	static const uint64_t words[] = { 0, 1, 4096, UINT32_MAX, UINT64_MAX, 1u << 31, 1ull << 63,
					  ~4095ull };

	for (unsigned int n = fuzz_below(in, 4); n--;) {
		size_t at = fuzz_below(in, 16) * 4u;

		put(at, words[fuzz_below(in, 8)], fuzz_below(in, 2) ? 8 : 4);
	}
}

static void attach(struct fuzz_input *in, uint16_t command)
{
	unsigned int n = fuzz_below(in, 16) ? command == VM_DMA_MAP || command == VM_SET_IRQS :
					      fuzz_below(in, VM_FDS_MAX + 1);

	for (message.nfds = 0; message.nfds < n; message.nfds++) {
		bool memory = (command == VM_DMA_MAP) ^ !!(fuzz_below(in, 16) == 15);

		message.fds[message.nfds] = memory ? dup(guest) : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
}

static void request(struct vm_device *dev, struct fuzz_input *in)
{
	unsigned int i = fuzz_below(in, sizeof(requests) / sizeof(requests[0]));
	uint16_t command = requests[i].command;
	int err;

	message.len = requests[i].size + (fuzz_below(in, 8) == 7 ? fuzz_u8(in) : 0u);
	message.in = calloc(1, message.len + 1);
	FUZZ_ASSERT(message.in);
	fill(in, command);
	change_words(in);
	/* The buffer has an exact size, so that a sanitizer finds a read beyond it. */
	message.in = realloc(message.in, message.len ? message.len : 1);
	FUZZ_ASSERT(message.in);
	message.header = (struct vm_header){ .command = fuzz_below(in, 32) == 31 ? fuzz_u16(in) : command };
	message.fds_lost = fuzz_below(in, 64) == 63;
	attach(in, command);
	message.out_len = 0;
	message.out_fd = -1;
	err = vm_execute(dev, &message);
	FUZZ_ASSERT(err <= 0 && message.out_len <= VM_PAYLOAD_MAX && !message.nfds);
	free(message.in);
}

static void write_guest(struct fuzz_input *in)
{
	uint8_t bytes[16];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = fuzz_u8(in);
	FUZZ_ASSERT(pwrite(guest, bytes, sizeof(bytes), fuzz_u16(in) % (PAGES * 4096 - 16)) == sizeof(bytes));
}

/* Reads the replies. Without a reader the socket might have no room for them. */
static void *drain(void *sock)
{
	uint8_t reply[4096];

	while (recv(*(int *)sock, reply, sizeof(reply), 0) > 0)
		;
	return NULL;
}

static void stream(struct vm_device *dev, struct fuzz_input *in)
{
	size_t len = in->left < STREAM ? in->left : STREAM;
	pthread_t reader;
	int pair[2];

	FUZZ_ASSERT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	FUZZ_ASSERT(send(pair[0], in->at, len, MSG_DONTWAIT) == (ssize_t)len);
	shutdown(pair[0], SHUT_WR);
	FUZZ_ASSERT(!pthread_create(&reader, NULL, drain, &pair[0]));
	vm_serve(dev, pair[1]);
	pthread_join(reader, NULL);
	close(pair[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct vm_device *dev;

	if (!devices[0])
		open_devices();
	dev = devices[fuzz_below(&in, 2)];
	if (fuzz_below(&in, 4) == 3) {
		stream(dev, &in);
		return 0;
	}
	for (unsigned int i = 0; i < STEPS && in.left; i++) {
		if (fuzz_below(&in, 4) == 3)
			write_guest(&in);
		else
			request(dev, &in);
	}
	vm_device_leave(dev);
	return 0;
}
