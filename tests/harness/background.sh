# SPDX-License-Identifier: BSD-2-Clause
# Background processes, and waiting for their output; sourced.

# beside FILE COMMAND...: runs the command in the background ($!), with its output in FILE from the
# start. The new process does the redirection. Without care a reader could still find the output of
# the previous program in the file.
beside() {
	local file=$1
	shift
	: >"$file"
	"$@" >>"$file" 2>&1 </dev/null &
}

# nap SECONDS: waits without a process, by a read from an empty pipe
exec {nap}<> <(:)
nap() { read -rt "$1" -u $nap; }

# alive PID: false for a process that has ended, even before its parent reaps it
alive() {
	local lines
	mapfile -t lines 2>/dev/null <"/proc/$1/status"
	[[ ${lines[*]} =~ State:.[^XZ] ]]
}

# children PID: prints the processes with this parent
children() { grep -lsxE "PPid:[[:space:]]$1" /proc/[0-9]*/status | cut -d/ -f3; }

# until_said PID FILE WORDS: waits for WORDS in FILE; returns 1 if the process exits without them, or
# after a minute
until_said() {
	local lives=1 said read=
	for _ in {1..3000}; do
		# A process is started only to search new output.
		mapfile said <"$2"
		[ "${said[*]}" = "$read" ] || { grep -q -- "$3" "$2" && return 0; }
		read=${said[*]}
		[ -n "$lives" ] || return 1
		alive "$1" || lives=
		nap 0.02
	done
	return 1
}

# Chooses a qualifier that no other test uses. Its TCP port is below 24576, where no test in C has a
# port (th_qual); another script may have it.
port=$((($$ % 8192) << 28 | 8192 + RANDOM % 7000))

# serve COMMAND...: starts a server with a new qualifier as -p; sets $server and $port. Its output is in
# $tmp/server.
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
