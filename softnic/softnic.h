/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A software NIC, as its host sees it: commands, UAR pages, memory reached by DMA, interrupts. There is
 * no other interface. The model includes nothing from core/ or from a backend; a host (the in-process
 * access of hw_mlx5, or a preload front) includes only this header.
 *
 * Threads: every function may be called from any thread. The device has one internal lock; a call that
 * finds another thread driving the device leaves its work to that thread and returns.
 *
 * fork(): the device stays with the parent. A child may send commands and close it, to free its copy;
 * doorbells and pumps have no effect there.
 */
#ifndef SOFTNIC_H
#define SOFTNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softnic;

enum softnic_flags {
	/* Doorbells are plain stores into the UAR pages, as on hardware; the device scans the pages for
	 * them. */
	SOFTNIC_SCAN_UARS = 1 << 0,
	/* The device's thread spins, yields, then sleeps, instead of sleeping at once (preload fronts). */
	SOFTNIC_THREAD_BACKOFF = 1 << 1,
	/* No device thread: only softnic_mmio_write and softnic_pump drive it (unit tests, bench). */
	SOFTNIC_NO_THREAD = 1 << 2,
	/* Poisons consumed WQEs, delays work in batches, flushes a QP later than it moves to ERR, and loses
	 * the data of a read that belongs into a CQE which the request does not have: finds driver bugs that
	 * the memory ordering of x86 hides. */
	SOFTNIC_ADVERSARIAL = 1 << 3,
	/* The device does not join the fabric: only its own QPs reach each other. */
	SOFTNIC_LOOPBACK_ONLY = 1 << 4,
	/*
	 * The device is as after power-on: page 0 of the BAR is the initialization segment, whose
	 * command doorbell is scanned. The driver boots the device (pages, ENABLE_HCA to INIT_HCA).
	 * Needs SOFTNIC_SCAN_UARS.
	 */
	SOFTNIC_COLD = 1 << 5,
	/* The ports are InfiniBand: LIDs, partitions and no RoCE addresses. */
	SOFTNIC_INFINIBAND = 1 << 6,
	/*
	 * QPs have free-running timestamps, the default of adapters. Without it they have real-time ones
	 * only, and CREATE_QP refuses the other format.
	 */
	SOFTNIC_FREE_RUNNING = 1 << 7,
	/*
	 * The host adds the bits of each store into the command doorbell, so that none is lost. Without it
	 * a store may hide an earlier one, and the device also runs commands whose doorbell it did not see.
	 */
	SOFTNIC_KEEPS_COMMANDS = 1 << 8,
};

enum { SOFTNIC_VECTORS = 64 };	/* of MSI-X: CREATE_EQ refuses a later one */

struct softnic_host {
	/*
	 * Translates a bus address: pointer to len bytes at addr, or NULL if the host's IOMMU refuses the
	 * read or write. A NULL function means that bus addresses are this process's own virtual addresses.
	 */
	void *(*dma)(void *ctx, uint64_t addr, size_t len, bool write);
	/*
	 * Raises an MSI-X interrupt. Called while the device is being driven. The handler may read
	 * memory, write file descriptors and ring EQ doorbells with softnic_mmio_write, as a
	 * driver's handler does; they take effect after the handler returns. It must not call
	 * anything else here.
	 */
	void (*irq)(void *ctx, unsigned int vector);
	void *ctx;
};

struct softnic_config {
	unsigned int flags;		/* bits of enum softnic_flags */
	/* index of this adapter on the host, from 0; the adapter's addresses contain it */
	unsigned int index;
	unsigned int ports;		/* 1 or 2; 0 means 1 */
	/* for each kind of object, log2 of their maximum number if that is lower than the model's; 0: the
	 * model's */
	unsigned int log_max;
	/* seed of random keys and QPNs, 0: the kernel chooses it; and of a fault script without a seed */
	uint64_t seed;
	/*
	 * The BAR page that begins with the internal timer: 64 bits, big-endian, in ns. It is updated
	 * with each CQE and once a millisecond. Needs SOFTNIC_SCAN_UARS. CQEs then have timestamps.
	 * This page and later ones are no UARs. 0: there is no such page.
	 */
	uint32_t timer_page;
	/*
	 * The IP address, IPv4-mapped or IPv6, by which QPs reach devices of other hosts, as RoCEv2
	 * over UDP; all zero: the device reaches only its own host. A QP whose address path has a
	 * rlid, which is reserved on Ethernet, sends to this UDP port of the IP address rgid. If the
	 * driver makes the address a GID, a QP with this source GID reaches any RoCEv2 device, at UDP port
	 * 4791 of the IP address rgid.
	 */
	uint8_t ip[16];
	struct softnic_host host;
};

/* Returns the UDP port that peers on other hosts send to, and the RoCE MTU of its interface. 0: the
 * device has no IP address. */
uint16_t softnic_udp(struct softnic *nic, uint16_t *mtu);
/*
 * Is the port with this GID on this host, and of the same user, so that packets to it need no UDP?
 * Returns 1, 0, or -errno: the link to it cannot be made.
 */
int softnic_is_local(struct softnic *nic, const uint8_t gid[16]);

