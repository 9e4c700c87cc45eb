#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The manual pages are complete and agree with the headers: one for each exported call and each program,
# no complaint from mandoc, prototypes, constants and errors as in the headers, every return code of
# uDAPL 1.2 for each call, examples that compile.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/man_example.sh
shopt -s lastpipe
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
cc=${CC:-gcc}

# complain TEXT: if stdin has lines, prints TEXT and the lines, and makes the test fail
complain() {
	local found
	found=$(cat)
	[ -n "$found" ] || return 0
	printf '%s\n%s\n' "$1" "$found"
	status=1
}

names() { awk 'FNR == 1 { n = 0 } /^\.Sh / { n = $2 == "NAME" } n && $1 == ".Nm" { print $2 }' man/*.[1-8]; }

there_is_a_page() {
	names | sort >"$tmp/names"
	{
		nm -D --defined-only "$DAPL_BUILD_DIR/lib/libdat.so.1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3; n = 1 } END { exit !n }' &&
			find "$DAPL_BUILD_DIR/bin" -type f -executable -printf '%f\n' | grep . || echo "no list of them"
	} | sort | comm -23 - "$tmp/names" | complain "these calls or programs have no manual page:"
}

# lint: checks references to other pages, because the pages are not installed where mandoc looks for
# them.
lint() {
	mandoc -T lint man/*.[1-8] 2>"$tmp/err" | grep -v 'referenced manual not found' | complain "mandoc -T lint reports:"
	grep -v 'outdated mandoc.db' "$tmp/err" | complain "mandoc prints errors:"
	awk '$1 == ".Xr" && $2 ~ /^(dat_|libdat|dat\.conf)/ { print $2 "." $3 }' man/*.[1-8] | sort -u |
		while read -r page; do [ -e "man/$page" ] || echo "$page"; done | complain "references to pages that do not exist:"
	grep -LE '^\.\\" SPDX-License-Identifier: BSD-2-Clause' man/*.[1-8] | complain "these pages have no SPDX line:"
}

# prototypes: prints one line for each prototype, as pages and headers have them; dat_ia_open() is a
# macro.
prototypes() {
	awk '/^\.Sh /{ in_synopsis = $2 == "SYNOPSIS" } !in_synopsis { next }
		$1 == ".Ft" { type = substr($0, 5) }
		$1 == ".Fo" { line = type " " $2 "("; sep = "" }
		$1 == ".Fa" { sub(/^\.Fa /, ""); gsub(/"/, ""); line = line sep $0; sep = ", " }
		$1 == ".Fc" { print line ");" }' man/*.3 | grep -v ' dat_ia_open(' | LC_ALL=C sort >"$tmp/pages"
	{ CC=$cc scripts/prototypes && CC=$cc scripts/prototypes own; } | sed -E 's/\b(IN|OUT|INOUT) //g' | LC_ALL=C sort >"$tmp/headers"
	diff "$tmp/pages" "$tmp/headers" | complain "prototypes of pages and headers differ; \"<\" is the page, \">\" the header:"
}

constants() {
	{
		printf '#include <%s>\n' dat/udat.h dat/dat_registry.h
		echo 'void all(void);'
		echo 'void all(void) {'
		grep -hE '^\.(It )?(Er|Dv) ' man/*.3 | grep -oE '\bDAT_[A-Z0-9_]+' | sort -u | sed 's/.*/(void)(&);/'
		grep -hE '^\.Vt ' man/*.3 | grep -oE '\bDAT_[A-Z0-9_]+' | sort -u | sed 's/.*/(void)sizeof(&);/'
		echo '}'
	} >"$tmp/constants.c"
	$cc -fsyntax-only -Iinclude "$tmp/constants.c" 2>&1 | grep error | complain "the pages name constants that no header has:"
}

