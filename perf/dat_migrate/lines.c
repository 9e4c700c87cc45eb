/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of dat.conf: recognizes those of OpenFabrics' providers and replaces them. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/libdat/conf.h"
#include "perf/common/conf.h"
#include "perf/dat_migrate/migrate.h"

/* OpenFabrics' provider libraries, each by the distinctive part of its name. */
static const struct kind {
	const char *library;
	/* the flag of struct migration to be set if such a line is found */
	size_t seen;
} kinds[] = {
	{ "libdaploscm.so", offsetof(struct migration, was_scm) },
	{ "libdaplscm.so", offsetof(struct migration, was_scm) },
	{ "libdaplofa.so", offsetof(struct migration, was_cma) },
	{ "libdaplcma.so", offsetof(struct migration, was_cma) },
	{ "libdaploucm.so", offsetof(struct migration, was_ucm) },
	{ "libdaplomcm.so", offsetof(struct migration, was_mcm) },
};

static const char provider_1[] = "libdapl-direct.so", provider_2[] = "libdapl-direct2.so";

/* Names that the kernel gives to devices of drivers that this provider does not support. */
static const char *const foreign[] = {
	"mlx4_", "mthca", "ipath", "ehca", "qib", "hfi1_", "scif", "mic", "cxgb", "nes", "i40iw", "irdma",
	"bnxt_re", "rxe", "siw", NULL,
};

static const struct kind *kind_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strncmp(name, kinds[i].library, strlen(kinds[i].library)))
			return &kinds[i];
	}
	return NULL;
}

static const char *sysfs(void)
{
	const char *path = getenv("SYSFS_PATH");

	return path ? path : "/sys";
}

/* The driver decides, if this machine has the device. A function of a ConnectX may have mlx5_core.sf. */
static bool is_foreign(const char *device)
{
	char path[512], driver[PATH_MAX] = "";

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/driver", sysfs(), device);
	if (readlink(path, driver, sizeof(driver) - 1) > 0)
		return strncmp(basename(driver), "mlx5_core", 9) && strcmp(basename(driver), "efa");
	for (const char *const *f = foreign; *f; f++) {
		if (!strncmp(device, *f, strlen(*f)))
			return true;
	}
	return false;
}

/* Returns true if this machine has an RDMA device or network interface of that name, or if the name is an
 * IP address. */
static bool is_here(const char *device)
{
	static const char *const classes[] = { "infiniband", "net", NULL };
	uint8_t address[16];
	char path[512];

	for (const char *const *class = classes; *class; class++) {
		snprintf(path, sizeof(path), "%s/class/%s/%s", sysfs(), *class, device);
		if (!access(path, F_OK))
			return true;
	}
	return inet_pton(AF_INET, device, address) == 1 || inet_pton(AF_INET6, device, address) == 1;
}

