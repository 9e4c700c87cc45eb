/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Return values of core: 0, or a positive code. Its type numbers are those of DAT 1.2 and 2.0
 * (same in both). Its subtype is neutral: each API front translates it by a table, since subtype
 * numbers differ.
 */
#ifndef DAP_ERR_H
#define DAP_ERR_H

enum dap_err_type {
	DAP_ABORT = 0x01,
	DAP_CONN_QUAL_IN_USE = 0x02,
	DAP_INSUFFICIENT_RESOURCES = 0x03,
	DAP_INTERNAL_ERROR = 0x04,
	DAP_INVALID_HANDLE = 0x05,
	DAP_INVALID_PARAMETER = 0x06,
	DAP_INVALID_STATE = 0x07,
	DAP_LENGTH_ERROR = 0x08,
	DAP_MODEL_NOT_SUPPORTED = 0x09,
	DAP_PROVIDER_NOT_FOUND = 0x0a,
	DAP_PRIVILEGES_VIOLATION = 0x0b,
	DAP_PROTECTION_VIOLATION = 0x0c,
	DAP_QUEUE_EMPTY = 0x0d,
	DAP_QUEUE_FULL = 0x0e,
	DAP_TIMEOUT_EXPIRED = 0x0f,
	DAP_INVALID_ADDRESS = 0x12,
	DAP_INTERRUPTED_CALL = 0x13,
	DAP_CONN_QUAL_UNAVAILABLE = 0x14,
	DAP_PORT_IN_USE = 0x16,		/* 2.0 only, like COMM_NOT_SUPPORTED */
	DAP_COMM_NOT_SUPPORTED = 0x17,
	DAP_SRQ_IN_USE = 0x80,		/* the front translates it */
	DAP_NOT_IMPLEMENTED = 0x3fff,	/* the front translates it */
};

/* Neutral subtypes; 0 means no subtype. INVALID_STATE of an endpoint has the subtype SUB_STATE_EP + enum
 * dap_ep_state. */
enum dap_err_sub {
	DAP_SUB_NONE = 0,
	DAP_SUB_MEMORY, DAP_SUB_DEVICE, DAP_SUB_TEP, DAP_SUB_MEMORY_REGION,
	DAP_SUB_HANDLE_IA, DAP_SUB_HANDLE_EP, DAP_SUB_HANDLE_EVD, DAP_SUB_HANDLE_EVD_REQUEST,
	DAP_SUB_HANDLE_EVD_RECV, DAP_SUB_HANDLE_EVD_CONN, DAP_SUB_HANDLE_EVD_ASYNC,
	DAP_SUB_HANDLE_CNO, DAP_SUB_HANDLE_CR, DAP_SUB_HANDLE_LMR, DAP_SUB_HANDLE_RMR,
	DAP_SUB_HANDLE_PZ, DAP_SUB_HANDLE_PSP, DAP_SUB_HANDLE_RSP, DAP_SUB_HANDLE_SRQ,
	DAP_SUB_HANDLE_EVD_CR, DAP_SUB_HANDLE1, DAP_SUB_HANDLE_CSP,
	DAP_SUB_ARG1 = 40, DAP_SUB_ARG2, DAP_SUB_ARG3, DAP_SUB_ARG4, DAP_SUB_ARG5, DAP_SUB_ARG6,
	DAP_SUB_ARG7, DAP_SUB_ARG8, DAP_SUB_ARG9,
	DAP_SUB_STATE_EP = 60,		/* + enum dap_ep_state, up to 13 values */
	DAP_SUB_STATE_EVD_OPEN = 80, DAP_SUB_STATE_EVD_IN_USE, DAP_SUB_STATE_EVD_WAITER,
	DAP_SUB_STATE_EVD_UNWAITABLE, DAP_SUB_STATE_EVD_CONFIG,
	DAP_SUB_STATE_EP_NOTREADY, DAP_SUB_STATE_LMR_IN_USE, DAP_SUB_STATE_PZ_IN_USE,
	DAP_SUB_STATE_SRQ_IN_USE, DAP_SUB_STATE_IA_IN_USE, DAP_SUB_STATE_CNO_IN_USE,
	DAP_SUB_PRIV_READ = 100, DAP_SUB_PRIV_WRITE, DAP_SUB_PROT_READ, DAP_SUB_PROT_WRITE,
	DAP_SUB_ADDR_UNSUPPORTED, DAP_SUB_ADDR_UNREACHABLE, DAP_SUB_ADDR_MALFORMED,
};

#define DAP_ERR(type, sub) ((int)((unsigned int)(type) << 8 | (unsigned int)(sub)))
#define DAP_ERR_TYPE(err) ((unsigned int)(err) >> 8)
#define DAP_ERR_SUB(err) ((unsigned int)(err) & 0xff)

/* Maps an errno from a backend or a system call to a code for the consumer. */
int dap_err_from_errno(int negative_errno);
/* Returns the text of an errno for messages: the cause and what to do. */
const char *dap_reason(int negative_errno);

#endif
