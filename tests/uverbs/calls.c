/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/uverbs/calls.h"

struct calls_port calls_port;

static atomic_ulong seen, victim;
static atomic_long spared;
static atomic_long held;
static _Atomic(const char *) named, failed;
static atomic_int answer;

/* The write end of the event pipe of each context; the context opened last has the highest index. */
static struct {
	struct ibv_context *ctx;
	int end, truth;
} contexts[64];
static unsigned int ncontexts;

void calls_fail(unsigned long n, int err)
{
	failed = NULL;
	answer = err;
	seen = 0;
	victim = n;
}

void calls_fail_named(const char *name, int err)
{
	calls_fail_named_after(0, name, err);
}

void calls_fail_named_after(unsigned long first, const char *name, int err)
{
	answer = err;
	spared = (long)first;
	named = name;
}

unsigned long calls_stop(void)
{
	victim = 0;
	named = NULL;
	return seen;
}

const char *calls_failed(void)
{
	return failed;
}

long calls_held(void)
{
	return held;
}

static int fail(const char *name)
{
	failed = name;
	errno = answer;
	return answer;
}

/*
 * Fails if a test has chosen this function's name. This one is for functions that other libraries call
 * too, whose calls are not counted.
 */
static int fails_if_named(const char *name)
{
	const char *only = named;

	return only && !strcmp(only, name) && spared-- <= 0 ? fail(name) : 0;
}

/* Returns 0, or the errno with which this call must fail. */
static int fails(const char *name)
{
	return ++seen == victim ? fail(name) : fails_if_named(name);
}

int calls_fails(const char *name)
{
	return fails(name);
}

int calls_fails_named(const char *name)
{
	return fails_if_named(name);
}

void *calls_made(void *made)
{
	held += made != NULL;
	return made;
}

int calls_ended(int err)
{
	held -= !err;
	return err;
}

/* ---- contexts ---- */

static int (*port_truth)(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr,
			 size_t len);

static int port_told(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	int err = fails("ibv_query_port");

	if (!err)
		err = port_truth(ctx, port, attr, len);
	if (!err && calls_port.on) {
		attr->state = calls_port.state;
		attr->link_layer = calls_port.link_layer;
		attr->lid = calls_port.lid;
		attr->pkey_tbl_len = 4;
	}
	if (!err && calls_port.max_msg_sz)
		attr->max_msg_sz = calls_port.max_msg_sz;
	return err;
}

static int (*timer_truth)(struct ibv_context *ctx, struct ibv_values_ex *values);

/* libmlx5 reads the timer only if the kernel maps it. */
static int timer_or_failure(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	int err = calls_fails_named("ibv_query_rt_values_ex");

	return err ? err : timer_truth(ctx, values);
}

/* Replaces the context's async descriptor by our pipe. */
static void take_over(struct ibv_context *ctx)
{
	struct verbs_context *v = verbs_get_ctx(ctx);
	int ends[2];

	if (calls_port.true_events)
		return;
	if (ncontexts == 64 || pipe2(ends, O_CLOEXEC))
		abort();
	contexts[ncontexts].ctx = ctx;
	contexts[ncontexts].truth = ctx->async_fd;
	contexts[ncontexts++].end = ends[1];
	ctx->async_fd = ends[0];
	port_truth = v->query_port;
	v->query_port = port_told;
	timer_truth = v->query_rt_values;
	v->query_rt_values = timer_or_failure;
}

void calls_swap_async(struct ibv_context *ctx)
{
	for (unsigned int i = 0; i < ncontexts; i++) {
		int fd = ctx->async_fd;

		if (contexts[i].ctx != ctx)
			continue;
		ctx->async_fd = contexts[i].truth;
		contexts[i].truth = fd;
	}
}

