/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a fuzz target for each file of a folder, without libFuzzer: any compiler builds it. */
#include <dirent.h>

#include "tests/fuzz/fuzz.h"

enum { MOST = 16384 };			/* the longest input, as in scripts/fuzz */

static void replay(const char *folder, const char *name)
{
	static uint8_t bytes[MOST];
	char path[4096];
	uint8_t *input;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fprintf(stderr, "%s\n", path);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(1);
	}
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	input = malloc(len ? len : 1);	/* so that a sanitizer sees a read beyond the input */
	if (!input)
		exit(1);
	memcpy(input, bytes, len);
	LLVMFuzzerTestOneInput(input, len);
	free(input);
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int n = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1, inputs = 0;

	for (int i = 0; i < n; free(names[i++])) {
		if (names[i]->d_name[0] == '.')
			continue;
		replay(argv[1], names[i]->d_name);
		inputs++;
	}
	if (n >= 0)
		free(names);
	return inputs == 0;
}
