/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "softnic/bytes.h"
#include "tests/softnic/drv.h"

static void irq(void *ctx, unsigned int vector)
{
	struct drv *d = ctx;

	cr_assert_eq(vector, 3);
	d->irqs++;
}

static void *dma(void *ctx, uint64_t addr, size_t len, bool write)
{
	struct drv *d = ctx;

	(void)write;
	if (d->refuse_len && addr < d->refuse_at + d->refuse_len && d->refuse_at < addr + len)
		return NULL;
	return (void *)(uintptr_t)addr;
}

void *drv_pages(size_t len)
{
	size_t size = (len + 4095) & ~4095ul;
	void *p = aligned_alloc(4096, size);

	cr_assert_not_null(p);
	memset(p, 0, size);
	return p;
}

void drv_begin(struct drv *d, uint16_t opcode)
{
	memset(d->in, 0, sizeof(d->in));
	sn_set(d->in, CMD_OPCODE, opcode);
}

uint8_t drv_run(struct drv *d, size_t inlen)
{
	cr_assert_eq(softnic_cmd(d->nic, d->in, inlen, d->out, sizeof(d->out)), 0);
	return d->out[0];
}

uint8_t drv_simple(struct drv *d, uint16_t opcode, uint32_t number)
{
	drv_begin(d, opcode);
	sn_set(d->in, CMD_NUMBER, number);
	return drv_run(d, 16);
}

static void list_pages(uint8_t *at, const void *mem, size_t n, uint64_t flags)
{
	for (size_t i = 0; i < n; i++)
		sn_set64(at, (uint32_t)(8 * i), ((uintptr_t)mem + 4096 * i) | flags);
}

static void open_eq(struct drv *d)
{
	uint8_t *ctx = d->in + AT_CTX;

	d->eq.log = DRV_EQ_LOG;
	d->eq.ring = drv_pages(64u << DRV_EQ_LOG);
	for (unsigned int i = 0; i < 1u << DRV_EQ_LOG; i++)
		d->eq.ring[64 * i + 63] = 1;
	drv_begin(d, CMD_CREATE_EQ);
	sn_set(ctx, EQC_LOG_SIZE, DRV_EQ_LOG);
	sn_set(ctx, EQC_UAR, d->uar);
	sn_set(ctx, EQC_INTR, 3);
	sn_set64(d->in, EQ_BITMASK, UINT64_MAX);
	list_pages(d->in + AT_PAS, d->eq.ring, (64u << DRV_EQ_LOG) / 4096, 0);
	cr_assert_eq(drv_run(d, AT_PAS + (64u << DRV_EQ_LOG) / 4096 * 8), 0);
	d->eq.eqn = sn_get(d->out, CMD_EQN);
}

static struct drv *open_config(struct softnic_config config)
{
	struct drv *d = calloc(1, sizeof(*d));

	config.flags ^= SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY;
	config.seed = 42;
	config.host.dma = dma;
	config.host.ctx = d;
	cr_assert_not_null(d);
	cr_assert_eq(softnic_open(&config, &d->nic), 0);
	cr_assert_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0);
	d->pd = sn_get(d->out, CMD_NUMBER);
	cr_assert_eq(drv_simple(d, CMD_ALLOC_UAR, 0), 0);
	d->uar = sn_get(d->out, CMD_NUMBER);
	open_eq(d);
	return d;
}

struct drv *drv_open(unsigned int flags)
{
	return drv_open_irq(flags, irq);
}

struct drv *drv_open_irq(unsigned int flags, void (*handler)(void *ctx, unsigned int vector))
{
	return drv_open_ports(flags, handler, 0);
}

struct drv *drv_open_two(unsigned int flags)
{
	return drv_open_ports(flags, irq, 2);
}

struct drv *drv_open_limited(unsigned int log_max)
{
	return open_config((struct softnic_config){ .log_max = log_max, .host.irq = irq });
}

struct drv *drv_open_ip(const uint8_t ip[16])
{
	struct softnic_config config = { .flags = SOFTNIC_LOOPBACK_ONLY, .host.irq = irq };
	struct drv *d;

	memcpy(config.ip, ip, sizeof(config.ip));
	d = open_config(config);
	drv_begin(d, CMD_SET_ROCE_ADDRESS);
	sn_set(d->in, ROCE_INDEX, 1);
	memcpy(d->in + AT_CTX + ROCE_GID, ip, sizeof(config.ip));
	sn_set(d->in + AT_CTX, ROCE_L3_TYPE, !sn_is_v4(ip));
	sn_set(d->in + AT_CTX, ROCE_VERSION, 2);
	cr_assert_eq(drv_run(d, 0x30), 0);
	return d;
}

struct drv *drv_open_ports(unsigned int flags, void (*handler)(void *ctx, unsigned int vector),
			   unsigned int ports)
{
	return open_config((struct softnic_config){ .flags = flags, .ports = ports,
							.host.irq = handler });
}

