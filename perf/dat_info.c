/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_info: lists the IAs in the registry, their capabilities, and why one cannot be opened. It is an
 * ordinary consumer, so it shows what a program sees. In addition it asks this project's provider for
 * adapters without a line in dat.conf, its parameters and its build.
 */
#include <argp.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/argp/program.h"
#include "perf/common/conf.h"
#include "perf/common/consumer.h"
#include "perf/dat_info/dat_info.h"

static const char doc[] =
	"Lists the Interface Adapters of dat.conf and whether they can be opened, the adapters of "
	"this machine that dat.conf does not name, and how the provider was built.\v"
	"The exit status is 0 if at least one IA, or the one named, could be opened. The provider "
	"prints on stderr why it could not; with --json the reason is in the output. "
	"DAT_DBG_TYPE=0xff makes the registry report more.";

static const struct argp_option options[] = {
	{ "ia", 'i', "NAME", 0, "Only this IA", 0 },
	{ "verbose", 'v', NULL, 0, "All limits and provider attributes", 0 },
	{ "list", 'l', NULL, 0, "Names only, open nothing", 0 },
	{ "parameters", 'p', NULL, 0, "The keys of ia_params: default, range, unit, meaning; "
	  "opens nothing", 0 },
	{ "check", 'c', "FILE", 0, "Check a dat.conf: line, column, problem and cure; opens nothing", 0 },
	{ "json", 'j', NULL, 0, "Everything as one JSON object", 0 },
	{ 0 },
};

struct options {
	const char *ia, *check;
	bool verbose, list, parameters, json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'i': o->ia = arg; break;
	case 'v': o->verbose = true; break;
	case 'l': o->list = true; break;
	case 'p': o->parameters = true; break;
	case 'c': o->check = arg; break;
	case 'j': o->json = true; break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected '%s'", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void print_failure(FILE *out, const char *what, DAT_RETURN ret)
{
	const char *major = "unknown return code", *minor = "";

	dat_strerror(ret, &major, &minor);
	fprintf(out, "    %s: %s %s (0x%08x)\n", what, major, minor, (unsigned int)ret);
}

static void print_named(const char *what, DAT_COUNT n, const DAT_NAMED_ATTR *attr)
{
	for (DAT_COUNT i = 0; i < n; i++)
		printf("    %s %s: %s\n", what, attr[i].name, attr[i].value);
}

/* Prints how a software adapter differs from hardware, as far as a peer can see it. */
static void print_difference(const DAT_IA_ATTR *a)
{
	if (strncmp(a->vendor_name, "dapl-direct", 11) == 0)
		printf("    differs from hardware: an operation on a stopped process completes when the "
		       "process continues\n");
}

static void print_summary(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p)
{
	char buf[INET6_ADDRSTRLEN];

	printf("    adapter %s, hardware %u.%u, firmware %u.%u, address %s\n", a->vendor_name,
	       a->hardware_version_major, a->hardware_version_minor, a->firmware_version_major,
	       a->firmware_version_minor, consumer_address(a, buf, sizeof(buf)));
	print_difference(a);
	printf("    provider %s %u.%u\n", p->provider_name, p->provider_version_major,
	       p->provider_version_minor);
	print_named("transport", a->num_transport_attr, a->transport_attr);
	print_named("vendor", a->num_vendor_attr, a->vendor_attr);
	print_named("provider", p->num_provider_specific_attr, p->provider_specific_attr);
}

static void print_limits(const DAT_IA_ATTR *a)
{
	printf("    endpoints %d, DTOs per endpoint %d, RDMA reads in %d out %d\n", a->max_eps,
	       a->max_dto_per_ep, a->max_rdma_read_per_ep_in, a->max_rdma_read_per_ep_out);
	printf("    EVDs %d of %d events, PZs %d, LMRs %d, RMRs %d, SRQs %d\n", a->max_evds,
	       a->max_evd_qlen, a->max_pzs, a->max_lmrs, a->max_rmrs, a->max_srqs);
	printf("    segments per DTO %d, RDMA read %d, RDMA write %d\n",
	       a->max_iov_segments_per_dto, a->max_iov_segments_per_rdma_read,
	       a->max_iov_segments_per_rdma_write);
	printf("    bytes per message %" PRIu64 ", RDMA %" PRIu64 ", LMR %" PRIu64 "\n",
	       (uint64_t)a->max_message_size, (uint64_t)a->max_rdma_size, (uint64_t)a->max_lmr_block_size);
}

static const char *yes(bool b)
{
	return b ? "yes" : "no";
}

static void print_provider(const DAT_PROVIDER_ATTR *p)
{
	printf("    LMR of memory: yes, of an LMR: %s, shared: %s\n",
	       yes(p->lmr_mem_types_supported & DAT_MEM_TYPE_LMR),
	       yes(p->lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL));
	printf("    private data %d bytes, buffers best aligned to %u\n", p->max_private_data_size,
	       p->optimal_buffer_alignment);
	printf("    completion flags 0x%x, SRQ: %s, LMR sync needed: %s\n",
	       (unsigned int)p->completion_flags_supported, yes(p->srq_supported),
	       yes(p->lmr_sync_req));
}

/* Names of the adapters whose IAs could be opened. A line of dat.conf may name its adapter in
 * ia_params. */
static char opened[MAX_IAS][80];
static size_t n_opened;

void info_opened(const DAT_PROVIDER_ATTR *p)
{
	for (DAT_COUNT i = 0; i < p->num_provider_specific_attr && n_opened < MAX_IAS; i++) {
		const DAT_NAMED_ATTR *a = &p->provider_specific_attr[i];

		if (!strcmp(a->name, "device"))
			snprintf(opened[n_opened++], sizeof(opened[0]), "%s", a->value);
	}
}

static bool show_open(DAT_IA_HANDLE ia, const struct options *o)
{
	DAT_PROVIDER_ATTR p;
	DAT_IA_ATTR a;
	DAT_RETURN ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &a, DAT_PROVIDER_FIELD_ALL, &p);

