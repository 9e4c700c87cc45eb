# SPDX-License-Identifier: BSD-2-Clause
# TCP ports of servers, from /proc: for scripts/check-stock and scripts/check-vm.

# listening PORT: prints the address of the socket that listens at PORT; "" if there is none
listening() {
	awk -v port="$(printf %04X "$1")" '$4 == "0A" && $2 ~ ":" port "$" { print $2; exit }' \
		/proc/net/tcp /proc/net/tcp6 | cut -d: -f1
}

# dotted HEX: converts an IPv4 address of /proc/net/tcp; for a wildcard prints the loopback address
dotted() {
	case $1 in
	00000000 | 00000000000000000000000000000000) echo 127.0.0.1 ;;
	????????) printf '%d.%d.%d.%d\n' 0x${1:6:2} 0x${1:4:2} 0x${1:2:2} 0x${1:0:2} ;;
	*) echo 127.0.0.1 ;;
	esac
}

free_port() {
	local p
	for p in $(shuf -i 20000-31999 -n 50); do
		[ -n "$(listening "$p")" ] || { echo "$p"; return; }
	done
}