bool mlx5dv_is_supported(struct ibv_device *dev)
{
	return !fails_if_named(__func__) && CALLS_REAL(mlx5dv_is_supported)(dev);
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *dev, struct mlx5dv_context_attr *attr)
{
	struct ibv_context *ctx;

	if (fails(__func__))
		return NULL;
	ctx = calls_made(CALLS_REAL(mlx5dv_open_device)(dev, attr));
	if (ctx)
		take_over(ctx);
	return ctx;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct ibv_context *ctx;

	if (fails(__func__))
		return NULL;
	ctx = calls_made(CALLS_REAL(ibv_open_device)(dev));
	if (ctx)
		take_over(ctx);
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	unsigned int i = ncontexts;

	while (i-- > 0) {
		if (contexts[i].ctx != ctx)
			continue;
		close(contexts[i].end);
		close(ctx->async_fd);
		ctx->async_fd = contexts[i].truth;
		contexts[i] = contexts[--ncontexts];
		break;
	}
	return calls_ended(CALLS_REAL(ibv_close_device)(ctx));
}

void calls_async(enum ibv_event_type type, unsigned int port)
{
	struct {
		uint64_t element;
		uint32_t type, reserved;
	} desc = { port, type, 0 };

	if (write(contexts[ncontexts - 1].end, &desc, sizeof(desc)) != sizeof(desc))
		abort();
}

void calls_vanish(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* Closes the last writer, so that reads report the end. */
	dup2(null, contexts[ncontexts - 1].end);
	close(null);
}

struct ibv_device **ibv_get_device_list(int *n)
{
	return fails(__func__) ? NULL : CALLS_REAL(ibv_get_device_list)(n);
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	int err = fails(__func__);

	return err ? err : CALLS_REAL(ibv_query_device)(ctx, attr);
}

int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	int err = fails(__func__);

	if (err || !calls_port.gids)
		return err ? err : CALLS_REAL(_ibv_query_gid_ex)(ctx, port, index, entry, flags, size);
	if (index >= calls_port.ngids)
		return ENODATA;
	*entry = calls_port.gids[index];
	entry->gid_index = index;
	return 0;
}

int ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
	if (fails(__func__))
		return -1;
	if (!calls_port.on || index < 0 || index > 3)
		return CALLS_REAL(ibv_query_pkey)(ctx, port, index, pkey);
	*pkey = htobe16(calls_port.pkeys[index]);
	return 0;
}

/* ---- PDs, registrations, umems, UARs ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(ibv_alloc_pd)(ctx));
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return calls_ended(CALLS_REAL(ibv_dealloc_pd)(pd));
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	int err = fails(__func__);

	if (!err)
		err = CALLS_REAL(mlx5dv_init_obj)(obj, type);
	if (!err && type == MLX5DV_OBJ_AH && calls_port.router)
		memcpy(obj->ah.out->av->rmac, calls_port.router, 6);
	return err;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(ibv_create_ah)(pd, attr));
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	return calls_ended(CALLS_REAL(ibv_destroy_ah)(ah));
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(ibv_reg_mr)(pd, addr, len, access));
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(ibv_reg_mr_iova2)(pd, addr, len, iova, access));
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return calls_ended(CALLS_REAL(ibv_dereg_mr)(mr));
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *ctx, void *addr, size_t size,
					      uint32_t access)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(mlx5dv_devx_umem_reg)(ctx, addr, size, access));
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem)
{
	return calls_ended(CALLS_REAL(mlx5dv_devx_umem_dereg)(umem));
}

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *ctx, uint32_t flags)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(mlx5dv_devx_alloc_uar)(ctx, flags));
}

void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *uar)
{
	calls_ended(0);
	CALLS_REAL(mlx5dv_devx_free_uar)(uar);
}

/* ---- VFIO ---- */

struct ibv_device **mlx5dv_get_vfio_device_list(struct mlx5dv_vfio_context_attr *attr)
{
	return fails(__func__) ? NULL : CALLS_REAL(mlx5dv_get_vfio_device_list)(attr);
}

struct mlx5dv_devx_msi_vector *mlx5dv_devx_alloc_msi_vector(struct ibv_context *ctx)
{
	return fails(__func__) ? NULL : calls_made(CALLS_REAL(mlx5dv_devx_alloc_msi_vector)(ctx));
}

