/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/common/consumer.h"
#include "perf/common/json.h"
#include "perf/dat_info/dat_info.h"
#ifdef DAP_DAT20
#include <dat2/dat_registry.h>
#else
#include <dat/dat_registry.h>
#endif

static json_t *named(DAT_COUNT n, const DAT_NAMED_ATTR *attr)
{
	json_t *j = json_object();

	for (DAT_COUNT i = 0; i < n; i++)
		json_object_set_new(j, attr[i].name, json_text(attr[i].value));
	return j;
}

static json_t *limits(const DAT_IA_ATTR *a)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I}",
			 "eps", a->max_eps, "dtos_per_ep", a->max_dto_per_ep,
			 "rdma_reads_in", a->max_rdma_read_per_ep_in,
			 "rdma_reads_out", a->max_rdma_read_per_ep_out, "evds", a->max_evds,
			 "evd_events", a->max_evd_qlen, "pzs", a->max_pzs, "lmrs", a->max_lmrs,
			 "rmrs", a->max_rmrs, "srqs", a->max_srqs,
			 "segments_per_dto", a->max_iov_segments_per_dto,
			 "segments_per_rdma_read", a->max_iov_segments_per_rdma_read,
			 "segments_per_rdma_write", a->max_iov_segments_per_rdma_write,
			 "message_bytes", (json_int_t)a->max_message_size,
			 "rdma_bytes", (json_int_t)a->max_rdma_size,
			 "lmr_bytes", (json_int_t)a->max_lmr_block_size);
}

static json_t *attributes(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p)
{
	char buf[INET6_ADDRSTRLEN], fw[24], hw[24];

	snprintf(hw, sizeof(hw), "%u.%u", a->hardware_version_major, a->hardware_version_minor);
	snprintf(fw, sizeof(fw), "%u.%u", a->firmware_version_major, a->firmware_version_minor);
	return json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:b, s:b, s:b, s:b}",
			 "vendor", json_text(a->vendor_name), "hardware", hw, "firmware", fw,
			 "address", consumer_address(a, buf, sizeof(buf)), "provider",
			 json_text(p->provider_name),
			 "limits", limits(a),
			 "transport_attributes", named(a->num_transport_attr, a->transport_attr),
			 "vendor_attributes", named(a->num_vendor_attr, a->vendor_attr),
			 "provider_attributes",
			 named(p->num_provider_specific_attr, p->provider_specific_attr),
			 "private_data_bytes", (int)p->max_private_data_size,
			 "buffer_alignment", (int)p->optimal_buffer_alignment,
			 "completion_flags", (int)p->completion_flags_supported,
			 "srq", (int)p->srq_supported, "lmr_sync_needed", (int)p->lmr_sync_req,
			 "lmr_of_lmr", (int)p->lmr_mem_types_supported & DAT_MEM_TYPE_LMR,
			 "lmr_shared", (int)p->lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL);
}

/* Collects the output of the registry and the provider on stderr while an IA is opened. */
struct captured {
	int file, stderr_copy;
};

static void capture(struct captured *c)
{
	fflush(stderr);
	c->file = memfd_create("dat_info", MFD_CLOEXEC);
	c->stderr_copy = c->file < 0 ? -1 : dup(STDERR_FILENO);
	if (c->stderr_copy >= 0)
		dup2(c->file, STDERR_FILENO);
}

/* Returns the text, without its last newline, and frees the buffer. */
static void release(struct captured *c, char *text, size_t size)
{
	ssize_t n = -1;

	fflush(stderr);
	if (c->stderr_copy >= 0) {
		dup2(c->stderr_copy, STDERR_FILENO);
		close(c->stderr_copy);
		n = pread(c->file, text, size - 1, 0);
	}
	if (c->file >= 0)
		close(c->file);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
}

static json_t *failure(DAT_RETURN ret, const char *why)
{
	const char *major = "unknown return code", *minor = "";

	dat_strerror(ret, &major, &minor);
	return json_pack("{s:s, s:s, s:I, s:o}", "code", major, "subcode", minor,
			 "value", (json_int_t)(unsigned int)ret, "why", json_text(why));
}

/* Returns the path of the library that has opened the IA. At 2.0 only an IA's handle is a number. */
static json_t *library_of(DAT_EVD_HANDLE async)
{
	Dl_info lib;
	char *path = dladdr((void *)DAT_HANDLE_TO_PROVIDER(async)->evd_query_func, &lib) ?
		     realpath(lib.dli_fname, NULL) : NULL;
	json_t *j = path ? json_text(path) : json_null();

	free(path);
	return j;
}

static bool add_open(json_t *ia, const DAT_PROVIDER_INFO *info)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH], why[2048];
	DAT_IA_HANDLE handle;
	DAT_PROVIDER_ATTR p;
	struct captured c;
	DAT_IA_ATTR a;
	DAT_RETURN ret;

	snprintf(name, sizeof(name), "%s", info->ia_name);
	capture(&c);
	ret = dat_ia_openv(name, 8, &async, &handle, info->dapl_version_major,
			   info->dapl_version_minor, info->is_thread_safe);
	release(&c, why, sizeof(why));
	if (ret == DAT_SUCCESS) {
		ret = dat_ia_query(handle, NULL, DAT_IA_FIELD_ALL, &a, DAT_PROVIDER_FIELD_ALL, &p);
		if (ret == DAT_SUCCESS) {
			info_opened(&p);
			json_object_update_new(ia, attributes(&a, &p));
			json_object_set_new(ia, "library", library_of(async));
		}
		dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
	}
	if (ret != DAT_SUCCESS)
		json_object_set_new(ia, "error", failure(ret, why));
	json_object_set_new(ia, "opened", json_boolean(ret == DAT_SUCCESS));
	return ret == DAT_SUCCESS;
}

bool info_json_ia(json_t *ias, const DAT_PROVIDER_INFO *info, bool names_only)
{
	json_t *ia = json_pack("{s:o, s:i, s:i, s:b}", "name", json_text(info->ia_name),
			       "api_major", (int)info->dapl_version_major,
			       "api_minor", (int)info->dapl_version_minor,
			       "threadsafe", (int)info->is_thread_safe);
	bool ok = names_only || add_open(ia, info);

	json_array_append_new(ias, ia);
	return ok;
}

static json_t *unnamed(const struct info_json *j)
{
	json_t *list = json_array();

	for (const struct dapl_device *d = j->devs; d < j->devs + j->n_devs; d++)
		json_array_append_new(list, json_pack("{s:o, s:s, s:o}", "name", json_text(d->name),
						      "access", d->access, "why", json_text(d->why)));
	return list;
}

static json_t *parameters(const struct info_json *j)
{
	json_t *list = json_array();

	for (const struct dapl_param *p = j->params; p < j->params + j->n_params; p++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}",
						      "adapter", p->adapter, "key", p->key,
						      "default", p->otherwise, "range", p->range,
						      "unit", p->unit, "meaning", p->meaning));
	return list;
}

static json_t *build(const struct dapl_build *b)
{
	if (!b)
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:s}", "version", b->version, "compiler", b->compiler,
			 "rdma_core", b->rdma_core, "backends", b->backends);
}

bool info_json_print(struct info_json *j)
{
	json_t *all = json_pack("{s:i, s:o, s:o, s:o, s:o}", "schema", 1, "build", build(j->build),
				"adapters", j->ias, "not_in_dat_conf", unnamed(j),
				"parameters", parameters(j));
	bool ok = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;

	json_decref(all);
	return ok;
}
