/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Missing responses (IBTA 9.7.6.1.3), and RNR NAKs (9.7.5.2.8).
 *
 * The timer is not restarted for every packet: it runs while anything is in flight. If there was
 * progress when it expires, it starts again. So a loss is detected after one to two timeouts.
 */
#include <stddef.h>

#include "softnic/mlx5/rc.h"

#define SOON_NS UINT64_C(2000000)
#define VENDOR_RETRY 0x81	/* the vendor syndrome of mlx5 for retry errors */

/* IBTA table 45, in units of 10 us */
static const uint32_t rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static struct sn_qp *qp_of(struct sn_timer *timer, size_t offset)
{
	return ((struct sn_rc *)(void *)((uint8_t *)timer - offset))->qp;
}

static bool outstanding(const struct sn_rc_req *r)
{
	return r->psn_una != r->psn_max;
}

/* IBTA 9.7.6.1.3 allows four times the timeout. Over UDP repetitions take that long, because many QPs that
 * repeat at once overrun the socket again. */
static uint64_t timeout_ns(const struct sn_qp *qp)
{
	unsigned int n = qp->av.ack_timeout & 31u;
	int tries = sn_rc_is_far(qp) ? qp->retry_count - qp->rc->req.retries : 0;

	return UINT64_C(4096) << (n < SN_RC_TIMEOUT_MIN ? SN_RC_TIMEOUT_MIN : n) << (tries < 2 ? tries : 2);
}

static void arm_ack_timer(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;

	r->progress_seen = r->progress;
	sn_timer_arm(qp->nic, &r->ack_timer, sn_now() + timeout_ns(qp));
}

void sn_rc_expect_answer(struct sn_qp *qp)
{
	/* IBTA 12.7.34: timeout 0 means no timeout. */
	if (!qp->rc->req.ack_timer.slot && qp->av.ack_timeout)
		arm_ack_timer(qp);
}

void sn_rc_retry_soon(struct sn_qp *qp)
{
	sn_timer_arm(qp->nic, &qp->rc->req.ack_timer, sn_now() + SOON_NS);
}

void sn_rc_link_lost(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;

	if (qp->state != SN_QP_RTS || !outstanding(r))
		return;
	r->link_lost = true;
	sn_timer_arm(qp->nic, &r->ack_timer, sn_now());
}

void sn_rc_made_progress(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;

	r->progress++;
	r->retries = qp->retry_count;
	r->rnr_retries = qp->rnr_retry;
	r->gap_psn = SN_RC_NO_GAP;
}

struct sn_wr *sn_rc_oldest(const struct sn_qp *qp)
{
	uint32_t i, n = sn_wr_count(qp);

	for (i = 0; i < n; i++)
		if (sn_rc_is_ours(sn_wr_at(qp, i)))
			return sn_wr_at(qp, i);
	return NULL;
}

void sn_rc_drop_response(struct sn_qp *qp, const struct sn_wr *wr)
{
	struct sn_rc_scratch *scratch = qp->rc->scratch;

	if (scratch->reader == qp && scratch->read_wr == wr)
		scratch->reader = NULL;
}

void sn_rc_fail(struct sn_qp *qp, struct sn_wr *wr, uint8_t syndrome, uint8_t vendor)
{
	sn_rc_drop_response(qp, wr);
	sn_wr_done(qp, wr, syndrome, vendor, 0);
}

/*
 * Each loss halves the window, but the window stays large enough for later packets to show the next loss.
 * If no packet at all arrives, the window becomes one packet, because the sockets may overflow. Each full
 * window that is sent enlarges it again, but only after progress: if a path loses every second packet,
 * the first of two packets would be lost again and again.
 */
static void shrink_window(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;

	if (!sn_rc_is_far(qp))
		return;
	if (sn_rc_no_progress(qp))
		r->window = 1;
	else if (r->window > SN_RC_WINDOW_LEAST)
		r->window = r->window / 2 > SN_RC_WINDOW_LEAST ? r->window / 2 : SN_RC_WINDOW_LEAST;
	r->sent = 0;
}

void sn_rc_window_grow(struct sn_qp *qp, uint32_t sent)
{
	struct sn_rc_req *r = &qp->rc->req;

	if (r->window >= SN_RC_WINDOW || sn_rc_no_progress(qp))
		return;
	r->sent += sent;
	if (r->sent < r->window)
		return;
	r->sent = 0;
	r->window += 1 + r->window / 8;
}

void sn_rc_go_back(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr = sn_rc_oldest(qp);

	shrink_window(qp);
	r->loaded = false;
	r->in_flight = 0;
	r->wr = qp->wr_head;
	while (wr && sn_rc_wr(qp, r->wr) != wr)
		r->wr++;
	r->pkt = 0;
	sn_qp_kick(qp);
}

bool sn_rc_spend_retry(struct sn_qp *qp)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr = sn_rc_oldest(qp);

	if (r->retries) {
		r->retries--;
		return true;
	}
	if (wr)
		sn_rc_fail(qp, wr, SN_SYND_TRANSPORT_RETRY, VENDOR_RETRY);
	return false;
}

static void ack_timer_fired(struct softnic *nic, struct sn_timer *timer)
{
	struct sn_qp *qp = qp_of(timer, offsetof(struct sn_rc, req.ack_timer));
	struct sn_rc_req *r = &qp->rc->req;
	bool sure = r->unreachable || r->link_lost;

	(void)nic;
	if (qp->state != SN_QP_RTS || (!outstanding(r) && !r->unreachable))
		return;
	/*
	 * The fabric itself loses nothing. A packet that the peer has not read yet is not lost, however
	 * long its process is stopped; a retransmission would only fill the ring.
	 */
	if (!sure && (r->rnr_wait || r->progress != r->progress_seen || sn_rc_peer_stalled(qp))) {
		arm_ack_timer(qp);
		return;
	}
	r->unreachable = r->link_lost = false;
	if (!sn_rc_spend_retry(qp))
		return;
	sn_rc_go_back(qp);
	sn_rc_expect_answer(qp);
}

static void rnr_timer_fired(struct softnic *nic, struct sn_timer *timer)
{
	struct sn_qp *qp = qp_of(timer, offsetof(struct sn_rc, req.rnr_timer));

	(void)nic;
	qp->rc->req.rnr_wait = false;
	sn_rc_go_back(qp);
}

void sn_rc_rnr_in(struct sn_qp *qp, uint8_t code)
{
	struct sn_rc_req *r = &qp->rc->req;
	struct sn_wr *wr = sn_rc_oldest(qp);

	if (r->rnr_wait || !wr)
		return;
	if (!r->rnr_retries) {
		sn_rc_fail(qp, wr, SN_SYND_RNR_RETRY, VENDOR_RETRY);
		return;
	}
	if (r->rnr_retries != 7)	/* 7 means infinite retries */
		r->rnr_retries--;
	r->retries = qp->retry_count;
	r->progress++;
	r->rnr_wait = true;
	sn_timer_arm(qp->nic, &r->rnr_timer, sn_now() + rnr_10us[code & 31] * UINT64_C(10000));
}

void sn_rc_timers_init(struct sn_qp *qp)
{
	qp->rc->req.ack_timer.fire = ack_timer_fired;
	qp->rc->req.rnr_timer.fire = rnr_timer_fired;
}