# listed_codes: prints the codes that have an item with text in RETURN VALUES. The text says when the
# code is returned, or why it is not.
listed_codes() {
	awk '/^\.Sh / { in_values = $0 == ".Sh RETURN VALUES" } !in_values { next }
		$1 == ".It" { tags = ""; for (i = 3; i <= NF; i++) if ($i ~ /^DAT_/) tags = tags " " $i; next }
		tags { print tags; tags = "" }' "$1" | tr -s '\n' ' '
}

codes() {
	local call codes code listed
	while read -r call codes; do
		[ -e "man/$call.3" ] || continue
		listed=" $(listed_codes "man/$call.3") "
		for code in $codes; do
			[[ $listed == *" $code "* ]] || echo "$call: $code"
		done
	done < <(grep -v '^#' tests/data/return-codes.tsv) | complain "the pages do not list these codes in RETURN VALUES:"
	cut -f1 tests/data/return-codes.tsv | grep -v '^#' | sort |
		comm -3 - <(grep -vx dat_ia_openv tests/abi/symbols | sort - <(echo dat_ia_open)) |
		complain "only one of tests/data/return-codes.tsv and tests/abi/symbols has these calls:"
}

# errors: compares the codes after "Errors:" in the comment of a call with the items of its page. Subtypes
# are items of an inner list.
errors() {
	local call
	awk '/^\/\*$/ { text = "" }
		/ \* Errors:/ { inside = 1 }
		/ \* Threads:|\*\/$/ { inside = 0 }
		inside { text = text " " $0 }
		/^extern DAT_RETURN dat_[a-z_]+\(/ {
			sub(/\(.*/, "", $3)
			n = split(text, words, /[^A-Z_]+/)
			for (i = 1; i <= n; i++) if (words[i] ~ /^DAT_/) print $3, words[i]
			text = ""
		}' include/dat/dat.h include/dat/dat_conn.h include/dat/dat_mem.h include/dat/udat.h |
		sed 's/^dat_ia_openv /dat_ia_open /' | LC_ALL=C sort >"$tmp/header_errors"
	for call in $(cut -d' ' -f1 "$tmp/header_errors" | sort -u); do
		awk -v call="$call" '/^\.Sh / { in_values = $0 == ".Sh RETURN VALUES"; depth = 0 }
			$1 == ".Bl" { depth++ }
			$1 == ".El" { depth-- }
			in_values && depth == 1 && $1 == ".It" {
				for (i = 3; i <= NF; i++) if ($i ~ /^DAT_/ && $i != "DAT_SUCCESS") print call, $i
			}' "man/$call.3"
	done | LC_ALL=C sort | diff - "$tmp/header_errors" |
		complain "errors of pages and headers differ; \"<\" is the page, \">\" the header:"
}

examples() {
	local page
	for page in man/*.3; do
		example "$page" >"$tmp/example.c" || continue
		$cc -fsyntax-only -Wall -Wextra -Wno-unused-variable -Werror -Iinclude "$tmp/example.c" 2>&1
	done | complain "the examples of these pages do not compile:"
}

# synopses: each option that a page describes is in its SYNOPSIS, by its letter or by its long name.
synopses() {
	awk 'FNR == 1 { used = "" }
		/^\.Sh / { inside = $2 == "SYNOPSIS" }
		inside {
			for (n = split($0, parts, /Fl /); n > 1; n--) {
				split(parts[n], words, " ")
				used = used " " words[1]
			}
		}
		!/^\.It Fl [A-Za-z0-9] / || !used || /version$|help$/ { next }
		{
			found = 0
			n = split(used, names, " ")
			for (i = 1; i <= n; i++)
				found = found || (names[i] ~ /^-/ ? $4 == "," && names[i] == $5 : index(names[i], $3))
			if (!found)
				print FILENAME ": " $3
		}' man/*.1 | complain "these options are not in the SYNOPSIS of their page:"
}

there_is_a_page
lint
synopses
prototypes
constants
codes
errors
examples
exit $status