	if (ret != DAT_SUCCESS) {
		print_failure(stdout, "dat_ia_query", ret);
		return false;
	}
	info_opened(&p);
	print_summary(&a, &p);
	if (o->verbose) {
		print_limits(&a);
		print_provider(&p);
	}
	return true;
}

static bool show_ia(DAT_PROVIDER_INFO *info, const struct options *o)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	bool ok;

	printf("%s  uDAPL %u.%u, %s\n", info->ia_name, info->dapl_version_major,
	       info->dapl_version_minor, info->is_thread_safe ? "threadsafe" : "nonthreadsafe");
	if (o->list)
		return true;
	fflush(stdout);
	ret = dat_ia_openv(info->ia_name, 8, &async, &ia, info->dapl_version_major,
			   info->dapl_version_minor, info->is_thread_safe);
	if (ret != DAT_SUCCESS) {
		print_failure(stdout, "cannot be opened", ret);
		return false;
	}
	ok = show_open(ia, o);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ok;
}

static bool is_named(const char *name, DAT_PROVIDER_INFO *const *list, DAT_COUNT n)
{
	for (DAT_COUNT i = 0; i < n; i++) {
		if (!strcmp(name, list[i]->ia_name))
			return true;
	}
	for (size_t i = 0; i < n_opened; i++) {
		if (!strcmp(name, opened[i]))
			return true;
	}
	return false;
}

/* Prints why the registry has no entry, if there is no file, or none of its lines is of this level. */
static void show_none(FILE *out, DAT_RETURN ret)
{
	static const char *const places[] = { CONF_PLACES };
	const char *file = conf_name();

	if (file && ret != DAT_SUCCESS)
		return;
	fprintf(out, "no IA: ");
	if (file)
		fprintf(out, "%s has no line for uDAPL %d.%d", file, DAT_VERSION_MAJOR, DAT_VERSION_MINOR);
	for (size_t i = 0; !file && i < sizeof(places) / sizeof(places[0]); i++)
		fprintf(out, "%s %s", i ? " and no" : "there is no", places[i]);
	fprintf(out, "; DAT_OVERRIDE names another file (dat.conf(5))\n");
}

