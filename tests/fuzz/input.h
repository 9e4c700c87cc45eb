/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes numbers from an input, for targets whose input is a script of calls. After the end of the
 * input the numbers are 0. */
#ifndef TEST_FUZZ_INPUT_H
#define TEST_FUZZ_INPUT_H

#include <stdbool.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint8_t high = fuzz_u8(in);

	return (uint16_t)(high << 8 | fuzz_u8(in));
}

/* below is at most 256 */
static inline unsigned int fuzz_below(struct fuzz_input *in, unsigned int below)
{
	return fuzz_u8(in) % below;
}

/* If the result is the same before and after an input, the input leaves no descriptor open. */
static inline int lowest_free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

#endif