int mlx5dv_devx_free_msi_vector(struct mlx5dv_devx_msi_vector *msi)
{
	return calls_ended(CALLS_REAL(mlx5dv_devx_free_msi_vector)(msi));
}

/* The test calls this while there are events, so it is not counted. */
int mlx5dv_vfio_process_events(struct ibv_context *ctx)
{
	int err = CALLS_REAL(mlx5dv_vfio_process_events)(ctx);

	return err ? err : fails_if_named(__func__);
}

/* ---- Commands and objects ---- */

/* PRM, "QUERY_ROCE_ADDRESS": the index in the upper half of the third word. */
static const void *first_entry(const void *in, size_t inlen, uint8_t *copy)
{
	const uint8_t *b = in;

	if (!calls_port.gids || inlen != 16 || b[0] != 7 || b[1] != 0x60)
		return in;
	memcpy(copy, in, inlen);
	copy[8] = copy[9] = 0;
	return copy;
}

/*
 * PRM, "HCA Capabilities", after a header of 16 bytes: port_type at bit 0x1b6, cqe_version at bit 0x1fc,
 * dp_ordering of RC at bits 0x334 (all of it) and 0x1ca (READ and WRITE), further capabilities at 0x20,
 * sctr_data_cqe at bit 0x215, imaicl at bit 0x231, max_wqe_sz_sq in the 16 bits from 0x290.
 */
static void spoil_caps(const void *in, void *out, size_t outlen)
{
	const uint8_t *opcode = in;

	if (opcode[0] != 1 || opcode[1] || outlen <= 16 + 0x66)
		return;
	if (calls_port.cqe_version_0)
		((uint8_t *)out)[16 + 0x3f] &= 0xf0;
	if (calls_port.short_wqes)
		((uint8_t *)out)[16 + 0x52] = 1;
	if (calls_port.infiniband)
		((uint8_t *)out)[16 + 0x36] &= 0xfc;
	if (calls_port.reorders & CALLS_REORDERS_ALL)
		((uint8_t *)out)[16 + 0x66] |= 0x08;
	if (calls_port.reorders & CALLS_REORDERS_RW)
		((uint8_t *)out)[16 + 0x39] |= 0x20;
	if (calls_port.keeps_order)
		((uint8_t *)out)[16 + 4] |= 0x80;
	if (calls_port.no_scatter)
		((uint8_t *)out)[16 + 0x42] &= 0xfb;
	if (calls_port.no_windows)
		((uint8_t *)out)[16 + 0x46] &= 0xbf;
}

/* "Atomic Capabilities": atomic_operations at bit 0x90, atomic_size_qp at bit 0xb0. */
static void spoil_atomics(const void *in, void *out, size_t outlen)
{
	const uint8_t *b = in;

	if (b[0] != 1 || b[1] || b[7] != 7 || outlen <= 16 + 0x17)
		return;
	if (calls_port.no_fetch_add)
		((uint8_t *)out)[16 + 0x13] &= 0xfd;
	if (calls_port.no_atomics_of_8)
		((uint8_t *)out)[16 + 0x17] &= 0xf7;
}

/* QUERY_NIC_VPORT_CONTEXT: the mtu is in the last two bytes of the word at 0x24 of the context. */
static void spoil_vport(const void *in, void *out, size_t outlen)
{
	const uint16_t mtu = htobe16(calls_port.vport_mtu < 0 ? 0 : (uint16_t)calls_port.vport_mtu);
	const uint8_t *b = in;

	if (b[0] == 7 && b[1] == 0x54 && outlen > 16 + 0x27 && calls_port.vport_mtu)
		memcpy((uint8_t *)out + 16 + 0x26, &mtu, sizeof(mtu));
}

/* "HCA Capabilities 2", which the device of this test lacks: dp_ordering_force at bit 0x88. */
static bool told_caps_2(const void *in, void *out, size_t outlen)
{
	const uint8_t *b = in;

	if (!calls_port.keeps_order || b[0] != 1 || b[1] || b[7] != 0x41)
		return false;
	memset(out, 0, outlen);
	((uint8_t *)out)[16 + 0x11] = 0x80;
	return true;
}

