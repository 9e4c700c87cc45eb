# SPDX-License-Identifier: BSD-2-Clause
# What runs in the background, and is waited for by what it says; sourced.

# beside FILE COMMAND...: in the background ($!), and in FILE is what it says, from the start on. A
# redirection is made by the process that begins: until it does, a file has the words of the one before.
beside() {
	local file=$1
	shift
	: >"$file"
	"$@" >>"$file" 2>&1 </dev/null &
}

# alive PID: a process that has ended is not, even where nobody takes note of it
alive() { grep -qs '^State:.[^XZ]' "/proc/$1/status"; }

# children PID: the processes that have this parent
children() { grep -lsxE "PPid:[[:space:]]$1" /proc/[0-9]*/status | cut -d/ -f3; }

# until_said PID FILE WORDS: 1 when the process has ended without them, or after a minute
until_said() {
	local lives=1
	for _ in $(seq 3000); do
		grep -q -- "$3" "$2" && return 0
		[ -n "$lives" ] || return 1
		alive "$1" || lives=
		sleep 0.02
	done
	return 1
}

# Nobody else has the same qualifier. The TCP port that is made of it is below 24576, where no test of
# C has any (th_qual); it may be another script's.
port=$((($$ % 8192) << 28 | 8192 + RANDOM % 7000))

# serve COMMAND...: a server, which gets a qualifier as -p; $server and $port. Its words are in $tmp/server.
serve() {
	local try
	for try in 1 2 3 4 5; do
		port=$((port + 7 * try))
		beside "$tmp/server" "$@" -p $port
		server=$!
		until_said $server "$tmp/server" 'Waiting for client\|serving conn_qual' && return 0
		grep -q CONN_QUAL_IN_USE "$tmp/server" || break
	done
	echo "$*: does not serve"
	cat "$tmp/server"
	exit 1
}
