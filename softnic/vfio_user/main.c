/* SPDX-License-Identifier: BSD-2-Clause */
/* softnic-vm: ConnectX and EFA adapters for virtual machines. */
#include <argp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/argp/program.h"
#include "softnic/vfio_user/vm.h"

struct options {
	/* the configuration of each device; only name and index differ */
	struct vm_config config;
	bool efa;
	const char *profile;
	char **sockets;
	unsigned int n;
};

static const struct argp_option options[] = {
	{ "infiniband", 'i', NULL, 0, "InfiniBand ports, not Ethernet", 0 },
	{ "pf", 'P', NULL, 0, "Physical functions (15b3:101d), not virtual ones (15b3:101e)", 0 },
	{ "ports", 'p', "N", 0, "Ports of each adapter: 1 or 2 (1)", 0 },
	{ "efa", 'e', NULL, 0, "AWS EFA adapters instead (1d0f:efa2)", 0 },
	{ "profile", 'r', "NAME", 0, "Which EFA: efa0, efa1, read, write, unsol (write)", 0 },
	{ "index", 'x', "N", 0, "Index of the first adapter on its host (0)", 0 },
	{ "verbose", 'v', NULL, 0, "Report violations of a client's driver when the client closes", 0 },
	{ 0 },
};

static const char doc[] =
	"Software adapters for virtual machines: a ConnectX, or an EFA, for each SOCKET, by the "
	"vfio-user"
	" protocol.\v"
	"A guest of QEMU 10.1 or newer has the adapter as a PCI function. Its memory must be "
	"shared:\n\n"
	"  softnic-vm /run/user/1000/nic0 &\n"
	"  qemu-system-x86_64 -machine q35,memory-backend=m \\\n"
	"    -object memory-backend-memfd,id=m,size=1G,share=on \\\n"
	"    -device '{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\n"
	"              \"path\":\"/run/user/1000/nic0\"}}' ...\n\n"
	"The exit status is 0 if a signal ended the server, 1 if it could not start.";

/* Linux's driver of Debian 12 supports neither WQEs of 128 bytes nor longer request ids. */
static bool is_profile(const char *name)
{
	static const char *const names[] = { "efa0", "efa1", "read", "write", "unsol" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void check_efa(struct argp_state *state, struct options *o)
{
	if (o->profile && !is_profile(o->profile))
		argp_error(state, "--profile: '%s' is none of efa0, efa1, read, write and unsol", o->profile);
	if (o->profile && !o->efa)
		argp_error(state, "--profile needs --efa");
	if (o->efa && (o->config.infiniband || o->config.physical || o->config.ports > 1))
		argp_error(state, "--efa does not support --ports, --infiniband or --pf");
	if (o->efa)
		o->config.efa = o->profile ? o->profile : "write";
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'i':
		o->config.infiniband = true;
		return 0;
	case 'P':
		o->config.physical = true;
		return 0;
	case 'p':
		o->config.ports = (unsigned int)program_number(state, "--ports", arg, 1, 2);
		return 0;
	case 'e':
		o->efa = true;
		return 0;
	case 'r':
		o->profile = arg;
		return 0;
	case 'x':
		o->config.index =
			(unsigned int)program_number(state, "--index", arg, 0, 127 - VM_DEVICES_MAX);
		return 0;
	case 'v':
		o->config.verbose = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->sockets = state->argv + state->next;
		o->n = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	case ARGP_KEY_END:
		if (o->n > VM_DEVICES_MAX)
			argp_error(state, "%u sockets given; at most %d are supported", o->n,
				   VM_DEVICES_MAX);
		check_efa(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct served {
	struct vm_listener listener;
	pthread_t thread;
};

static void *serve(void *arg)
{
	vm_listen_run(arg);
	return NULL;
}

static int start(struct served *s, const struct vm_config *config)
{
	const char *step = "start the adapter of";
	struct vm_device *dev;
	int err = vm_device_open(config, &dev);

	if (err)
		goto failed;
	step = "listen on";
	err = vm_listen_open(&s->listener, dev);
	if (err)
		goto close_device;
	step = "start a thread for";
	err = -pthread_create(&s->thread, NULL, serve, &s->listener);
	if (!err)
		return 0;
	vm_listen_close(&s->listener);
close_device:
	vm_device_close(dev);
failed:
	fprintf(stderr, "softnic-vm: cannot %s %s: %s\n", step, config->name, strerror(-err));
	return err;
}

static void end(struct served *s)
{
	vm_device_stop(s->listener.dev);
	pthread_join(s->thread, NULL);
	vm_listen_close(&s->listener);
	vm_device_close(s->listener.dev);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "SOCKET...", doc, program_options, NULL, NULL };
	struct options o = { .config.ports = 1 };
	struct served served[VM_DEVICES_MAX];
	unsigned int started = 0;
	sigset_t set;
	int err, sig;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	err = vm_memory_guard();
	while (!err && started < o.n) {
		struct vm_config config = o.config;

		config.name = o.sockets[started];
		config.index += started;
		err = start(&served[started], &config);
		started += !err;
	}
	if (!err)
		sigwait(&set, &sig);
	while (started)
		end(&served[--started]);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
