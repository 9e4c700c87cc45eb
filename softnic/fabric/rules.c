/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies the rules of a fault script: counts the packets of each queue pair that match each rule. */
#include <stdlib.h>

#include "softnic/fabric/link.h"

/* The packets of one queue pair in one direction. */
struct sn_stream {
	struct sn_fab_dest peer;
	uint32_t qpn;
	bool in;
	uint32_t seen[SN_RULES];	/* number of packets that matched each rule */
};

bool sn_same_port(const struct sn_fab_dest *a, const struct sn_fab_dest *b)
{
	return a->udp_port == b->udp_port && sn_addr_equal(&a->gid, &b->gid);
}

static bool rule_matches(const struct sn_rule *r, const struct sn_fab_label *label, bool in)
{
	return r->in == in && (r->op < 0 || r->op == label->op) && (r->any_qpn || r->qpn == label->qpn) &&
	       (r->any_psn || r->psn == label->psn);
}

/* Finds or adds the stream of a packet. NULL: there are too many, or there is no memory. */
static struct sn_stream *stream_of(struct sn_rules *rules, const struct sn_fab_dest *peer, uint32_t qpn,
				   bool in)
{
	struct sn_stream *all;

	for (size_t i = 0; i < rules->streams; i++) {
		struct sn_stream *s = &rules->stream[i];

		if (s->in == in && s->qpn == qpn && sn_same_port(&s->peer, peer))
			return s;
	}
	if (rules->streams == SN_STREAMS)
		return NULL;
	all = realloc(rules->stream, (rules->streams + 1) * sizeof(*all));
	if (!all)
		return NULL;
	rules->stream = all;
	all[rules->streams] = (struct sn_stream){.peer = *peer, .qpn = qpn, .in = in};
	return &all[rules->streams++];
}

unsigned int sn_rules_apply(struct sn_rules *rules, const struct sn_fab_dest *peer,
			    const struct sn_fab_label *label, bool in, uint32_t *us)
{
	struct sn_stream *stream = NULL;
	unsigned int actions = 0;

	for (unsigned int i = 0; i < rules->script.rules; i++) {
		const struct sn_rule *r = &rules->script.rule[i];
		uint32_t n;

		if (!rule_matches(r, label, in))
			continue;
		if (!stream)
			stream = stream_of(rules, peer, label->qpn, in);
		if (!stream)
			return 0;
		n = stream->seen[i]++;
		if (n < r->skip || (n - r->skip) / r->every >= r->times || (n - r->skip + 1) % r->every)
			continue;
		actions |= 1u << r->action;
		if (r->action == SN_DELAY)
			*us = r->us;
	}
	return actions;
}

void sn_rules_clear(struct sn_rules *rules)
{
	free(rules->stream);
	*rules = (struct sn_rules){0};
}
