/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program before the front that replaces the kernel's uverbs device: ioctls and write commands to a
 * ConnectX and to an EFA, by two contexts of each. A request begins as a valid one on existing objects; the
 * input changes attributes, lengths and bytes. Each buffer has its exact size. The answer is 0 or an errno,
 * and a closed context leaves no object and no descriptor.
 *
 * Judges: softnic/uverbs
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "tests/fuzz/uverbs.h"

int __real_softnic_open(const struct softnic_config *config, struct softnic **nic);
int __wrap_softnic_open(const struct softnic_config *config, struct softnic **nic);
int __real_softnic_efa_open(const struct softnic_efa_config *config, struct softnic_efa **nic);
int __wrap_softnic_efa_open(const struct softnic_efa_config *config, struct softnic_efa **nic);

enum { PAGES = 32, STEPS = 48, CONTEXTS = 4, FDS = 32, CORE_LEN = 128, DRV_LEN = 64 };

static struct fuzz_input in;
static struct uv_device *devices[UV_ADAPTERS];
static int contexts[CONTEXTS];		/* descriptors; the first two are of the ConnectX */
static int fds[FDS];
static unsigned int nfds;
static uint8_t *arena;			/* the program's memory, between pages that are not mapped */
static bool unmapped;			/* the request has an address that is not mapped */

/* Without a thread a run can be repeated. */
int __wrap_softnic_open(const struct softnic_config *config, struct softnic **nic)
{
	struct softnic_config c = *config;

	c.flags |= SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY;
	c.seed = 1;
	return __real_softnic_open(&c, nic);
}

int __wrap_softnic_efa_open(const struct softnic_efa_config *config, struct softnic_efa **nic)
{
	struct softnic_efa_config c = *config;

	c.flags |= SOFTNIC_EFA_NO_THREAD | SOFTNIC_EFA_LOOPBACK_ONLY;
	c.seed = 1;
	return __real_softnic_efa_open(&c, nic);
}

static bool rarely(void)
{
	return fuzz_below(&in, 8) == 7;
}

/* ---- Values ---- */

static bool is_of_type(const struct uv_obj *obj, uint32_t type)
{
	switch (type) {
	case DEVX: return obj->type == UV_DEVX;
	case PD: return obj->type == UV_PD || (obj->type == UV_DEVX && obj->opcode == PRM_ALLOC_PD);
	case CQ: return obj->type == UV_CQ || (obj->type == UV_DEVX && obj->opcode == PRM_CREATE_CQ);
	case QP: return obj->type == UV_QP || (obj->type == UV_DEVX && obj->opcode == PRM_CREATE_QP);
	case SRQ: return obj->type == UV_SRQ || (obj->type == UV_DEVX && obj->opcode == PRM_CREATE_RMP);
	default: return obj->type == type;
	}
}

static struct uv_ctx *caller;		/* context of the request */

/* The n-th object of a type, mostly of the caller's context. */
static const struct uv_obj *some_object(const struct uv_device *dev, uint32_t type)
{
	const struct uv_obj *found = NULL;
	unsigned int n = fuzz_below(&in, 4);
	bool foreign = rarely();

	for (uint32_t h = 1; h < dev->nobj; h++) {
		if (!dev->obj[h] || !is_of_type(dev->obj[h], type) ||
		    (dev->obj[h]->ctx != caller && !foreign))
			continue;
		found = dev->obj[h];
		if (!n--)
			break;
	}
	return found;
}

static uint64_t some_address(void)
{
	static const uint64_t wrong[] = { 0, 0x1000, UINT64_MAX - 0xfff, UINT64_C(1) << 63 };

	if (!rarely())
		return (uintptr_t)arena + fuzz_below(&in, PAGES - 1) * (uintptr_t)PAGE;
	if (fuzz_below(&in, 2))
		return (uintptr_t)arena + fuzz_u16(&in) % ((uintptr_t)PAGES * PAGE);
	unmapped = true;
	return fuzz_below(&in, 2) ? wrong[fuzz_below(&in, 4)] : (uintptr_t)arena + PAGES * PAGE;
}

static uint64_t value_of(const struct uv_device *dev, enum what what, uint32_t value)
{
	static const uint32_t masks[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		IBV_QP_STATE,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		IBV_QP_STATE | IBV_QP_SQ_PSN,
	};
	const struct uv_obj *obj;

	switch (what) {
	case CONST: return value;
	case CHOICE: return fuzz_below(&in, 2) ? value : 0;
	case HANDLE:
	case NUMBER:
		obj = some_object(dev, value);
		if (!obj || rarely())
			return fuzz_u8(&in);
		return what == HANDLE ? obj->handle : obj->number;
	case ADDRESS: return some_address();
	case RECORD: return (uintptr_t)arena + (PAGES - 1) * PAGE + fuzz_below(&in, 64) * 64;
	case FD: return rarely() || !nfds ? UINT32_MAX : (uint32_t)fds[fuzz_below(&in, nfds)];
	case STATE: return fuzz_below(&in, 7);
	case MASK: return masks[fuzz_below(&in, sizeof(masks) / sizeof(masks[0]))];
	case SERVICE:
		if (dev->kind->adapter == UV_EFA)
			return IBV_QPT_DRIVER;
		return fuzz_below(&in, 2) ? IBV_QPT_UD : IBV_QPT_RC;
	}
	return 0;
}

