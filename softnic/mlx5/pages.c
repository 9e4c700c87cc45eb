/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host memory for firmware. The model needs none, but requests it as firmware does and refuses unusable
 * pages. It also checks the pages: on hardware, a page unmapped from the IOMMU or written by the driver
 * would be fatal. PRM "MANAGE_PAGES".
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "softnic/mlx5/cold.h"
#include "softnic/mlx5/prm.h"

enum {
	BOOT_PAGES = 8,
	INIT_PAGES = 24,
	OBJECTS_PER_PAGE = 32,
	WORDS_PER_PAGE = SN_PAGE / 8,
	SPARE_PAGES = 8,	/* if fewer spare pages are left, the device requests more */
	CHUNK = 16,		/* fewest pages per request */
	REQUEST_MAX = 256,	/* most pages per request */
	EXCESS = 3 * CHUNK,	/* if more spare pages are left, the device returns some */
};
/*
 * Objects and their lists take memory of this process. A guest pays for them with firmware pages, and their
 * number has a limit. The driver gives the pages of a long list only after the command that made it. So the
 * lists may take more than the driver has given, up to another limit.
 */
enum {
	LISTS_AHEAD = 4096,	/* pages: 16 MiB */
	COMMAND_MAX = 512,	/* most pages that one command gives */
	PAGES_MAX = 1 << 18,	/* 1 GiB: more than all objects need */
};
enum { CANNOT_GIVE = 0, GIVE = 1, TAKE = 2, AT_LIST = 0x10 };
#define PAGES_COUNT	SN_FLD(0x60, 32)	/* input of MANAGE_PAGES; output of QUERY_PAGES */
#define PAGES_TAKEN	SN_FLD(0x40, 32)	/* output of MANAGE_PAGES */

static uint32_t objects(const struct softnic *nic)
{
	return nic->qps.live + nic->cqs.live + nic->eqs.live + nic->mkeys.live + nic->pds.live +
		nic->umems.live + nic->uars.live + nic->srqs.live;
}

static uint32_t pages_of_objects(const struct softnic *nic)
{
	if (nic->dev->cold->state != SN_BOOT_READY)
		return 0;
	return BOOT_PAGES + INIT_PAGES + (objects(nic) + OBJECTS_PER_PAGE - 1) / OBJECTS_PER_PAGE;
}

/* Returns the number of pages that firmware uses. */
static uint32_t pages_in_use(const struct softnic *nic)
{
	return pages_of_objects(nic) + (uint32_t)(nic->heap_words / WORDS_PER_PAGE);
}

int32_t sn_pages_wanted(struct softnic *nic, enum sn_page_stage stage)
{
	int32_t given = (int32_t)nic->dev->cold->npages;

	if (stage == SN_PAGES_BOOT)
		return BOOT_PAGES - given;
	if (stage == SN_PAGES_INIT)
		return BOOT_PAGES + INIT_PAGES + SPARE_PAGES - given;
	return (int32_t)pages_in_use(nic) + SPARE_PAGES - given;
}

bool sn_pages_left(const struct softnic *nic)
{
	const struct sn_cold *cold = nic->dev->cold;

	return !cold || (pages_of_objects(nic) < cold->npages &&
			 pages_in_use(nic) < cold->npages + LISTS_AHEAD);
}

/* The firmware marks a page with a hash of its address. */
static uint64_t page_mark(uint64_t page)
{
	return (page ^ UINT64_C(0x50a6e5)) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Checks one page per call, as hardware uses its pages now and then. */
static void look_at_one(struct softnic *nic)
{
	struct sn_cold *cold = nic->dev->cold;
	uint64_t page, *at;

	if (cold->state != SN_BOOT_READY || !cold->npages)
		return;
	page = cold->pages[cold->look++ % cold->npages];
	at = sn_dma(nic, page, SN_PAGE, true);
	if (at && *at != page_mark(page)) {
		sn_violate(nic, SN_V_PAGES_TOUCHED, "the page at %#llx", (unsigned long long)page);
		*at = page_mark(page);
	}
}

static void request_pages(struct softnic *nic, int32_t n)
{
	uint8_t data[28] = { 0 };

	nic->dev->cold->asked = n;
	sn_set32(data, 4, (uint32_t)n);
	sn_async(nic, SN_EV_PAGE_REQUEST, 0, data);
}

void sn_pages_balance(struct softnic *nic)
{
	struct sn_cold *cold = nic->dev->cold;
	int32_t wanted, more;

	look_at_one(nic);
	if (cold->state != SN_BOOT_READY || cold->asked || nic->fatal ||
	    !sn_eq_subscribed(nic, SN_EV_PAGE_REQUEST))
		return;
	wanted = sn_pages_wanted(nic, SN_PAGES_REGULAR);
	more = MIN(MIN(MAX(wanted, CHUNK), REQUEST_MAX), PAGES_MAX - (int32_t)cold->npages);
	if (wanted > 0 && more > 0)
		request_pages(nic, more);
	else if (wanted < -EXCESS)
		request_pages(nic, -CHUNK);
}

uint8_t sn_cmd_query_pages(struct sn_cmd *c)
{
	uint32_t stage = sn_get(c->in, CMD_OP_MOD);

	if (stage < SN_PAGES_BOOT || stage > SN_PAGES_REGULAR)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "op_mod %u", stage);
	/* Only a device that its driver boots (dev->cold) requests pages. */
	if (c->nic->dev->cold)
		sn_set(c->out, PAGES_COUNT, (uint32_t)sn_pages_wanted(c->nic, stage));
	return STAT_OK;
}