/* Returns 0, -EINVAL, -ENOMEM, -EMFILE, -EAGAIN (no thread could be created), -EADDRNOTAVAIL (ip is not
 * an address of this machine), -EMSGSIZE (its interface's MTU is too small), or -errno of the fabric's
 * sockets. */
int softnic_open(const struct softnic_config *config, struct softnic **nic);

/* Leaves the fabric and frees the device, with all objects that the host did not destroy. */
void softnic_close(struct softnic *nic);

/*
 * A function-level reset: as after softnic_open, except that the addresses stay. Also clears a fatal
 * error.
 */
void softnic_reset(struct softnic *nic);

/*
 * Executes one PRM command without mailboxes: in and out as firmware sees them. in starts with
 * opcode(16) uid(16) rsvd(16) op_mod(16); out with status(8) rsvd(24) syndrome(32). Returns 0 if the
 * command was executed (check status), -EINVAL if in or out is shorter than a header. Short out buffers
 * are truncated, long ones zero filled.
 */
int softnic_cmd(struct softnic *nic, const void *in, size_t inlen, void *out, size_t outlen);

/*
 * Changes an mkey's rights and PD to those of mkc, an mkey context. Linux's driver does that by a UMR in
 * its own queue, which the fronts do not have. Returns 0, or -EINVAL: no such mkey or PD.
 */
int softnic_mkey_modify(struct softnic *nic, uint32_t mkey, const void *mkc);

/*
 * The memory of a 4 KiB UAR page, as a BAR mapping shows it: BlueFlame and doorbells at 0x800 (four
 * registers of 512 bytes, each two halves of 256), CQ doorbell at 0x20, EQ doorbell at 0x40. NULL if the
 * page number is outside the BAR. ALLOC_UAR allocates pages.
 */
void *softnic_uar(struct softnic *nic, uint32_t page);

/*
 * The UAR page that the first ALLOC_UAR after a boot returned, which is the driver's own. Linux has all
 * its EQs there, and EQs have no record. So a front that can trap the stores to this page does so.
 */
enum { SOFTNIC_UAR_DRIVER = 4 };

/*
 * The whole BAR of UAR pages is one mapping of a memfd, so that a front can let another process map the
 * same pages. Returns the fd (owned by the device).
 */
int softnic_bar_fd(struct softnic *nic, size_t *size);

/*
 * Handles one trapped MMIO write: len is 8 (doorbell, CQ arm, EQ arm) or a multiple of 64 (BlueFlame).
 * Drives the device until it has no more immediate work. This is the in-process doorbell.
 */
void softnic_mmio_write(struct softnic *nic, uint32_t page, uint32_t offset, const void *data,
			size_t len);

/*
 * Returns the internal timer, in ns. Free-running timestamps are times of this timer. Without timer_page
 * and SOFTNIC_COLD, CQEs have timestamps only after the first call.
 */
uint64_t softnic_timer(struct softnic *nic);

/* Drives the device on the calling thread until idle. True if there was work. */
bool softnic_pump(struct softnic *nic);
/* Drives the device until idle; if another thread drives it, waits for that. On return the device has
 * seen each doorbell that was stored before the call. */
void softnic_scan(struct softnic *nic);

/* A kind of violation by the driver, counted since the device was opened. Names are stable. */
struct softnic_violation {
	const char *name;		/* "wqe.reserved_bits", "sq.overrun", ... */
	uint64_t count;
	char detail[120];		/* message of the first violation of this kind */
};

/* Fills in at most max entries, for kinds with a nonzero count. Returns the number of such kinds. */
size_t softnic_violations(struct softnic *nic, struct softnic_violation *v, size_t max);
/* The names of all violations that the model knows, NULL-terminated. */
const char *const *softnic_violation_names(void);
void softnic_violations_clear(struct softnic *nic);

/* Returns the number of live objects of a kind, for leak checks: "qp", "cq", "mkey", "pd", "uar", "umem",
 * "eq", "rmp". */
size_t softnic_object_count(struct softnic *nic, const char *kind);

/* Counters of work done since the device was opened, for tests and tools. */
struct softnic_counters {
	uint64_t doorbells, blueflames, wqes, cqes;
	uint64_t tx_packets, rx_packets, retransmits, rnr_naks, naks, drops;
	/* datagrams among the drops with a wrong ICRC, and with a sender that is no peer of the QP */
	uint64_t bad_icrc, strangers;
};
void softnic_counters(struct softnic *nic, struct softnic_counters *c);

/*
 * A seeded fault script, "" ends it: softnic-run(1) has its words, dapl-direct(7) the rules for single
 * packets. 0, or -EINVAL with the script unchanged and a reason in why; -ENOMEM.
 */
int softnic_fault_why(struct softnic *nic, const char *script, char *why, size_t whylen);
int softnic_fault(struct softnic *nic, const char *script);	/* writes the reason to stderr */
const char *softnic_fault_words(void);	/* returns the words of a script that cause failures */

/*
 * From now on the device writes each packet that it sends or receives to a new file in the format of pcap,
 * as a packet of RoCEv2. Returns 0, -EBUSY (the device has a capture, or another one writes to the file),
 * -ENOMEM, or -errno of the file.
 */
int softnic_capture(struct softnic *nic, const char *path);

#endif
