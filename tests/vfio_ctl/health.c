/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that dies while it is open. The test replaces what the driver sees of it, a page of BAR0
 * at a time. The model behind it continues, unaffected.
 */
#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hw_mlx5/ctl/vfio.h"
#include "tests/harness/harness.h"
#include "tests/uverbs/opened.h"
#include "tests/vfio_ctl/vfio_ctl.h"

#define SOON_MS 30000		/* only guards against hangs */

/* PRM, "Initialization Segment" and "Health Buffer" */
enum { CMDQ_ADDR_L = 0x14, HEALTH_FW_VER = 0x230, HEALTH_COUNTER = 0x1010 };
enum { INTERFACE = 8, DISABLED = 1, RESET = 3 };

static struct m5_ctl *ctl;
static struct vf_device *dev;
static uint8_t *bar;

static void setup(void)
{
	setenv("DAPL_DBG_TYPE", "0", 1);
	ctl = opened(VFIO_IA, "gid=auto");
	dev = vf_of(ctl)->dev;
	bar = (uint8_t *)dev->uar->base_addr - (size_t)dev->uar->page_id * 4096;
}

static void teardown(void)
{
	if (ctl)
		ctl->ops->close(ctl);
}

TestSuite(health, .init = setup, .fini = teardown, .timeout = 100);

static volatile uint32_t *word(size_t offset)
{
	return (volatile uint32_t *)(volatile void *)(bar + offset);
}

/* Replaces the page that contains this word by a copy in which only the word is different. */
static void replace(size_t offset, uint32_t value)
{
	uint8_t *page = bar + offset / 4096 * 4096;
	uint32_t *copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);

	cr_assert_neq(copy, MAP_FAILED);
	for (size_t i = 0; i < 1024; i++)
		copy[i] = ((volatile uint32_t *)(volatile void *)page)[i];
	copy[offset % 4096 / 4] = htobe32(value);
	cr_assert_eq(mremap(copy, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, page), page);
}

static void told_of_the_end(void)
{
	struct m5_event ev;

	/* An event of the link may come before the fatal event. */
	cr_assert(TH_WITHIN(SOON_MS, ctl->ops->async_read(ctl, &ev) == 1 && ev.kind == M5_EVENT_FATAL));
	/* The device may have reported its failure itself, before the thread checked. */
	cr_assert(TH_WITHIN(SOON_MS, __atomic_load_n(&dev->watch.dead, __ATOMIC_SEQ_CST)));
}

static void ends_because(const char *words)
{
	told_of_the_end();
	cr_assert_str_eq(vf_health(dev), words);
}

Test(health, interface_disabled__ends_the_ia_with_that_reason)
{
	replace(CMDQ_ADDR_L, be32toh(*word(CMDQ_ADDR_L)) | DISABLED << INTERFACE);
	ends_because("its interface has been disabled");
}

Test(health, device_reset__ends_the_ia_with_that_reason)
{
	replace(CMDQ_ADDR_L, be32toh(*word(CMDQ_ADDR_L)) | RESET << INTERFACE);
	ends_because("it has been reset");
}

Test(health, device_removed__ends_the_ia_with_that_reason)
{
	replace(HEALTH_FW_VER, UINT32_MAX);
	ends_because("it has been removed");
}

Test(health, firmware_stopped__ends_the_ia_with_that_reason)
{
	const char *why = NULL;

	replace(HEALTH_COUNTER, 77);
	vfio_hurry(NULL);
	told_of_the_end();
	/* The thread checks again half a second later. */
	cr_assert(TH_WITHIN(SOON_MS, (why = vf_health(dev)) != NULL));
	cr_assert_str_eq(why, "its firmware has stopped");
}

/*
 * Firmware may pause for a moment: libmlx5 allows three seconds. A pause of two and a half must not
 * end the IAs. A pause of nearly three must be detected before libmlx5 ends the process.
 */