static void change_bytes(uint8_t *at, size_t len)
{
	if (!len || !rarely())
		return;
	for (unsigned int n = 1 + fuzz_below(&in, 4); n--;)
		at[fuzz_u8(&in) % len] = fuzz_u8(&in);
}

/* ---- Write commands ---- */

/* Returns the basic form of a command. The provider's part of the extended form is the same. */
static uint32_t plain(uint32_t command)
{
	switch (command) {
	case EX(CREATE_CQ): return W(CREATE_CQ);
	case EX(CREATE_QP): return W(CREATE_QP);
	default: return command;
	}
}

/* Fills in the fields of one part, addresses last: an address that the input changes could be memory of
 * this program. */
static void fill_write(const struct uv_device *dev, uint32_t command, enum part part, uint8_t *body,
		       size_t len)
{
	for (int addresses = 0; addresses < 2; addresses++) {
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			bool address = fields[i].what == ADDRESS || fields[i].what == RECORD;
			uint64_t v;

			if (fields[i].command != (part == CORE ? command : plain(command)) ||
			    fields[i].part != part || address != addresses)
				continue;
			v = value_of(dev, fields[i].what, fields[i].value);
			memcpy(body + fields[i].at, &v, fields[i].size);
			/* libibverbs registers memory at its own address. */
			if (address && command == W(REG_MR))
				memcpy(body + offsetof(struct ib_uverbs_reg_mr, hca_va), &v, sizeof(v));
		}
		if (!addresses)
			change_bytes(body, len);
	}
}

/* ---- Commands of DEVX ---- */

static void fill_prm(const struct uv_device *dev, uint16_t opcode, uint8_t *body)
{
	sn_set(body, PRM_OPCODE, opcode);
	for (size_t i = 0; i < sizeof(prm_fields) / sizeof(prm_fields[0]); i++)
		if (prm_fields[i].opcode == opcode)
			sn_set(body + prm_fields[i].base, prm_fields[i].field,
			       (uint32_t)value_of(dev, prm_fields[i].what, prm_fields[i].value));
	if (opcode == PRM_CREATE_CQ)
		sn_set(body + PRM_CTX, CQC_EQN, dev->eq.eqn);
	change_bytes(body + 2, PRM_OBJECT_IN - 2);
}

/* ---- Requests ---- */

/* A request under construction. */
static struct {
	const struct uv_device *dev;
	uint32_t command;		/* number of the command, if the request is a write command */
	uint16_t opcode;		/* opcode, if the request is a DEVX command */
	struct ib_uverbs_ioctl_hdr *hdr;
	void *buffers[MAX_ATTRS];
} request;

/* The exact size lets a sanitizer find an access beyond it. Short input lies in the attribute itself. */
static void attach(struct ib_uverbs_attr *a, const void *from, size_t len, bool output)
{
	void *copy = malloc(len ? len : 1);

	FUZZ_ASSERT(copy);
	memset(copy, 0xc3, len ? len : 1);
	if (from)
		memcpy(copy, from, len);
	request.buffers[request.hdr->num_attrs] = copy;
	a->len = (uint16_t)len;
	a->data = (uintptr_t)copy;
	if (!output && len <= sizeof(a->data)) {
		a->data = 0;
		memcpy(&a->data, copy, len);
	}
	if (rarely() && rarely())
		a->data = 0;
}

static size_t some_length(size_t usual)
{
	return rarely() ? fuzz_u16(&in) % (2 * usual + 1) : usual;
}

