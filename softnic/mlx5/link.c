/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The link of a port: up while a cable is connected, the administrator enables it, and training is done.
 * PRM "PAOS", the port's administrative and operational status.
 */
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"

#define TRAINING_NS		UINT64_C(100000000)	/* time of the training; hardware takes seconds */
#define LATE_TRAINING_NS	UINT64_C(16000000000)	/* time of the training with quirk SN_Q_LATE_LINK */
#define SLOW_TRAINING_NS	UINT64_C(60000000000)	/* time of the training with quirk SN_Q_SLOW_LINK */

/* PRM port change event: subtype 1 means down, 4 active; the upper half of byte 8 is the port number. */
void sn_link_update(struct sn_port *port)
{
	const uint8_t data[28] = { [8] = (uint8_t)(port->number << 4) };
	bool down = port->unplugged || port->admin_down || port->training.slot;

	if (port->link_down == down)
		return;
	port->link_down = down;
	sn_async(port->nic, SN_EV_PORT_CHANGE, down ? 1 : 4, data);
}

static void trained(struct softnic *nic, struct sn_timer *timer)
{
	(void)nic;
	sn_link_update((struct sn_port *)((uint8_t *)timer - offsetof(struct sn_port, training)));
}

static uint64_t training_ns(const struct softnic *nic)
{
	if (sn_quirk(nic, SN_Q_SLOW_LINK))
		return SLOW_TRAINING_NS;
	return sn_quirk(nic, SN_Q_LATE_LINK) ? LATE_TRAINING_NS : TRAINING_NS;
}

void sn_link_admin(struct sn_port *port, bool up)
{
	port->admin_down = !up;
	port->training.fire = trained;
	if (up)
		(void)!sn_timer_arm(port->nic, &port->training, sn_now() + training_ns(port->nic));
	else
		sn_timer_cancel(port->nic, &port->training);
	sn_link_update(port);
}

#define PAOS_PORT	SN_FLD(0x08, 8)
#define PAOS_ADMIN	SN_FLD(0x14, 4)
#define PAOS_OPER	SN_FLD(0x1c, 4)
#define PAOS_ASE	SN_FLD(0x20, 1)	/* field "admin status enable" */
enum { PAOS_UP = 1, PAOS_DOWN = 2 };

uint8_t sn_link_paos(struct sn_cmd *c, const uint8_t *in, uint8_t *out, bool write)
{
	uint32_t number = sn_get(in, PAOS_PORT), admin = sn_get(in, PAOS_ADMIN);
	struct sn_port *port = number && number <= c->nic->ports ? &c->nic->port[number - 1] : NULL;

	if (!port)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "PAOS of port %u", number);
	if (write && sn_get(in, PAOS_ASE)) {
		if (admin != PAOS_UP && admin != PAOS_DOWN)
			return sn_cmd_refuse(c, STAT_BAD_PARAM, "PAOS: admin_status %u", admin);
		if (port->admin_down == (admin == PAOS_UP))
			sn_link_admin(port, admin == PAOS_UP);
	}
	sn_set(out, PAOS_PORT, number);
	sn_set(out, PAOS_ADMIN, port->admin_down ? PAOS_DOWN : PAOS_UP);
	sn_set(out, PAOS_OPER, port->link_down ? PAOS_DOWN : PAOS_UP);
	return STAT_OK;
}
