/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader of captures that takes nothing from the model: it knows pcap, IP, UDP and the headers of IBTA
 * volume 1, chapter 9, by their offsets.
 */
#ifndef TEST_PCAP_H
#define TEST_PCAP_H

#include <stddef.h>
#include <stdint.h>

/* The connection whose packets are described. */
struct pcap_conn {
	uint32_t qpn_a, qpn_b, psn;	/* psn: first PSN of a's requests */
	const void *data_b;		/* addresses in requests are relative to this one */
};

/*
 * Describes each packet of the file by a line, such as
 *	> WRITE_FIRST 0 at 0 of 2500: 1024
 *	< ACK 2 msn 1
 * which has the direction (>: to b), the opcode, the PSN relative to psn, A if the packet requests an
 * ACK, the range of the RETH, the length of the payload, and the AETH. "class 184": a traffic class other
 * than 0; "bad" at the end: a wrong ICRC. Fails the test if a header is malformed.
 */
void pcap_describe(const char *path, const struct pcap_conn *conn, char *text, size_t len);

#endif
