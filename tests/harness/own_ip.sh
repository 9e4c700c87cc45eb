# SPDX-License-Identifier: BSD-2-Clause
# own_ip: prints an IPv4 address for the adapters of this test. Behind VFIO an adapter has the address in its
# parameters, and two processes of a host that use one at the same time take each other's packets.

own_ip() {
	echo "10.$(($$ >> 14 & 255)).$(($$ >> 7 & 127)).$((($$ & 127) + 1))"
}