static void put_body(struct ib_uverbs_attr *a, enum form form, uint32_t value)
{
	static const uint16_t events[] = {PRM_EV_COMPLETION, PRM_EV_CQ_ERROR, PRM_EV_WQ_CATAS,
					  PRM_EV_PORT_CHANGE};
	const struct ib_uverbs_qp_cap cap = {
		.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1};
	enum part part = request.dev->kind->adapter == UV_EFA ? EFA : M5;
	uint8_t body[2 * PRM_OBJECT_IN + 1] = { 0 };

	if (form == CORE_IN)
		fill_write(request.dev, request.command, CORE, body, CORE_LEN);
	if (form == DRV_IN)
		fill_write(request.dev, value ? value : request.command, part, body, DRV_LEN);
	if (form == PRM_IN)
		fill_prm(request.dev, request.opcode, body);
	if (form == EVENTS)
		memcpy(body, events + fuzz_below(&in, 4), sizeof(events[0]));
	if (form == CAP)
		memcpy(body, &cap, sizeof(cap));
	attach(a, body,
	       some_length(form == PRM_IN    ? PRM_OBJECT_IN
			   : form == CORE_IN ? CORE_LEN
			   : form == EVENTS  ? sizeof(events[0])
			   : form == CAP     ? sizeof(cap)
					     : DRV_LEN),
	       false);
}

static void add_attribute(size_t i)
{
	struct ib_uverbs_attr *a = &request.hdr->attrs[request.hdr->num_attrs];

	a->attr_id = attributes[i].id;
	switch (attributes[i].form) {
	case VALUE:
		a->data = value_of(request.dev, attributes[i].what, attributes[i].value);
		if (rarely() && attributes[i].what == CONST)
			a->data = fuzz_u8(&in);
		a->len = (uint16_t)some_length(8);
		break;
	case OUT: attach(a, NULL, some_length(attributes[i].value), true); break;
	case COMMAND: a->data = request.command; break;
	case MADE: case MADE_FD: break;
	default: put_body(a, attributes[i].form, attributes[i].value); break;
	}
	request.hdr->num_attrs++;
}

/* Builds a request. The memory of its header ends with the last attribute. */
static void build(uint32_t method)
{
	size_t room = sizeof(*request.hdr) + MAX_ATTRS * sizeof(struct ib_uverbs_attr);

	memset(request.buffers, 0, sizeof(request.buffers));
	request.hdr = calloc(1, room);
	FUZZ_ASSERT(request.hdr);
	request.hdr->object_id = (uint16_t)(method >> 16);
	request.hdr->method_id = (uint16_t)method;
	request.hdr->driver_id = request.dev->kind->driver;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (attributes[i].method == method && request.hdr->num_attrs < MAX_ATTRS &&
		    !(rarely() && rarely()))
			add_attribute(i);
	request.hdr->length = (uint16_t)(sizeof(*request.hdr) +
					 request.hdr->num_attrs * sizeof(struct ib_uverbs_attr));
	request.hdr = realloc(request.hdr, request.hdr->length);
	FUZZ_ASSERT(request.hdr);
	if (rarely() && rarely())
		request.hdr->num_attrs ^= fuzz_u8(&in);
}

static void keep_fd(int fd)
{
	if (nfds < FDS)
		fds[nfds++] = fd;
	else
		close(fd);
}

static void close_fd(int fd)
{
	struct stat st;

	if (!fstat(fd, &st)) {
		close(fd);
		uv_closed(&st);
	}
}

/* Keeps the descriptors that the request has made. */
static void take_fds(uint32_t method)
{
	for (unsigned int n = 0; n < request.hdr->num_attrs; n++) {
		const struct ib_uverbs_attr *a = &request.hdr->attrs[n];
		int fd;

		for (size_t i = 0; i < ATTRIBUTES; i++)
			if (attributes[i].method == method && attributes[i].id == a->attr_id &&
			    attributes[i].form == MADE_FD)
				keep_fd((int)a->data_s64);
		if (method != DEVICE(INVOKE_WRITE) || a->attr_id != UVERBS_ATTR_CORE_OUT ||
		    (request.command != W(GET_CONTEXT) && request.command != W(CREATE_COMP_CHANNEL)))
			continue;
		memcpy(&fd, request.buffers[n], sizeof(fd));
		keep_fd(fd);
	}
}

/* Queues of a ConnectX lie in the program's memory. */
static bool is_queue(void)
{
	return request.command == W(CREATE_CQ) || request.command == EX(CREATE_CQ) ||
	       request.command == W(CREATE_SRQ) || request.command == W(RESIZE_CQ) ||
	       request.command == W(REG_MR);
}

static void run(unsigned int c, uint32_t method, uint32_t command, uint16_t opcode)
{
	struct uv_device *dev = devices[c / 2];
	int err;

	request.dev = dev;
	request.command = method == DEVICE(INVOKE_WRITE) ? command : 0;
	request.opcode = opcode;
	unmapped = false;
	caller = uv_ctx_of(dev, contexts[c]);
	FUZZ_ASSERT(caller);
	build(method);
	pthread_mutex_lock(&dev->lock);
	err = uv_ioctl(caller, request.hdr);
	pthread_mutex_unlock(&dev->lock);
	FUZZ_ASSERT(err <= 0 && err > -4096);
	FUZZ_ASSERT(err || !unmapped || !is_queue());
	if (!err)
		take_fds(method);
	for (unsigned int i = 0; i < MAX_ATTRS; i++)
		free(request.buffers[i]);
	free(request.hdr);
}

