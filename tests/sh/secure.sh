#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A set-user-ID program ignores all environment variables: this is decided by the kernel's AT_SECURE, not
# by a flag of ours.
set -u
. tests/harness/skip.sh
[ "$(id -u)" = 0 ] || skip "only root can make a set-user-ID program for another user"
[ -z "${SAN-}" ] || skip "sanitizers do not start in a set-user-ID program"
command -v setpriv >/dev/null || skip "setpriv is not installed"
dir=$(mktemp -d /tmp/libdat-secure-XXXXXX)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$DAPL_BUILD_DIR/lib/libdat.so.1" "$dir"
cat >"$dir/list.c" <<'END'
#include <dat/udat.h>
#include <stdio.h>
#include <sys/auxv.h>

int main(void)
{
	DAT_PROVIDER_INFO info[64], *to[64];
	DAT_COUNT n = 0;

	for (int i = 0; i < 64; i++)
		to[i] = &info[i];
	if (dat_registry_list_providers(64, &n, to) != DAT_SUCCESS)
		n = 0;
	for (int i = 0; i < n; i++)
		puts(info[i].ia_name);
	puts(getauxval(AT_SECURE) ? "secure" : "ordinary");
	return 0;
}
END
${CC:-cc} -Iinclude "$dir/list.c" -o "$dir/list" "$dir/libdat.so.1" -Wl,-rpath,"$dir" || exit 1
echo 'planted u1.2 nonthreadsafe default /x d.1.2 a b' >"$dir/dat.conf"
other_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
$other_user true 2>/dev/null || skip "there is no other user in this namespace"
# plain: removes time and thread from a line of the log, because they differ.
plain() { sed 's/^[0-9:.]* [0-9]* libdat: /libdat: /'; }
with_env() { DAT_OVERRIDE=$dir/dat.conf DAT_DBG_TYPE=0xff $other_user "$dir/list" 2>&1 | plain; }
without_env() { env -u DAT_OVERRIDE -u DAT_DBG_TYPE $other_user "$dir/list" 2>&1 | plain; }

got=$(with_env)
if ! grep -q '^planted$' <<<"$got" || ! grep -q '^libdat: ' <<<"$got" || ! grep -q '^ordinary$' <<<"$got"; then
	printf 'a program without the set-user-ID bit should read DAT_OVERRIDE and log; it prints:\n%s\n' "$got"
	exit 1
fi
chmod u+s "$dir/list"
got=$(with_env)
grep -q '^secure$' <<<"$got" || skip "the set-user-ID bit has no effect in /tmp"
# The host's own dat.conf is read here, and messages about it are allowed.
if [ "$got" != "$(without_env)" ] || grep -q planted <<<"$got"; then
	printf 'a program with the set-user-ID bit should ignore the environment; it prints:\n%s\n' "$got"
	exit 1
fi

unshare -m true 2>/dev/null || skip "this user may not have a mount namespace, which a dat.conf of its own needs"
# A library without a path is accepted only where libdat is, or in dapl-direct below it.
mkdir -p "$dir/etc/dat" "$dir/dapl-direct"
touch "$dir/beside.so" "$dir/dapl-direct/below.so"
for library in beside below absent; do
	echo "$library u1.2 nonthreadsafe default $library.so d.1.2 a b"
done >"$dir/etc/dat/dat.conf"
cp /etc/passwd /etc/ld.so.cache "$dir/etc"
export dir other_user
got=$(unshare -m sh -c 'mount --bind "$dir/etc" /etc && exec $other_user "$dir/list"' 2>&1)
if [ "$(grep -xE 'beside|below|absent|secure' <<<"$got" | tr '\n' ' ')" != 'beside below secure ' ]; then
	printf 'with the set-user-ID bit, only libraries below libdat should load; it prints:\n%s\n' "$got"
	exit 1
fi
