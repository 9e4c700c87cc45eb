/* SPDX-License-Identifier: BSD-2-Clause */
/* The ia_params of dat.conf: words like "validate=1 spin_us=50". */
#include <stdlib.h>
#include <string.h>

#include "core/dap.h"

#define SEPARATORS " \t,;"

bool dap_param(const char *params, const char *key, char *value, size_t size)
{
	size_t keylen = strlen(key);

	for (const char *p = params; p && *p;) {
		size_t len = strcspn(p, SEPARATORS);
		const char *v = p + keylen + 1;

		if (len == keylen && !memcmp(p, key, keylen)) {
			strncpy(value, "1", size);
			return true;
		}
		if (len > keylen && !memcmp(p, key, keylen) && p[keylen] == '=') {
			size_t n = len - keylen - 1 < size ? len - keylen - 1 : size - 1;

			memcpy(value, v, n);
			value[n] = '\0';
			return true;
		}
		p += len;
		p += strspn(p, SEPARATORS);
	}
	return false;
}

unsigned long dap_param_num(const char *params, const char *key, unsigned long otherwise)
{
	char text[24], *end;
	unsigned long v;

	if (!dap_param(params, key, text, sizeof(text)))
		return otherwise;
	v = strtoul(text, &end, 0);
	return end == text || *end ? otherwise : v;
}