/* ---- Scripts ---- */

static void open_context(unsigned int c)
{
	if (contexts[c] >= 0)
		return;
	contexts[c] = uv_open_device(c / 2, c / 2 == UV_EFA ? &uv_efa : &uv_mlx5);
	FUZZ_ASSERT(contexts[c] >= 0);
}

/* Closes a context like close() of preload.c. */
static void close_context(unsigned int c)
{
	struct uv_device *dev = devices[c / 2];
	struct uv_ctx *ctx;

	if (contexts[c] < 0)
		return;
	pthread_mutex_lock(&dev->lock);
	ctx = uv_ctx_of(dev, contexts[c]);
	FUZZ_ASSERT(ctx && uv_ctx_ends_with(ctx, contexts[c]));
	uv_ctx_close(ctx);
	pthread_mutex_unlock(&dev->lock);
	close(contexts[c]);
	contexts[c] = -1;
}

static void step(void)
{
	static const uint16_t makers[] = {PRM_ALLOC_PD, PRM_CREATE_CQ, PRM_CREATE_QP,
					  PRM_CREATE_RMP, PRM_CREATE_MKEY};
	unsigned int c = fuzz_below(&in, CONTEXTS), what = fuzz_below(&in, 16);
	uint32_t command = fields[fuzz_below(&in, sizeof(fields) / sizeof(fields[0]))].command;
	uint16_t opcode = prm_fields[fuzz_below(&in, sizeof(prm_fields) / sizeof(prm_fields[0]))].opcode;

	if (what == 15) {
		close_context(c);
		return;
	}
	if (contexts[c] < 0) {
		open_context(c);
		run(c, DEVICE(INVOKE_WRITE), W(GET_CONTEXT), 0);
		return;
	}
	switch (what) {
	case 14: devices[c / 2]->kind->pump(devices[c / 2]); break;
	case 13:
		if (nfds)
			close_fd(fds[--nfds]);
		break;
	case 12: arena[fuzz_u16(&in)] = fuzz_u8(&in); break;
	case 11: run(c, M5_METHOD(DEVX_OBJ, DEVX_OBJ_CREATE), 0, makers[fuzz_below(&in, 5)]); break;
	case 6: case 7: case 8: case 9: case 10:
		run(c, attributes[fuzz_below(&in, ATTRIBUTES)].method, command, opcode);
		break;
	default: run(c, DEVICE(INVOKE_WRITE), command, 0); break;
	}
}

static size_t objects_of(const struct uv_device *dev)
{
	static const char *const kinds[] = { "qp", "cq", "mkey", "pd", "uar", "umem", "rmp", "mr", "ah" };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		n += dev->nic ? softnic_object_count(dev->nic, kinds[i])
			      : softnic_efa_object_count(dev->efa, kinds[i]);
	return n;
}

/* A channel whose reader is gone must not end the program. */
static void on_sigpipe(int signal)
{
	(void)signal;
	fuzz_fail(__FILE__, __LINE__, "no SIGPIPE");
}

static void open_devices(void)
{
	signal(SIGPIPE, on_sigpipe);
	arena = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FUZZ_ASSERT(arena != MAP_FAILED);
	arena += PAGE;
	FUZZ_ASSERT(!mprotect(arena, PAGES * PAGE, PROT_READ | PROT_WRITE));
	for (unsigned int c = 0; c < CONTEXTS; c++) {
		struct stat st;

		contexts[c] = -1;
		open_context(c);
		FUZZ_ASSERT(!fstat(contexts[c], &st));
		devices[c / 2] = uv_device_of(&st);
		close_context(c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static size_t own[UV_ADAPTERS];	/* objects of the front itself */
	int free_fd;

	if (!arena) {
		open_devices();
		for (unsigned int i = 0; i < UV_ADAPTERS; i++)
			own[i] = objects_of(devices[i]);
	}
	free_fd = lowest_free_fd();
	in = (struct fuzz_input){ data, size };
	nfds = 0;
	memset(arena, 0, PAGES * PAGE);
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step();
	for (unsigned int c = 0; c < CONTEXTS; c++)
		close_context(c);
	while (nfds)
		close_fd(fds[--nfds]);
	for (unsigned int i = 0; i < UV_ADAPTERS; i++) {
		FUZZ_ASSERT(objects_of(devices[i]) == own[i]);
		FUZZ_ASSERT(LIST_EMPTY(&devices[i]->chans) && LIST_EMPTY(&devices[i]->ctxs));
	}
	FUZZ_ASSERT(lowest_free_fd() == free_fd);
	return 0;
}