static int compare_pages(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Checks and marks the i-th page of a command, whose pages are sorted. */
static uint8_t take_in(struct sn_cmd *c, const uint64_t *given, uint32_t i)
{
	const struct sn_cold *cold = c->nic->dev->cold;
	uint64_t page = given[i], *at;

	if (page % SN_PAGE)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "%#llx is not the address of a page",
				     (unsigned long long)page);
	if ((i && given[i - 1] == page) ||
	    bsearch(&page, cold->pages, cold->npages, sizeof(page), compare_pages))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "the page at %#llx is given twice",
				     (unsigned long long)page);
	at = sn_dma(c->nic, page, SN_PAGE, true);
	if (!at)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "the page at %#llx is not mapped",
				     (unsigned long long)page);
	*at = page_mark(page);
	return STAT_OK;
}

static uint8_t accept_pages(struct sn_cmd *c, uint32_t n)
{
	struct sn_cold *cold = c->nic->dev->cold;
	uint8_t status = STAT_OK;
	uint64_t *pages;

	if (n > (c->inlen - AT_LIST) / 8)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN, "%u pages do not fit the input", n);
	if (n > COMMAND_MAX || n > PAGES_MAX - cold->npages)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "%u pages are too many", n);
	pages = realloc(cold->pages, (cold->npages + (size_t)n + 1) * sizeof(*pages));
	if (!pages)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	cold->pages = pages;
	pages += cold->npages;
	for (uint32_t i = 0; i < n; i++)
		pages[i] = sn_get64(c->in, AT_LIST + 8 * i);
	qsort(pages, n, sizeof(*pages), compare_pages);
	for (uint32_t i = 0; i < n && !status; i++)
		status = take_in(c, pages, i);
	if (status)
		return status;
	cold->npages += n;
	qsort(cold->pages, cold->npages, sizeof(*pages), compare_pages);
	if (cold->asked > 0)
		cold->asked = 0;
	return STAT_OK;
}

/* Returns spare pages to the driver, those with the highest addresses first. */
static uint8_t return_pages(struct sn_cmd *c, uint32_t n)
{
	struct sn_cold *cold = c->nic->dev->cold;
	uint32_t keep = pages_in_use(c->nic), done = 0;
	size_t room = c->outlen > AT_LIST ? (c->outlen - AT_LIST) / 8 : 0;

	if (room > (SN_CMD_OUT_MAX - AT_LIST) / 8)
		room = (SN_CMD_OUT_MAX - AT_LIST) / 8;
	while (done < n && done < room && cold->npages > keep)
		sn_set64(c->out, AT_LIST + 8 * done++, cold->pages[--cold->npages]);
	sn_set(c->out, PAGES_TAKEN, done);
	if (cold->asked < 0)
		cold->asked = 0;
	return STAT_OK;
}

uint8_t sn_cmd_manage_pages(struct sn_cmd *c)
{
	struct sn_cold *cold = c->nic->dev->cold;
	uint32_t n = sn_get(c->in, PAGES_COUNT), op = sn_get(c->in, CMD_OP_MOD);

	if (!cold)
		return sn_cmd_refuse(c, STAT_BAD_OP, "this device requests no pages");
	switch (op) {
	case CANNOT_GIVE:
		cold->asked = 0;
		return STAT_OK;
	case GIVE:
		return accept_pages(c, n);
	case TAKE:
		return return_pages(c, n);
	default:
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "op_mod %u", op);
	}
}
