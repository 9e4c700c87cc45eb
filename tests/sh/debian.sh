#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# debian/ agrees with the tree: each installed file is in exactly one package, each package of
# debian/control has files, libdat1.symbols lists what libdat exports, and no name clashes with Debian's
# dapl.
set -u
shopt -s lastpipe
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
MAKEFLAGS=$(sed -E 's/ ?-j[0-9]*//; s/ ?--jobserver-auth=[^ ]*//' <<<"${MAKEFLAGS-}")
export MAKEFLAGS

# complain TEXT: if stdin has lines, prints TEXT and the lines, and makes the test fail
complain() {
	local found
	found=$(cat)
	[ -n "$found" ] || return 0
	printf '%s\n%s\n' "$1" "$found"
	status=1
}

lib=usr/lib/some-triple
make -s PREFIX=/usr LIBDIR=/$lib PROVIDERDIR=/$lib/dapl-direct DESTDIR="$tmp/root" \
	EXAMPLEDIR=/usr/share/doc/dapl-direct-doc/examples install >/dev/null || exit 1
(cd "$tmp/root" && find . ! -type d | cut -c3- | sort) >"$tmp/files"

# debian/rules has the folder that only some releases build.
folder=$(sed -n 's/.*dh_install -p[^ ]* \([^ ]*\) .*/\1/p' debian/rules)
[ -n "$folder" ] || { echo "debian/rules names no folder for dh_install"; status=1; }
grep "^${folder:-none}/" "$tmp/files" >"$tmp/taken"
# A pattern of debian/*.install names files or folders. A line of two words names files of the tree.
for list in debian/*.install; do
	while read -r pattern to; do
		if [ -n "$to" ]; then
			[ -e "$pattern" ] || echo "$list: the tree has no $pattern"
			continue
		fi
		awk -v p="$pattern" 'BEGIN { gsub(/[.]/, "[.]", p); gsub(/[*]/, "[^/]*", p); p = "^" p "(/.*)?$" } $0 ~ p' \
			"$tmp/files" >"$tmp/match"
		[ -s "$tmp/match" ] || echo "$list: make install installs no $pattern"
		cat "$tmp/match" >>"$tmp/taken"
	done <"$list"
done | complain "these patterns in debian/*.install match no file:"
# Without rdma-core, softnic-run and the fronts are not built; the patterns then find softnic-vm only.
sort "$tmp/taken" | uniq -d | complain "these files are in two packages:"
sort "$tmp/taken" | comm -13 - "$tmp/files" | complain "these installed files are in no package:"

sed -n 's/^Package: //p' debian/control | sort >"$tmp/packages"
ls debian/*.install | sed 's,debian/,,; s,\.install,,' | comm -3 - "$tmp/packages" | complain "debian/control and debian/*.install name different packages:"
sed -n "s/^packages='\(.*\)'$/\1/p" scripts/deb | tr ' ' '\n' | sort | comm -3 - "$tmp/packages" |
	complain "scripts/deb and debian/control differ:"
grep -xE 'libdat2.*|libdapl.*|dapl2.*' "$tmp/packages" | complain "these packages have the names of packages of Debian's dapl:"

nm -D --defined-only "$DAPL_BUILD_DIR/lib/libdat.so.1" | awk '{ sub(/@@/, "@", $3); print $3 }' | sed 's/^DAT_1.2$/&@&/' |
	sort >"$tmp/exports"
awk '/^ / { print $1 }' debian/libdat1.symbols | sort | diff - "$tmp/exports" |
	complain "debian/libdat1.symbols differs from the library; \"<\" is the file, \">\" the library:"

sed -n 's/^Tests: //p' debian/tests/control | sort | comm -3 - <(ls debian/tests | grep -vx control | sort) |
	complain "debian/tests/control and its programs differ:"
find debian -name changelog | complain "scripts/deb writes this file; configure.ac has the version:"
diff <(sed -n '5,$p' LICENSE) <(sed -n '/^License: BSD-2-Clause$/,$p' debian/copyright | sed '/^License:/d; s/^ //; s/^\.$//' | sed '/./,$!d') |
	complain "debian/copyright differs from LICENSE; \"<\" is LICENSE, \">\" the file:"
exit $status
