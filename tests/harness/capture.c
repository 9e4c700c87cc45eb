/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/harness/capture.h"

static int captured, saved, replaced;
static char text[65536];

void capture_begin(int fd)
{
	fflush(NULL);
	replaced = fd;
	captured = memfd_create("captured", MFD_CLOEXEC);
	saved = dup(fd);
	if (captured < 0 || saved < 0 || dup2(captured, fd) != fd)
		abort();
}

const char *capture_end(void)
{
	ssize_t len;

	fflush(NULL);
	len = pread(captured, text, sizeof(text) - 1, 0);
	if (dup2(saved, replaced) != replaced || len < 0)
		abort();
	text[len] = '\0';
	close(saved);
	close(captured);
	return text;
}
