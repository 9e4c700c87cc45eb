/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable datagrams: IBTA volume 1, 9.8.3. */
#ifndef SN_UD_H
#define SN_UD_H

#include "softnic/mlx5/port.h"
#include "softnic/mlx5/rc_wire.h"
#include "softnic/mlx5/wire_api.h"

/* length of the header in front of the data of each receive; IBTA 11.4.1.2 */
enum { SN_GRH_BYTES = 40 };

struct sn_ud {
	struct sn_fab_dest dest;
	struct sn_waiter waiter;
	uint32_t psn;
	bool loaded;
	bool uses_udp;			/* see sn_port_use_udp */
	struct sn_wqe wqe;		/* the next WQE to send, if loaded */
};

/* Stops a datagram QP, as sn_rc_stop does for a connection. */
static inline void sn_ud_stop(struct sn_qp *qp)
{
	if (!qp->ud)
		return;
	sn_port_unblock(&qp->ud->waiter);
	qp->ud->loaded = false;
	sn_port_use_udp(qp->port, &qp->ud->uses_udp, false);
}

void sn_ud_in(struct sn_port *port, const struct sn_fab_dest *src, const struct sn_packet *pkt);

#endif
