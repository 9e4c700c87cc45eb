/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdlib.h>

#include "softnic/uverbs/efadv/efadv.h"

unsigned int sed_release(void)
{
	const char *release = getenv("SOFTNIC_EFADV");

	return release ? (unsigned int)strtoul(release, NULL, 10) : 0;
}

const struct uve_direct *sed_front(void)
{
	return dlsym(RTLD_DEFAULT, "softnic_front_efa");
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
