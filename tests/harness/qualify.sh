# SPDX-License-Identifier: BSD-2-Clause
# Functions for scripts that run dat_qualify; sourced. At exit it removes the folder $tmp and ends $server.

[ -z "${SAN-}" ] || skip "the programs are slow under a sanitizer"
tmp=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server"; rm -rf "$tmp"' EXIT
status=0 server=
ia=soft-mlx5-0
. tests/harness/tcp-server.sh

# q ARGUMENT...: runs the program; its output is in $tmp/out
q() { timeout 300 "$DAPL_BUILD_DIR/bin/dat_qualify" "$@" >"$tmp/out" 2>&1 </dev/null; }

wrong() {
	echo "$1:"
	cat "$tmp/out"
	status=1
}

# has TEXT PATTERN: checks that a line of the output matches the pattern
has() { grep -qE -- "$2" "$tmp/out" || wrong "$1: the output has no line with \"$2\""; }

# stranger <<CODE: runs another program than dat_qualify serve, which prints its port
stranger() { at_port python3 -c "$(cat)"; }

# run FILE OPTION...: a quick run of some steps
run() {
	local file=$1
	shift
	q run --quick -i $ia -o "$tmp/$file" --seed 5 --tester 'A & <B>' "$@"
}