Test(health, firmware_pause__counts_as_stopped_after_nearly_three_seconds)
{
	static uint8_t memory[2 * 4096];
	struct mlx5dv_devx_uar uar = { .base_addr = memory };
	struct vf_device d = { .uar = &uar };
	uint32_t *counter = (uint32_t *)(void *)(memory + HEALTH_COUNTER);

	for (unsigned int ms = 1000; ms <= 3500; ms += 250) {
		vfio_time(ms);
		cr_assert_null(vf_health(&d), "the firmware counts as stopped after only %u ms",
			       ms - 1000);
	}
	*counter = htobe32(1);
	for (unsigned int ms = 3550; ms <= 3550 + 2500; ms += 250) {
		vfio_time(ms);
		cr_assert_null(vf_health(&d), "the firmware counts as stopped after only %u ms",
			       ms - 3550);
	}
	vfio_time(3550 + 2850);
	cr_assert_str_eq(vf_health(&d), "its firmware has stopped");
	vfio_time(0);
}

/*
 * If the whole machine stands still for seconds, as a virtual machine may, the firmware that shares
 * it has no chance to count before the first check afterwards. It has until the next one.
 */
Test(health, firmware_pause__together_with_the_checks_is_not_counted)
{
	static uint8_t memory[2 * 4096];
	struct mlx5dv_devx_uar uar = { .base_addr = memory };
	struct vf_device d = { .uar = &uar };
	uint32_t *counter = (uint32_t *)(void *)(memory + HEALTH_COUNTER);

	vfio_time(1000);
	cr_assert_null(vf_health(&d));
	for (unsigned int ms = 6000; ms <= 6010; ms += 5) {	/* interrupts */
		vfio_time(ms);
		cr_assert_null(vf_health(&d),
			       "the firmware counts as stopped at %u ms, just after a common pause",
			       ms);
	}
	*counter = htobe32(1);
	vfio_time(6250);
	cr_assert_null(vf_health(&d));
	/* libmlx5 would end the process at its third check, one second after the second one. */
	vfio_time(7250);
	cr_assert_null(vf_health(&d));
	vfio_time(8250);
	cr_assert_null(vf_health(&d));
	vfio_time(9250);
	cr_assert_str_eq(vf_health(&d), "its firmware has stopped");
	vfio_time(0);
}

/* The firmware runs, but does not see the command. The thread that waits for the command is
 * released. */
Test(health, command_not_answered__returns_eio_and_ends_the_ia)
{
	struct m5_port port;

	replace(HEALTH_COUNTER, 77);
	replace(CMDQ_ADDR_L, be32toh(*word(CMDQ_ADDR_L)));
	vfio_hurry(word(HEALTH_COUNTER));
	cr_assert_eq(ctl->ops->port(ctl, &port), -EIO);
	told_of_the_end();
}

static bool closed;