/* Status 4, BAD_SYS_STATE, refuses this command to a user context. */
static bool refuses_roce_address(const void *in, void *out, size_t outlen)
{
	const uint8_t *b = in;

	if (!calls_port.no_roce_address || b[0] != 7 || b[1] != 0x60)
		return false;
	memset(out, 0, outlen);
	*(uint8_t *)out = 4;
	return true;
}

int mlx5dv_devx_general_cmd(struct ibv_context *ctx, const void *in, size_t inlen, void *out,
			    size_t outlen)
{
	int err = fails(__func__);
	uint8_t copy[16];

	if (!err && refuses_roce_address(in, out, outlen))
		return EREMOTEIO;
	if (!err && told_caps_2(in, out, outlen))
		return 0;
	if (!err)
		err = CALLS_REAL(mlx5dv_devx_general_cmd)(ctx, first_entry(in, inlen, copy), inlen, out,
						    outlen);
	if (err)
		return err;
	spoil_caps(in, out, outlen);
	spoil_atomics(in, out, outlen);
	spoil_vport(in, out, outlen);
	return 0;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *ctx, const void *in,
					       size_t inlen, void *out, size_t outlen)
{
	return fails(__func__) ? NULL
			       : calls_made(CALLS_REAL(mlx5dv_devx_obj_create)(ctx, in, inlen, out, outlen));
}

int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	int err = fails(__func__);

	return err ? err : CALLS_REAL(mlx5dv_devx_obj_query)(obj, in, inlen, out, outlen);
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	int err = fails_if_named(__func__);

	return err ? err : calls_ended(CALLS_REAL(mlx5dv_devx_obj_destroy)(obj));
}

/* ---- Events ---- */

int mlx5dv_devx_query_eqn(struct ibv_context *ctx, uint32_t vector, uint32_t *eqn)
{
	int err = fails(__func__);

	return err ? err : CALLS_REAL(mlx5dv_devx_query_eqn)(ctx, vector, eqn);
}

struct mlx5dv_devx_event_channel *
mlx5dv_devx_create_event_channel(struct ibv_context *ctx,
				 enum mlx5dv_devx_create_event_channel_flags flags)
{
	struct mlx5dv_devx_event_channel *made = fails(__func__) ? NULL :
		calls_made(CALLS_REAL(mlx5dv_devx_create_event_channel)(ctx, flags));

	if (made && flags)		/* channels without data are those of completions */
		calls_channel(made->fd);
	return made;
}

void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *channel)
{
	calls_ended(0);
	CALLS_REAL(mlx5dv_devx_destroy_event_channel)(channel);
}

int mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *channel,
				     struct mlx5dv_devx_obj *obj, uint16_t size, uint16_t list[],
				     uint64_t cookie)
{
	int err = fails(__func__);

	if (!err && calls_port.no_errors && list[0])
		err = EINVAL;
	return err ? err : CALLS_REAL(mlx5dv_devx_subscribe_devx_event)(channel, obj, size, list, cookie);
}

ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *channel,
			      struct mlx5dv_devx_async_event_hdr *data, size_t len)
{
	if (calls_port.events_lost > 0) {
		calls_port.events_lost--;
		errno = EOVERFLOW;
		return -1;
	}
	if (fails_if_named(__func__) || calls_channel_ended(channel->fd))
		return -1;
	return CALLS_REAL(mlx5dv_devx_get_event)(channel, data, len);
}

/* ---- Functions of the C library ---- */

int epoll_create1(int flags)
{
	return fails_if_named(__func__) ? -1 : CALLS_REAL(epoll_create1)(flags);
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return fails_if_named(__func__) ? -1 : CALLS_REAL(epoll_ctl)(epfd, op, fd, event);
}

int fcntl(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	/* Other functions do not count descriptors, because the calls below create their own. */
	if (cmd == F_GETFL && fails_if_named(__func__))
		return -1;
	if (cmd == F_DUPFD_CLOEXEC && fails_if_named("F_DUPFD_CLOEXEC"))
		return -1;
	return CALLS_REAL(fcntl)(fd, cmd, arg);
}
