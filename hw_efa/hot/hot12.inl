/* SPDX-License-Identifier: BSD-2-Clause */
/* One variant of hot12.c: EFA_WIDE says which, EFA_V names its functions. */

static EFA_COLD DAT_RETURN
EFA_V(efa_send12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		       unsigned int flags)
{
	if (efa_post_again(ep, EFA_SEND, n, iov, cookie, NULL, flags, EFA_WIDE))
		return DAT_SUCCESS;
	return efa_post_any(ep, EFA_SEND, n, iov, cookie, NULL, flags);
}

static EFA_COLD DAT_RETURN
EFA_V(efa_write12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	if (efa_post_again(ep, EFA_WRITE, n, iov, cookie, to, flags, EFA_WIDE))
		return DAT_SUCCESS;
	return efa_post_any(ep, EFA_WRITE, n, iov, cookie, to, flags);
}

static EFA_COLD DAT_RETURN
EFA_V(efa_read12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		       const DAT_RMR_TRIPLET *from, unsigned int flags)
{
	if (efa_post_again(ep, EFA_READ, n, iov, cookie, from, flags, EFA_WIDE))
		return DAT_SUCCESS;
	return efa_post_any(ep, EFA_READ, n, iov, cookie, from, flags);
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_send12_far)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		      unsigned int flags)
{
	return efa_post_send(ep, n, iov, cookie, flags, NULL, EFA_V(efa_send12_slow),
			     EFA_WIDE);
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_write12_far)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		       const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	return efa_post_write(ep, n, iov, cookie, to, flags, NULL, EFA_V(efa_write12_slow), EFA_WIDE);
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_read12_far)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		      const DAT_RMR_TRIPLET *from, unsigned int flags)
{
	return efa_post_read(ep, n, iov, cookie, from, flags, NULL, EFA_V(efa_read12_slow), EFA_WIDE);
}

static EFA_COLD DAT_RETURN
EFA_V(efa_recv12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		       unsigned int flags)
{
	return efa_recv_any(ep, n, iov, cookie, flags);
}

static DAT_RETURN EFA_V(efa_send12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return efa_post_send(ep, n, iov, cookie.as_64, flags, EFA_V(efa_send12_far),
			     EFA_V(efa_send12_slow), EFA_WIDE);
}

static DAT_RETURN EFA_V(efa_recv12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return efa_post_recv(ep, n, iov, cookie.as_64, flags, EFA_V(efa_recv12_slow));
}

static DAT_RETURN EFA_V(efa_read12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				    DAT_COMPLETION_FLAGS flags)
{
	return efa_post_read(ep, n, iov, cookie.as_64, from, flags, EFA_V(efa_read12_far),
			     EFA_V(efa_read12_slow), EFA_WIDE);
}

static DAT_RETURN EFA_V(efa_write12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				     DAT_COMPLETION_FLAGS flags)
{
	return efa_post_write(ep, n, iov, cookie.as_64, to, flags, EFA_V(efa_write12_far),
			      EFA_V(efa_write12_slow), EFA_WIDE);
}

static EFA_COLD DAT_RETURN EFA_V(efa_dequeue12_again)(struct dap_evd *evd, DAT_EVENT *event);

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_dequeue12_all)(struct dap_evd *evd, DAT_EVENT *event)
{
	return efa_dequeue_all(evd, event, EFA_V(efa_dequeue12_again));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_batch12)(struct dap_ep *ep)
{
	efa_batch(ep);
	efa_go(efa_ep(ep)->tx.eng);
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_turn12)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
		  const struct efa_cqe *cqe)
{
	return efa_turn_message(evd, event, ep, cqe, EFA_V(efa_batch12),
				EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_sort12)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
		  const struct efa_cqe *cqe)
{
	return efa_sort(evd, event, ep, cqe, EFA_V(efa_turn12), EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_row12)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
		 const struct efa_cqe *cqe)
{
	return efa_row(evd, event, ep, cqe, EFA_V(efa_turn12), EFA_V(efa_sort12),
		       EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_had12_request)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep)
{
	return efa_had_request(evd, event, ep, EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_had12_far)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep)
{
	return efa_had_message(evd, event, ep, NULL, EFA_V(efa_batch12),
			       EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_had12)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep)
{
	return efa_had(evd, event, ep, EFA_V(efa_had12_request), EFA_V(efa_had12_far),
		       EFA_V(efa_batch12), EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_request12)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
		     const struct efa_cqe *cqe)
{
	return efa_quick_request(evd, event, ep, cqe, EFA_V(efa_sort12));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_message12_far)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
			 const struct efa_cqe *cqe)
{
	return efa_quick_message(evd, event, ep, cqe, NULL, EFA_V(efa_row12),
				 EFA_V(efa_batch12), EFA_V(efa_dequeue12_all));
}

static __attribute__((noinline)) DAT_RETURN
EFA_V(efa_message12)(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
		     const struct efa_cqe *cqe)
{
	return efa_quick_message(evd, event, ep, cqe, EFA_V(efa_message12_far),
				 EFA_V(efa_row12), EFA_V(efa_batch12), EFA_V(efa_dequeue12_all));
}

static DAT_RETURN EFA_V(efa_dequeue12)(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return efa_dequeue(evd, event, EFA_V(efa_request12), EFA_V(efa_message12),
			   EFA_V(efa_had12), EFA_V(efa_dequeue12_all));
}

/* The hot way once more, after a CQE that was not for it. */
static EFA_COLD DAT_RETURN EFA_V(efa_dequeue12_again)(struct dap_evd *evd, DAT_EVENT *event)
{
	return EFA_V(efa_dequeue12)(evd, event);
}

#undef EFA_V