static void __attribute__((format(printf, 3, 4)))
keep(struct migration *m, const char *raw, const char *fmt, ...)
{
	va_list ap;

	puts(raw);
	m->kept++;
	fprintf(stderr, "%s:%u: kept: ", m->file, m->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Prints the library. For libdat a file name is enough. The system's libdat2 searches only the loader's
 * directories, so the name for it includes the path. */
static void print_library(const struct migration *m, bool level_2)
{
	char path[PATH_MAX];

	if (m->directory) {
		snprintf(path, sizeof(path), "%s/%s", m->directory, level_2 ? provider_2 : provider_1);
		conf_print_field(path);
	} else if (level_2 && m->library_2) {
		conf_print_field(m->library_2);
	} else {
		fputs(level_2 ? provider_2 : provider_1, stdout);
	}
}

static void move(struct migration *m, const struct kind *kind, char *const f[CONF_FIELDS],
		 const DAT_PROVIDER_INFO *info, const char *device, unsigned int port)
{
	bool level_2 = info->dapl_version_major == 2;

	conf_print_field(f[CONF_NAME]);
	printf(" %s %s %s ", f[CONF_API], f[CONF_THREADS], f[CONF_DEFAULT]);
	print_library(m, level_2);
	printf(" dapl_direct.%s \"device=%s", level_2 ? "2.0" : "1.2", device);
	if (port)
		printf(" port=%u", port);
	printf("\" ");
	conf_print_quoted(f[CONF_PLATFORM]);
	putchar('\n');
	if (!is_here(device))
		fprintf(stderr, "%s:%u: this machine has no RDMA device and no network interface %s; for a "
			"host name, write its address\n", m->file, m->line, device);
	*(bool *)((char *)m + kind->seen) = true;
	*(level_2 ? &m->was_2 : &m->was_1) = true;
	m->moved++;
}

static void move_entry(struct migration *m, const char *raw, char *const f[CONF_FIELDS],
		       const DAT_PROVIDER_INFO *info)
{
	const struct kind *kind = kind_of(f[CONF_LIB]);
	char device[64], rest[2];
	unsigned int port;

	if (!kind)
		keep(m, raw, "%s is not a library of OpenFabrics dapl", f[CONF_LIB]);
	else if (*f[CONF_API] == 'k')
		keep(m, raw, "it is for consumers in the kernel");
	else if (sscanf(f[CONF_PARAMS], " %63[^ \t\"\\] %u %1s", device, &port, rest) != 2 || port > 255)
		keep(m, raw, "ia_params \"%s\" are not a device and a port; write device= and port=",
		     f[CONF_PARAMS]);
	else if (is_foreign(device))
		keep(m, raw, "%s is not a ConnectX of the driver mlx5 and not an EFA", device);
	else
		move(m, kind, f, info, device, port);
}

static void move_line(struct migration *m, char *raw)
{
	char *line = strdup(raw), *field[CONF_FIELDS];
	struct conf_problem problem;
	DAT_PROVIDER_INFO info;
	bool is_default;

	if (!line)
		abort();
	switch (conf_split_line(line, strlen(line), field, &info, &is_default, &problem)) {
	case CONF_ENTRY:
		move_entry(m, raw, field, &info);
		break;
	case CONF_BROKEN:
		printf("# %s\n", raw);
		fprintf(stderr, "%s:%u:%td: %s; %s; the line is now a comment\n", m->file, m->line,
			problem.at - line + 1, problem.why, problem.cure);
		m->broken++;
		break;
	default:
		puts(raw);
	}
	free(line);
}

/* Reports a provider that is not where the new lines say. */
static void report_absent(const struct migration *m, const char *provider)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", m->directory, provider);
	if (access(path, R_OK))
		fprintf(stderr, "%s: there is no %s: if the lines are for this machine, -d must name another "
			"directory\n", m->file, path);
}

static void report(const struct migration *m)
{
	static const char form[] = "%s: %s\n";

	fprintf(stderr, "%s: %u lines moved to dapl-direct, %u kept, %u broken\n", m->file, m->moved,
		m->kept, m->broken);
	if (m->moved)
		fprintf(stderr, form, m->file, "both ends of a connection must use dapl-direct: its "
			"connection manager is another one, and uses the TCP ports 16384 to 32767");
	if (m->was_cma)
		fprintf(stderr, form, m->file, "lines of libdaplofa: connections use TCP instead of rdma_cm");
	if (m->was_ucm)
		fprintf(stderr, form, m->file, "lines of libdaploucm: connections use TCP instead of "
			"datagrams of the fabric, so the hosts need an IP network");
	if (m->was_mcm)
		fprintf(stderr, form, m->file,
			"lines of libdaplomcm: dapl-direct has no proxy on a coprocessor");
	if (m->was_1)
		fprintf(stderr, form, m->file, "lines of uDAPL 1.2 need the libdat.so.1 of dapl-direct. If "
			"/etc/dat/dat.conf exists, it reads that file and not /etc/dat.conf");
	if (m->was_2)
		fprintf(stderr, form, m->file, "lines of uDAPL 2.0 keep the libdat2 of the system");
	if (m->was_1 && m->directory)
		report_absent(m, provider_1);
	if (m->was_2 && m->directory)
		report_absent(m, provider_2);
	if (m->was_2 && !m->directory && !m->library_2)
		fprintf(stderr, form, m->file, "libdapl-direct2.so is not beside libdat.so.1: if the loader "
			"does not find it, set its directory with -d");
}

bool migrate_lines(struct migration *m, FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	bool failed;

	m->library_2 = conf_library_beside(dlsym(RTLD_DEFAULT, "dat_ia_openv"), provider_2);
	while (getline(&line, &room, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		m->line++;
		move_line(m, line);
	}
	failed = ferror(in);
	if (failed)
		fprintf(stderr, "dat_migrate: cannot read %s: %m\n", m->file);
	else
		report(m);
	free(line);
	if (in != stdin)
		fclose(in);
	free(m->library_2);
	return !failed;
}