void drv_close(struct drv *d)
{
	struct softnic_violation v[4];
	size_t n;

	drv_begin(d, CMD_DESTROY_EQ);
	sn_set(d->in, CMD_EQN, d->eq.eqn);
	cr_expect_eq(drv_run(d, 16), 0);
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_UAR, d->uar), 0);
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, d->pd), 0);
	n = softnic_violations(d->nic, v, 4);
	for (size_t i = 0; i < n && i < 4; i++)
		cr_expect_fail("unexpected violation: %s (%s)", v[i].name, v[i].detail);
	/* If the test is being cleaned up, an expected violation that did not occur is ignored. */
	if (n)
		abort();
	softnic_close(d->nic);
	free(d->eq.ring);
	free(d);
}

uint64_t drv_count(struct drv *d, const char *name)
{
	struct softnic_violation v[64];
	size_t n = softnic_violations(d->nic, v, 64);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, name))
			return v[i].count;
	return 0;
}

void drv_expect(struct drv *d, const char *name)
{
	struct softnic_violation v[64];
	size_t n = softnic_violations(d->nic, v, 64);

	cr_expect_eq(n, 1, "%zu kinds of violation were reported; only %s was expected", n, name);
	for (size_t i = 0; i < n; i++)
		cr_expect_str_eq(v[i].name, name, "an unexpected violation was reported: %s: %s",
				 v[i].name, v[i].detail);
	softnic_violations_clear(d->nic);
}

uint32_t drv_umem(struct drv *d, void *mem, size_t len)
{
	size_t n = (len + 4095) / 4096;

	drv_begin(d, CMD_CREATE_UMEM);
	sn_set64(d->in + AT_CTX, UMEM_NUM_MTT, n);
	list_pages(d->in + AT_CTX + UMEM_MTT, mem, n, MTT_RD | MTT_WR);
	cr_assert_eq(drv_run(d, AT_CTX + UMEM_MTT + 8 * n), 0);
	return sn_get(d->out, CMD_NUMBER);
}

void drv_umem_free(struct drv *d, uint32_t id)
{
	cr_expect_eq(drv_simple(d, CMD_DESTROY_UMEM, id), 0);
}

static void set_rights(uint8_t *mkc, unsigned int rights)
{
	sn_set(mkc, MKC_LR, !!(rights & DRV_LR));
	sn_set(mkc, MKC_LW, !!(rights & DRV_LW));
	sn_set(mkc, MKC_RR, !!(rights & DRV_RR));
	sn_set(mkc, MKC_RW, !!(rights & DRV_RW));
	sn_set(mkc, MKC_A, !!(rights & DRV_A));
}

static void mr_create(struct drv *d, struct drv_mr *mr, size_t len, unsigned int rights, bool umr_en)
{
	size_t n = (len + 4095) / 4096;
	uint8_t *mkc = d->in + AT_CTX;

	mr->mem = drv_pages(len);
	mr->len = len;
	drv_begin(d, CMD_CREATE_MKEY);
	set_rights(mkc, rights);
	sn_set(mkc, MKC_MODE_1_0, MODE_MTT);
	sn_set(mkc, MKC_UMR_EN, umr_en);
	sn_set(mkc, MKC_QPN, 0xffffff);
	sn_set(mkc, MKC_KEY, 0x5a);
	sn_set(mkc, MKC_PD, d->pd);
	sn_set(mkc, MKC_LOG_PAGE, 12);
	sn_set64(mkc, MKC_START, (uintptr_t)mr->mem);
	sn_set64(mkc, MKC_LEN, len);
	sn_set(d->in, MKEY_PG_ACCESS, 1);
	sn_set32(mkc, MKC_XLT_SIZE, (uint32_t)(n + 1) / 2);
	sn_set32(d->in, MKEY_XLT_ACTUAL, (uint32_t)(n + 1) / 2);
	list_pages(d->in + AT_PAS, mr->mem, n, MTT_RD | MTT_WR);
	cr_assert_eq(drv_run(d, AT_PAS + (n + 1) / 2 * 16), 0);
	mr->index = sn_get(d->out, CMD_NUMBER);
	mr->key = mr->index << 8 | 0x5a;
}

void drv_mr(struct drv *d, struct drv_mr *mr, size_t len, unsigned int rights)
{
	mr_create(d, mr, len, rights, false);
}

void drv_mr_umr(struct drv *d, struct drv_mr *mr, size_t len)
{
	mr_create(d, mr, len, DRV_ALL, true);
}

void drv_mr_free(struct drv *d, struct drv_mr *mr)
{
	cr_expect_eq(drv_simple(d, CMD_DESTROY_MKEY, mr->index), 0);
	free(mr->mem);
}

uint32_t drv_window(struct drv *d, unsigned int slots)
{
	uint8_t *mkc = d->in + AT_CTX;

	drv_begin(d, CMD_CREATE_MKEY);
	sn_set(mkc, MKC_FREE, 1);
	sn_set(mkc, MKC_UMR_EN, 1);
	sn_set(mkc, MKC_LR, 1);
	sn_set(mkc, MKC_MODE_1_0, MODE_KLM);
	sn_set(mkc, MKC_QPN, 0xffffff);
	sn_set(mkc, MKC_PD, d->pd);
	sn_set(mkc, MKC_EN_RINVAL, 1);
	sn_set32(mkc, MKC_XLT_SIZE, slots);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	return sn_get(d->out, CMD_NUMBER) << 8;
}
