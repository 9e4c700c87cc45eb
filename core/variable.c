/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "core/variable.h"

#define READ(name, effect) { name, DAP_VARIABLE_READ, effect, NULL }
#define DEFAULT(name, key) { name, DAP_VARIABLE_DEFAULT, key, NULL }
#define NONE(name, instead) { name, DAP_VARIABLE_NONE, instead, NULL }

#define TCP "connections use TCP"
#define NO_UD "there is no UD connection manager"
#define NO_PROXY "there is no proxy of a coprocessor"

const struct dap_variable dap_variables[] = {
	READ("DAPL_DBG_TYPE", "which messages the log has"),
	READ("DAPL_DBG_DEST", "where the log goes"),
	READ("DAPL_DBG_ABORT", "whether a defect of the provider aborts the process"),
	DEFAULT("DAPL_VALIDATE", "validate"),
	DEFAULT("DAPL_ACK_TIMER", "ack_timeout"),
	DEFAULT("DAPL_ACK_RETRY", "retry_cnt"),
	DEFAULT("DAPL_RNR_TIMER", "min_rnr"),
	DEFAULT("DAPL_RNR_RETRY", "rnr_retry"),
	DEFAULT("DAPL_MAX_INLINE", "inline"),
	DEFAULT("DAPL_IB_SL", "sl"),
	{ "DAPL_IB_PKEY", DAP_VARIABLE_DEFAULT, "pkey", "0" },
	DEFAULT("DAPL_TCLASS", "tclass"),
	DEFAULT("DAPL_CM_TOS", "tclass"),
	NONE("DAPL_DBG_LEVEL", "DAPL_DBG_TYPE selects messages"),
	NONE("DAPL_DBG_SYS_MEM", "the provider does not watch the memory of the system"),
	NONE("DAPL_IB_MTU", "a connection uses the smaller MTU of its two ports"),
	NONE("DAPL_WR_MAX", "the adapter limits requests"),
	NONE("DAPL_LOOPBACK", "connections within an adapter always work"),
	NONE("DAPL_GLOBAL_ROUTING", "packets have a GRH where the port needs one"),
	NONE("DAPL_HOP_LIMIT", "the provider chooses the hop limit"),
	NONE("DAPL_SCM_NETDEV", "connections use the address of the adapter; ip= sets it"),
	NONE("DAPL_MAX_CM_RESPONSE_TIME", TCP),
	NONE("DAPL_MAX_CM_RETRIES", TCP),
	NONE("DAPL_CM_ARP_TIMEOUT_MS", TCP),
	NONE("DAPL_CM_ARP_RETRY_COUNT", TCP),
	NONE("DAPL_CM_ROUTE_TIMEOUT_MS", TCP),
	NONE("DAPL_CM_ROUTE_RETRY_COUNT", TCP),
	NONE("DAPL_UCM_RETRY", TCP),
	NONE("DAPL_UCM_REP_TIME", TCP),
	NONE("DAPL_UCM_RTU_TIME", TCP),
	NONE("DAPL_UCM_WAIT_TIME", TCP),
	NONE("DAPL_UCM_DREQ_RETRY", TCP),
	NONE("DAPL_UCM_DREP_TIME", TCP),
	NONE("DAPL_UCM_TIMER", TCP),
	NONE("DAPL_UCM_QP_SIZE", NO_UD),
	NONE("DAPL_UCM_CQ_SIZE", NO_UD),
	NONE("DAPL_UCM_TX_BURST", NO_UD),
	NONE("DAPL_UCM_ENTRY_BITS", NO_UD),
	NONE("DAPL_UCM_ARRAY_BITS", NO_UD),
	NONE("DAPL_NETWORK_NODES", NO_UD),
	NONE("DAPL_NETWORK_PPN", NO_UD),
	NONE("DAPL_NETWORK_PROCESS_NUM", NO_UD),
	NONE("DAPL_NETWORK_TRESHOLD", NO_UD),
	NONE("DAPL_MCM_ALWAYS_PROXY", NO_PROXY),
	NONE("DAPL_MCM_MFO", NO_PROXY),
	NONE("DAPL_MCM_MSG_MAX", NO_PROXY),
	NONE("DAPL_MCM_PORT_ID", NO_PROXY),
	NONE("DAPL_MCM_WR_MAX", NO_PROXY),
	{ .name = NULL },
};

const char *dap_variable_value(const struct dap_variable *v)
{
	const char *value = secure_getenv(v->name);

	return value && *value && (!v->unset || strcmp(value, v->unset)) ? value : NULL;
}

bool dap_variable_report(const struct dap_variable *v)
{
	static bool reported[sizeof(dap_variables) / sizeof(dap_variables[0])];

	return !__atomic_exchange_n(&reported[v - dap_variables], true, __ATOMIC_RELAXED);
}
