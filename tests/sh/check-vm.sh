#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/check-vm if its packages are not available: without a network it is skipped; if Debian has
# not signed a package, that is an error. apt-get is simulated.
set -u
. tests/harness/skip.sh
needs_preload
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip "check-vm is for Debian on x86-64"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
mkdir "$tmp/bin" "$tmp/build"
ln -s "$DAPL_BUILD_DIR/bin" "$tmp/build/bin"
printf '#!/bin/sh\necho "$@" >"%s/args"\ncat "%s/says"\nexit 100\n' "$tmp" "$tmp" >"$tmp/bin/apt-get"
chmod 755 "$tmp/bin/apt-get"

# ends STATUS WORDS [NAME...]: runs the script with an apt-get that prints $tmp/says
ends() {
	local status
	PATH=$tmp/bin:$PATH XDG_CACHE_HOME=$tmp/cache timeout 60 scripts/check-vm "$tmp/build" "${@:3}" >"$tmp/out" 2>&1
	status=$?
	[ $status = "$1" ] && tail -n 1 "$tmp/out" | grep -q "^$2" && return
	echo "status $status instead of $1, or the last line does not begin with '$2':"
	cat "$tmp/out"
	failed=1
}

echo "E: Failed to fetch http://deb.debian.org/debian/dists/trixie/InRelease  Could not resolve 'deb.debian.org'" >"$tmp/says"
ends 0 "skip   check-vm: Debian's archive cannot be reached"
ends 0 "skip   check-vm: Debian's archive cannot be reached" roce pair-roce
ends 1 "FAIL   check-vm: no guest has the name phyiscal; the names are full, infiniband roce " roce phyiscal
ends 1 "FAIL   check-vm: no guest has the name r.ce; " r.ce
echo "W: GPG error: http://deb.debian.org/debian trixie InRelease: NO_PUBKEY 6ED0E7B82643E131" >"$tmp/says"
ends 1 "FAIL   check-vm: the packages of debian13 are not genuine"
echo "E: The repository 'http://deb.debian.org/debian trixie Release' is not signed." >"$tmp/says"
ends 1 "FAIL   check-vm: the packages of debian13 are not genuine"
echo "E: You don't have enough free space in /var/cache/apt/archives/." >"$tmp/says"
ends 1 "FAIL   check-vm: apt-get update for debian13 fails"

conf=$tmp/cache/dapl-direct/vm/debian13
grep -q '^Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg$' "$conf/sources/debian.sources" ||
	{ echo "the apt sources name no keyring"; failed=1; }
grep -qiE 'trusted|allow(-|)(insecure|unauthenticated|weak)' "$conf"/apt.conf "$conf"/sources/* &&
	{ echo "apt is configured to trust unsigned packages"; failed=1; }
for o in APT::Get::AllowUnauthenticated Acquire::Allow{Insecure,Weak,DowngradeToInsecure}Repositories; do
	grep -q -- "-o $o=false " "$tmp/args" || { echo "apt-get is called without $o=false: $(<"$tmp/args")"; failed=1; }
done
exit $failed