/* A device behind VFIO has no network interface, so its line must have the address. */
static void print_line_for(const struct dapl_device *d, void *in_provider)
{
	Dl_info lib;
	char *path = dladdr(in_provider, &lib) ? realpath(lib.dli_fname, NULL) : NULL;
	bool by_vfio = !strcmp(d->access, "vfio");

	if (!d->why[0] && path) {
		printf("    to use it, add this line to dat.conf%s: %s u%d.%d nonthreadsafe default ",
		       by_vfio ? ", with the address of the adapter" : "", d->name, DAT_VERSION_MAJOR,
		       DAT_VERSION_MINOR);
		conf_print_field(path);
		printf(" dapl_direct.%d.%d \"%s\" \"\"\n", DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
		       by_vfio ? "ip=A.B.C.D" : "");
	}
	free(path);
}

/* Returns a function of this project's provider, or NULL if the provider is not installed. */
static void *in_provider(const char *name)
{
#ifdef DAP_DAT20
	/* libdat2 is the system's; the runpath of this program has the provider. */
	void *provider = dlopen("libdapl-direct2.so", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
#else
	void *provider = info_load_library("libdapl-direct.so");
#endif

	return provider ? dlsym(provider, name) : NULL;
}

/* Finds adapters without a line in dat.conf. Returns their number. */
static size_t find_unnamed(struct dapl_device *devs, const char *ia, DAT_PROVIDER_INFO *const *list,
			   DAT_COUNT n)
{
	void *list_devices = in_provider("dapl_direct_devices");
	size_t found, kept = 0;

	found = list_devices ? ((dapl_direct_devices_fn *)list_devices)(devs, MAX_IAS) : 0;
	for (size_t i = 0; i < found && i < MAX_IAS; i++) {
		if (!is_named(devs[i].name, list, n) && (!ia || !strcmp(ia, devs[i].name)))
			devs[kept++] = devs[i];
	}
	return kept;
}

static void show_unnamed(const struct dapl_device *devs, size_t n)
{
	for (const struct dapl_device *d = devs; d < devs + n; d++) {
		printf("%s  no line of dat.conf has this name\n    provider access: %s\n", d->name,
		       d->access);
		if (d->why[0])
			printf("    could not be opened: %s\n", d->why);
		print_line_for(d, in_provider("dapl_direct_devices"));
	}
}

static size_t find_params(struct dapl_param *params)
{
	void *list_params = in_provider("dapl_direct_params");
	size_t n = list_params ? ((dapl_direct_params_fn *)list_params)(params, MAX_PARAMS) : 0;

	return n < MAX_PARAMS ? n : MAX_PARAMS;
}

static void show_params(const struct dapl_param *params, size_t n)
{
	const char *adapter = "";

	for (const struct dapl_param *p = params; p < params + n; p++) {
		if (strcmp(adapter, p->adapter))
			printf("%s adapter:\n", p->adapter);
		adapter = p->adapter;
		printf("  %-16s default %s; allowed: %s%s%s%s\n                   %s\n", p->key,
		       p->otherwise, p->range, *p->unit ? " (" : "", p->unit, *p->unit ? ")" : "",
		       p->meaning);
	}
}

static bool show_all_params(void)
{
	static struct dapl_param params[MAX_PARAMS];
	size_t n = find_params(params);

	if (!n)
		fprintf(stderr, "dat_info: cannot list the parameters: %s\n", dlerror());
	show_params(params, n);
	return n;
}

static bool find_build(struct dapl_build *b)
{
	void *build = in_provider("dapl_direct_build");

	if (build)
		((dapl_direct_build_fn *)build)(b);
	return build;
}

static void show_build(const struct dapl_build *b)
{
	printf("provider dapl-direct %s: built with %s, %s%s; %s\n", b->version, b->compiler,
	       *b->rdma_core ? "rdma-core " : "without rdma-core", b->rdma_core, b->backends);
}

/* Reports that no IA has the name of -i. names_only: only lines of dat.conf were searched. */
static void report_missing(const char *ia, bool names_only)
{
	fprintf(stderr, "dat_info: no line of dat.conf%s has the name %s; without -i dat_info prints all "
		"names\n", names_only ? "" : ", and no other adapter of this machine,", ia);
}

static bool show_text(const struct options *o, DAT_PROVIDER_INFO *const *list, DAT_COUNT n)
{
	static struct dapl_device devs[MAX_IAS];
	struct dapl_build build;
	size_t shown = 0, unnamed;
	bool any = false;

	for (DAT_COUNT i = 0; i < n; i++) {
		if (o->ia && strcmp(o->ia, list[i]->ia_name) != 0)
			continue;
		any |= show_ia(list[i], o);
		shown++;
	}
	if (!o->list) {
		unnamed = find_unnamed(devs, o->ia, list, n);
		show_unnamed(devs, unnamed);
		shown += unnamed;
		if (find_build(&build))
			show_build(&build);
	}
	if (!n)
		show_none(stdout, DAT_SUCCESS);
	if (o->ia && !shown)
		report_missing(o->ia, o->list);
	return any;
}

static bool show_json(const struct options *o, DAT_PROVIDER_INFO *const *list, DAT_COUNT n)
{
	static struct dapl_param params[MAX_PARAMS];
	static struct dapl_device devs[MAX_IAS];
	struct dapl_build build;
	struct info_json j = { .params = params, .devs = devs };
	bool names_only = o->list || o->parameters, any = false;

	j.ias = json_array();
	for (DAT_COUNT i = 0; i < n; i++) {
		if (!o->ia || !strcmp(o->ia, list[i]->ia_name))
			any |= info_json_ia(j.ias, list[i], names_only);
	}
	j.n_devs = names_only ? 0 : find_unnamed(devs, o->ia, list, n);
	j.n_params = find_params(params);
	j.build = find_build(&build) ? &build : NULL;
	if (o->ia && !json_array_size(j.ias) && !j.n_devs)
		report_missing(o->ia, names_only);
	return info_json_print(&j) && any;
}

struct entries {
	DAT_PROVIDER_INFO *info, **list;
	DAT_COUNT n;
};

/* The registry has no call for the number of its entries, and refuses a list that is too short. */
static DAT_RETURN list_entries(struct entries *e)
{
	DAT_COUNT room = 64;
	DAT_RETURN ret;

	for (;; room *= 2) {
		e->info = realloc(e->info, (size_t)room * sizeof(*e->info));
		e->list = realloc(e->list, (size_t)room * sizeof(*e->list));
		if (!e->info || !e->list)
			abort();
		for (DAT_COUNT i = 0; i < room; i++)
			e->list[i] = &e->info[i];
		ret = dat_registry_list_providers(room, &e->n, e->list);
		if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER || room >= MOST_ENTRIES)
			return ret;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc, program_options, NULL, NULL };
	struct options o = { .ia = NULL };
	struct entries e = { .n = 0 };
	DAT_RETURN ret;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.check)
		return info_check(o.check) ? EXIT_SUCCESS : EXIT_FAILURE;
	if (o.parameters && !o.json)
		return show_all_params() ? EXIT_SUCCESS : EXIT_FAILURE;
	ret = list_entries(&e);
	if (ret != DAT_SUCCESS) {
		print_failure(o.json ? stderr : stdout, "dat_registry_list_providers", ret);
		show_none(o.json ? stderr : stdout, ret);
		e.n = 0;
	}
	good = (ret == DAT_SUCCESS || o.json) && (o.json ? show_json : show_text)(&o, e.list, e.n);
	free(e.info);
	free(e.list);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
