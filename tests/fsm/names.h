/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of endpoint states as text. */
#ifndef TEST_FSM_NAMES_H
#define TEST_FSM_NAMES_H

#include <stdio.h>

#include "core/ep/fsm.h"

const char *state_name(enum dap_ep_state state);
const char *cause_name(enum dap_ep_cause cause);
/* Prints the whole table as Markdown, for DESIGN.md. */
void print_table(FILE *out);

#endif
