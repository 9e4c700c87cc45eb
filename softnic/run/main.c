/* SPDX-License-Identifier: BSD-2-Clause */
/* softnic-run: runs a program with software adapters. */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softnic/argp/program.h"
#include "softnic/efa/nic.h"
#include "softnic/run/run.h"

struct options {
	struct run_adapters adapters;
	bool vfio, efa;
	const char *profile;
	char **command;
};

enum { KEY_INFINIBAND = 0x100, KEY_IP, KEY_EFA, KEY_PROFILE };

static const struct argp_option options[] = {
	{"devices", 'd', "N", 0, "Number of adapters, mlx5_0 to mlx5_N-1 (1)", 0},
	{"vfio", 'v', NULL, 0, "Behind VFIO instead: 0000:01:00.0 and so on, bound to vfio-pci", 0},
	{"ports", 'p', "N", 0, "Ports of each adapter: 1 or 2 (1)", 0},
	{"infiniband", KEY_INFINIBAND, NULL, 0, "InfiniBand ports, not Ethernet", 0},
	{"ip", KEY_IP, "ADDRESS", 0, "Address of this machine, for RoCE v2 devices of other hosts: GID 1", 0},
	{"efa", KEY_EFA, NULL, 0, "AWS EFA adapters instead, efa_0 to efa_N-1, behind libefa", 0},
	{"profile", KEY_PROFILE, "P", 0,
	 "Which EFA: efa0, efa1, read, write, unsol, wide, reqid64 (wide)", 0},
	{0},
};

static const char doc[] =
	"Runs COMMAND with software ConnectX adapters in place of the machine's RDMA devices.\v"
	"The command needs no change and no privileges. It and its children see the adapters through the "
	"installed libibverbs and libmlx5. Adapters of different processes of one user on one machine "
	"reach each other:\n\n"
	"  softnic-run ibv_rc_pingpong -g 0 -c &\n"
	"  softnic-run ibv_rc_pingpong -g 0 -c 127.0.0.1\n\n"
	"  softnic-run --efa fi_pingpong -p efa &\n"
	"  softnic-run --efa fi_pingpong -p efa 127.0.0.1\n\n"
	"With SOFTNIC_STRICT=1 each process prints its driver's violations at exit; with SOFTNIC_TRACE=1 "
	"each uverbs command and its result.\n\n"
	"The exit status is the command's; 128 + N if signal N killed it, 127 if it was not found, "
	"126 if it cannot be run, 125 if softnic-run itself failed.";