static void *close_other(void *other)
{
	((struct m5_ctl *)other)->ops->close(other);
	__atomic_store_n(&closed, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/*
 * An IA that is closed gives the entry of its address back by a command. While it waits for the device, the
 * thread that would release it reports an event to all IAs.
 */
Test(health, close__whose_command_is_not_answered_returns_despite_an_event)
{
	struct m5_ctl *other = opened(VFIO_IA, "ip=10.1.3.1");
	pthread_t thread;
	uint32_t before;

	replace(CMDQ_ADDR_L, be32toh(*word(CMDQ_ADDR_L)));
	cr_assert_eq(pthread_create(&thread, NULL, close_other, other), 0);
	cr_assert(TH_WITHIN(SOON_MS, __atomic_load_n(&dev->watch.calls[0], __ATOMIC_SEQ_CST) ||
			    __atomic_load_n(&dev->watch.calls[1], __ATOMIC_SEQ_CST)));
	before = __atomic_load_n(&dev->async.eq.ci, __ATOMIC_ACQUIRE);
	cr_assert_eq(th_front_fault(0, "link_down"), 0);
	cr_assert(TH_WITHIN(SOON_MS, __atomic_load_n(&dev->async.eq.ci, __ATOMIC_ACQUIRE) != before));
	replace(HEALTH_COUNTER, 77);
	vfio_hurry(word(HEALTH_COUNTER));
	cr_assert(TH_WITHIN(SOON_MS, __atomic_load_n(&closed, __ATOMIC_SEQ_CST)));
	pthread_join(thread, NULL);
	told_of_the_end();
}

enum { LOOKS_OF_TWO_MINUTES = 2 * 60 * 1000 / VF_HEALTH_MS };

/* The i-th check of a device whose firmware runs. */
static const char *look(struct vf_device *d, uint32_t i)
{
	static uint8_t memory[2 * 4096];
	static struct mlx5dv_devx_uar uar = { .base_addr = memory };

	d->uar = &uar;
	*(uint32_t *)(void *)(memory + HEALTH_COUNTER) = htobe32(i + 1);
	vfio_time(1000 + i * VF_HEALTH_MS);
	return vf_health(d);
}

/*
 * Checks a device for two minutes. Before each check another command is answered. Either one more command is
 * never answered, or each is answered after the next one has begun.
 */
static const char *health_of(bool one_waits)
{
	struct vf_device d = { 0 };
	struct m5_ctl_dv dv = { .watch = &d.watch };
	struct dv_call calls[2];
	const char *why = NULL;

	cr_assert_eq(dv_begin(&dv.ctl, &calls[1]), 0);
	for (uint32_t i = 0; i < LOOKS_OF_TWO_MINUTES && !why; i++) {
		cr_assert_eq(dv_begin(&dv.ctl, &calls[one_waits ? 0 : i % 2]), 0);
		dv_end(&calls[one_waits ? 0 : (i + 1) % 2]);
		why = look(&d, i);
	}
	vfio_time(0);
	return why;
}

Test(health, command_not_answered__while_others_are_is_detected)
{
	const char *why = health_of(true);

	cr_assert_not_null(why);
	cr_assert_str_eq(why, "a command has not been answered for a minute");
}

Test(health, commands__that_overlap_are_no_dead_device)
{
	cr_assert_null(health_of(false));
}

/* Two threads register 90 GiB and 10 GiB at once, so the smaller registration takes as long as the larger. */
Test(health, mr_reg__beside_a_larger_one_is_no_dead_device)
{
	struct vf_device d = { .watch.pinning = 100 };
	struct m5_ctl_dv dv = { .watch = &d.watch };
	struct dv_call calls[2];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(dv_begin(&dv.ctl, &calls[i]), 0);
	for (uint32_t i = 0; i < LOOKS_OF_TWO_MINUTES; i++) {
		cr_assert_null(look(&d, i), "the device counts as dead after %u checks", i);
		if (i == LOOKS_OF_TWO_MINUTES - 2) {
			dv_end(&calls[0]);
			d.watch.pinning = 10;
		}
	}
	dv_end(&calls[1]);
	vfio_time(0);
}

/* The kernel pins 128 GiB in two minutes. No command waits for the device meanwhile. */
Test(health, mr_reg__of_minutes_is_no_dead_device)
{
	const size_t len = (size_t)128 << 30;
	char *room = mmap(NULL, 2 * len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = (char *)(((uintptr_t)room + len - 1) & ~(uintptr_t)(len - 1));
	struct m5_mr mr;
	uint32_t pdn;
	void *priv;

	cr_assert_neq(room, MAP_FAILED);
	cr_assert_eq(ctl->ops->pd_alloc(ctl, &pdn, &priv), 0);
	replace(HEALTH_COUNTER, 77);
	vfio_pin_for(2 * 60 * 1000 / VF_HEALTH_MS);
	vfio_hurry(word(HEALTH_COUNTER));
	cr_expect_eq(ctl->ops->mr_reg(ctl, priv, pdn, at, len, M5_ACCESS_LOCAL_WRITE, &mr), -ENOMEM);
	cr_expect_not(__atomic_load_n(&dev->watch.dead, __ATOMIC_SEQ_CST),
		      "the device counts as dead after two minutes");
	cr_expect_eq(ctl->ops->pd_free(ctl, pdn, priv), 0);
}

/* A waiting command cannot be released here, because no descriptor is left for that. */
Test(health, device_fails__no_descriptor_is_left)
{
	calls_fail_named("F_DUPFD_CLOEXEC", EMFILE);
	cr_assert_eq(th_front_fault(0, "fatal"), 0);
	told_of_the_end();
	calls_stop();
	cr_assert_str_eq(vf_health(dev), "its firmware has failed");
}

/* The health thread checks the device again. */
Test(health, watch__interrupted_by_a_signal_still_finds_a_failure)
{
	calls_fail_named("poll", EINTR);
	cr_assert(TH_WITHIN(SOON_MS, calls_failed()));
	calls_stop();
	cr_assert_eq(th_front_fault(0, "fatal"), 0);
	told_of_the_end();
}

/* No call may reach libmlx5, because it would wait there for ever. */
Test(health, each_call__to_a_dead_device_returns_eio)
{
	struct m5_create_cq_in in = { .hdr.opcode = cpu_to_be16(M5_CMD_CREATE_CQ) };
	struct m5_ctl *other = NULL;
	struct m5_obj_out out = { 0 };
	struct m5_umem umem, umem2;
	struct m5_obj *obj = NULL, *made;
	struct m5_port port;
	struct m5_mr mr, mr2;
	static uint8_t mem[4096] __attribute__((aligned(4096)));
	uint32_t pdn, pdn2;
	void *priv, *priv2;
	char why[160] = "";

	cr_assert_eq(ctl->ops->pd_alloc(ctl, &pdn, &priv), 0);
	cr_assert_eq(ctl->ops->mr_reg(ctl, priv, pdn, mem, sizeof(mem), 0, &mr), 0);
	cr_assert_eq(ctl->ops->umem_reg(ctl, mem, sizeof(mem), &umem), 0);
	made = calloc(1, sizeof(*made));
	made->ctl = ctl;
	cr_assert_eq(th_front_fault(0, "fatal"), 0);
	told_of_the_end();

	cr_expect_eq(ctl->ops->pd_alloc(ctl, &pdn2, &priv2), -EIO);
	cr_expect_eq(ctl->ops->mr_reg(ctl, priv, pdn, mem, sizeof(mem), 0, &mr2), -EIO);
	cr_expect_eq(ctl->ops->umem_reg(ctl, mem, sizeof(mem), &umem2), -EIO);
	cr_expect_eq(ctl->ops->cmd(ctl, &in, sizeof(in), &out, sizeof(out)), -EIO);
	cr_expect_eq(ctl->ops->obj_create(ctl, &in, sizeof(in), &out, sizeof(out), &obj), -EIO);
	cr_expect_null(obj);
	cr_expect_eq(ctl->ops->obj_cmd(made, &in, sizeof(in), &out, sizeof(out)), -EIO);
	cr_expect_eq(ctl->ops->obj_destroy(made), -EIO);
	cr_expect_eq(ctl->ops->port(ctl, &port), -EIO);
	cr_expect_eq(ctl->ops->umem_dereg(ctl, &umem), -EIO);
	cr_expect_eq(ctl->ops->mr_dereg(ctl, &mr), -EIO);
	cr_expect_eq(ctl->ops->pd_free(ctl, pdn, priv), -EIO);
	cr_expect_eq(vf_eqs_create(vf_of(ctl)), -EIO);
	cr_expect_eq(m5_ctl_open(VFIO_IA, "gid=auto", &other, why, sizeof(why)), -EIO);
	cr_expect(strstr(why, "close all its IAs"), "the error does not name the cure: %s", why);
}

/* This process keeps the context of a dead device, so it cannot open the device again. */
Test(health, open__after_a_dead_device_was_closed_blames_no_other_process)
{
	char why[160] = "";

	cr_assert_eq(th_front_fault(0, "fatal"), 0);
	told_of_the_end();
	ctl->ops->close(ctl);
	ctl = NULL;
	cr_expect_eq(m5_ctl_open(VFIO_IA, "gid=auto", &ctl, why, sizeof(why)), -EIO);
	cr_expect(strstr(why, "end this process"), "the error does not name the cure: %s", why);
}

/* The ring gets more events than one read takes. The last event must still arrive. */
Test(health, port__flaps_without_a_reader_keep_the_last_event)
{
	const struct m5_eq *eq = &dev->async.eq;
	struct m5_event ev, last = { 0 };
	const uint8_t *owner;
	uint32_t end;

	pthread_mutex_lock(&dev->eq_lock);
	end = eq->ci + 100;
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(th_front_fault(0, "link_down"), 0);
		cr_assert_eq(th_front_fault(0, ""), 0);
	}
	cr_assert_lt(end, 1u << eq->log);
	owner = &eq->ring[end - 1].owner;
	cr_assert(TH_WITHIN(SOON_MS, !(__atomic_load_n(owner, __ATOMIC_ACQUIRE) & 1)));
	pthread_mutex_unlock(&dev->eq_lock);
	/* An event of the boot may be among them. */
	cr_assert(TH_WITHIN(SOON_MS, __atomic_load_n(&eq->ci, __ATOMIC_ACQUIRE) >= end));
	cr_assert(TH_WITHIN(SOON_MS, ctl->ops->async_read(ctl, &ev) == 1 &&
			    (last = ev, ev.sub_type == M5_PORT_UP)));
	cr_assert_eq(last.kind, M5_EVENT_PORT);
}
