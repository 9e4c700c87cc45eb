/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_HARNESS_CAPTURE_H
#define TEST_HARNESS_CAPTURE_H

/* Redirects standard error (2) or output (1) into memory; capture_end returns the text, and restores it. */
void capture_begin(int fd);
const char *capture_end(void);

#endif