/* Returns false for the unspecified address, too: no machine has it. */
static bool is_address(const char *text)
{
	static const uint8_t none[16];
	uint8_t ip[16] = {0};

	return (inet_pton(AF_INET, text, ip) == 1 || inet_pton(AF_INET6, text, ip) == 1) &&
	       memcmp(ip, none, sizeof(ip)) != 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct softnic_efa_caps caps;

	switch (key) {
	case 'd':
		o->adapters.devices =
			(unsigned int)program_number(state, "--devices", arg, 0, RUN_DEVICES_MAX);
		return 0;
	case 'p':
		o->adapters.ports = (unsigned int)program_number(state, "--ports", arg, 1, RUN_PORTS_MAX);
		return 0;
	case KEY_INFINIBAND:
		o->adapters.infiniband = true;
		return 0;
	case KEY_IP:
		if (!is_address(arg))
			argp_error(state, "--ip: '%s' is no IP address of a machine", arg);
		o->adapters.ip = arg;
		return 0;
	case KEY_EFA:
		o->efa = true;
		return 0;
	case KEY_PROFILE:
		if (sne_profile(&caps, arg))
			argp_error(state, "--profile: unknown EFA '%s'", arg);
		o->profile = arg;
		return 0;
	case 'v':
		o->vfio = true;
		return 0;
	case ARGP_KEY_ARG:
		/* Options after the command's name belong to the command. */
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!o->command)
			argp_usage(state);
		if (o->vfio && o->adapters.ports > 1)
			argp_error(state, "--vfio supports one port per adapter");
		if (o->profile && !o->efa)
			argp_error(state, "--profile needs --efa");
		if (o->efa && (o->vfio || o->adapters.infiniband || o->adapters.ports > 1))
			argp_error(state, "--efa supports one port per adapter, and no --vfio");
		if (o->adapters.ip && (o->efa || o->vfio || o->adapters.infiniband || o->adapters.ports > 1 ||
				       o->adapters.devices > 1))
			argp_error(state, "--ip supports one ConnectX with one Ethernet port, and no --vfio");
		if (o->efa)
			o->adapters.efa = o->profile ? o->profile : "wide";
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int trouble(const char *what, int err)
{
	fprintf(stderr, "softnic-run: %s: %s\n", what, strerror(-err));
	return STATUS_TROUBLE;
}

static int set_number(const char *name, unsigned int n)
{
	char number[12];

	snprintf(number, sizeof(number), "%u", n);
	return setenv(name, number, 1);
}

/* True if SOFTNIC_EFADV is unset or a number: calls of a newer libefa are preloaded as well. */
static bool with_efadv(const struct options *o)
{
	const char *release = getenv("SOFTNIC_EFADV");

	return o->efa && (!release || strcmp(release, "none"));
}

static int append_library(const char *front, char *libraries, size_t len)
{
	char path[PATH_MAX];
	size_t used = strlen(libraries);
	int err = run_library_path(front, path);

	if (err) {
		fprintf(stderr, "softnic-run: softnic-%s.so: %s; build or install it beside this "
			"program\n", front, strerror(-err));
		return err;
	}
	if (strpbrk(path, " :")) {
		fprintf(stderr, "softnic-run: %s: the loader preloads no library whose path has a space or a "
			"colon; install it in another folder\n", path);
		return -EINVAL;
	}
	snprintf(libraries + used, len - used, "%s%s", used ? ":" : "", path);
	return 0;
}

static int set_or_unset(const char *name, const char *value)
{
	return value ? setenv(name, value, 1) : unsetenv(name);
}

static int set_environment(const char *libraries, const char *root, const struct run_adapters *a)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload;
	int err;

	/* This library must come first in LD_PRELOAD, so that other preloaded libraries see the calls
	 * that it passes on. */
	if (asprintf(&preload, "%s%s%s", libraries, old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	err = setenv("LD_PRELOAD", preload, 1) || setenv("SYSFS_PATH", root, 1) ||
		set_or_unset("SOFTNIC_EFA", a->efa) || set_or_unset("SOFTNIC_IP", a->ip) ||
		setenv("SOFTNIC_LINK", a->infiniband ? "infiniband" : "ethernet", 1) ||
		set_number("SOFTNIC_DEVICES", a->devices) ||
		set_number("SOFTNIC_PORTS", a->ports) ? -errno : 0;
	free(preload);
	return err;
}

static void run_child(char **command, const sigset_t *mask, pid_t parent)
{
	/* If this process is killed, the command must die too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_TROUBLE);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "softnic-run: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

/*
 * Waits for the command and forwards signals to it. A signal from the terminal has reached the whole
 * foreground process group already. SIGALRM comes from the kernel too, if a timer was set before exec().
 */
static int wait_for_command(pid_t child, const sigset_t *set)
{
	siginfo_t info;
	int status;

	for (;;) {
		int sig = sigwaitinfo(set, &info);

		if (sig == SIGCHLD) {
			if (waitpid(child, &status, WNOHANG) == child)
				return WIFEXITED(status) ? WEXITSTATUS(status)
							 : 128 + WTERMSIG(status);
		} else if (sig > 0 && (sig == SIGALRM || info.si_code != SI_KERNEL)) {
			kill(child, sig);
		}
	}
}

static int run_command(char **command)
{
	static const int forwarded[] = {
		SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE,
	};
	pid_t self = getpid(), child;
	sigset_t set, old;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	child = fork();
	if (child < 0)
		return trouble("cannot start a process", -errno);
	if (!child)
		run_child(command, &old, self);
	return wait_for_command(child, &set);
}

static int write_sysfs(const char *root, const struct options *o)
{
	run_sysfs_adapter *write_adapter = o->vfio ? run_sysfs_vfio : o->efa ? run_sysfs_efa : run_sysfs_mlx5;
	struct run_sysfs fs = { .root = root };

	run_sysfs_put(&fs, "class/infiniband_verbs", "abi_version", "6\n");
	if (o->vfio)
		run_sysfs_put(&fs, "dev/vfio", "vfio", "%s", "");
	for (unsigned int i = 0; i < o->adapters.devices; i++)
		write_adapter(&fs, i, &o->adapters);
	return fs.err;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "COMMAND [ARGUMENT...]", doc,
					 program_options, NULL, NULL};
	struct options o = { .adapters = { .devices = 1, .ports = 1 } };
	char libraries[2 * PATH_MAX] = "";
	struct run_dir dir;
	int err, status;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	status = run_program_check(o.command[0]);
	if (status)
		return status;
	err = append_library(o.vfio ? "vfio" : "uverbs", libraries, sizeof(libraries));
	if (!err && with_efadv(&o))
		err = append_library("efadv", libraries, sizeof(libraries));
	if (err)
		return STATUS_TROUBLE;
	err = run_dir_make(&dir);
	if (err)
		return trouble("cannot make a temporary directory (TMPDIR chooses where)", err);
	err = write_sysfs(dir.path, &o);
	if (!err)
		err = set_environment(libraries, dir.path, &o.adapters);
	status = err ? trouble("cannot prepare the devices", err) : run_command(o.command);
	run_dir_remove(&dir);
	return status;
}
