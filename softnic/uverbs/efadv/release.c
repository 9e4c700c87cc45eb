/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "softnic/uverbs/efadv/efadv.h"

unsigned int sed_release(void)
{
	const char *release = getenv("SOFTNIC_EFADV");

	return release ? (unsigned int)strtoul(release, NULL, 10) : 0;
}

static int no_queues(struct ibv_context *context, bool cq, uint32_t handle, void *to, size_t size)
{
	(void)context;
	(void)cq;
	(void)handle;
	(void)to;
	(void)size;
	return EOPNOTSUPP;
}

static int no_caps(struct ibv_context *context, struct softnic_efa_caps *caps)
{
	(void)context;
	(void)caps;
	return EOPNOTSUPP;
}

static void no_wish(unsigned int wishes)
{
	(void)wishes;
}

const struct uve_direct *sed_front(void)
{
	static const struct uve_direct none = { no_queues, no_caps, no_wish };
	const struct uve_direct *front = dlsym(RTLD_DEFAULT, "softnic_front_efa");

	return front ? front : &none;
}

/* Programs may have loaded libefa into a scope of their own. */
void *sed_real(const char *name)
{
	void *lib = dlopen("libefa.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *found = lib ? dlsym(lib, name) : NULL;

	if (lib)
		dlclose(lib);
	return found;
}
