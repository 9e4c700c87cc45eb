/* SPDX-License-Identifier: BSD-2-Clause */
/* A fault that only an input of three certain bytes reaches. scripts/fuzz must find it. */
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *copy = malloc(size + 1);
	int beyond = size == 3 && data[0] == 'D' && data[1] == 'A' && data[2] == 'T';
	volatile char read;

	memcpy(copy, data, size);
	copy[size] = 0;
	read = copy[size + beyond];
	(void)read;
	free(copy);
	return 0;
}
