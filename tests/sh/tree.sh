#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Laws for every file of the tree: size, licence line, and permitted includes.
set -u
status=0
complain() {
	[ -n "$2" ] || return 0
	printf '%s\n%s\n' "$1" "$2"
	status=1
}
sources() { find core hw_common hw_mlx5 hw_efa softnic include perf tests scripts examples -name '*.[ch]' -o -name '*.inl' | sort; }

complain "over 600 lines:" "$(sources | xargs wc -l | awk '$1 > 600 && $2 != "total"')"
complain "over 110 columns, and no table of data:" "$(sources | xargs awk '
	/^[ \t]*{ *"/ { next }
	length <= 110 && !/\t/ { next }
	{
		columns = 0
		n = split($0, part, "\t")
		for (i = 1; i < n; i++)
			columns += length(part[i]) + 8 - (columns + length(part[i])) % 8
		if (columns + length(part[n]) > 110)
			print FILENAME ":" FNR
	}')"
complain "first line is not the SPDX line:" \
	"$(sources | xargs awk 'FNR == 1 && !/SPDX-License-Identifier: BSD-2-Clause/ { print FILENAME }')"
complain "softnic includes what it judges:" \
	"$(grep -rnE '#include "(core|hw_[a-z0-9]*)/' softnic --include='*.[ch]')"
complain "softnic includes more than softnic:" \
	"$(grep -rnE '#include "' softnic --include='*.[ch]' | grep -vE '"(softnic/|config\.h"|core/|hw_)')"
# A copy into another process could end after its target has revoked the memory. A copy out of
# another process could block.
complain "softnic copies from or to another process:" \
	"$(grep -rnE 'process_vm_|/proc/[^"]*/mem"|PTRACE_' softnic --include='*.[ch]')"
# Headers of core that a backend may include: the two seams, the objects, tools, and the accessors of DAT's types.
complain "a backend includes more of core than it may:" \
	"$(grep -rnE '#include "core/' hw_* --include='*.[ch]' --include='*.inl' |
		grep -vE '"core/(hw|hot|dap|alloc|barrier|clock|endian|param|probe|thread|front/triplet)\.h"')"
complain "a backend includes the model outside of its access:" \
	"$(grep -rnE '#include "softnic/' hw_* --include='*.[ch]' --include='*.inl' |
		grep -vE '^hw_[a-z0-9]*/ctl/soft|^hw_common/soft\.c:')"
complain "a backend includes another backend:" "$(
	for b in hw_mlx5 hw_efa; do
		grep -rnE '#include "hw_' "$b" --include='*.[ch]' --include='*.inl' |
			grep -vE "#include \"(hw_common|$b)/"
	done; grep -rnE '#include "hw_(mlx5|efa)/' hw_common)"
# Names of adapters and their vendors, and terms of one adapter.
words='mlx5|connectx|(^|[^a-z0-9])m5_|(^|[^a-z])(lib)?efa(dv)?([^a-z]|$)|soft-|softnic|mellanox|nvidia|amazon'
words+='|devx|blueflame|(^|[^a-z])(aws|prm|srd|uar|umr|llq)([^a-z]|$)'
complain "core names an adapter:" \
	"$(grep -rniE "$words" core | grep -vE '^core/(backends|libdat/builtin)\.c:')"
complain "core includes a backend:" "$(grep -rnE '#include "hw_[a-z0-9]*/' core --include='*.[ch]')"
complain "a macro returns or jumps:" "$(sources | xargs awk '
	/^[ \t]*#[ \t]*define/ { in_macro = 1 }
	{ code = $0; gsub(/\/\*[^*]*\*\//, "", code); gsub(/"[^"]*"/, "", code) }
	in_macro && code ~ /[^a-zA-Z_"](return|goto)[^a-zA-Z_]/ { print FILENAME ":" FNR ": " $0 }
	in_macro && !/\\$/ { in_macro = 0 }')"
# A failed mktemp leaves its variable empty, and these scripts may run as root.
complain "deletes the files of / if its variable is empty; write \${name:?}:" \
	"$(grep -rnE 'rm -[a-z]+ .*"?\$[a-z_]+"?/\*( |;|$)' scripts tests/sh tests/harness tests/stock)"
laws=$(scripts/tree-stats --laws "${CHECK_BUILD:-build}") || laws="scripts/tree-stats fails"
complain "files of a folder call each other, or a backend sees more than it uses:" "$laws"
exec {gone}> >(:)
wait $!
complain "scripts/tree-stats says more if its reader has gone:" "$(scripts/tree-stats -s /nonexistent 2>&1 >&$gone)"
complain "named in the documents and not there:" "$(
	grep -ohE '`(core|hw_[a-z0-9]+|softnic|include|examples|perf|tests|scripts|man)/[^` ]*' ./*.md */README.md |
		tr -d '`' | sort -u |
		while read -r p; do
			[[ $p == *[{\<]* ]] || [ -n "$(compgen -G "$p*")" ] || echo "$p"
		done)"
complain "a file without its folder in 'Where to change what':" "$(awk -F'|' '
	/^## /{ inside = /Where to change what/ }
	inside { print /^\|/ ? $3 : $0 }' CONTRIBUTING.md | grep -oE '`[^` /]+\.(c|h|inl)`')"
complain "not in a table of tests/README.md:" "$(
	find tests -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | while read -r suite; do
		grep -q "^| \`$suite\` |" tests/README.md || echo "tests/$suite"
	done)"
markdown=$(find . -name '*.md' -not -path './build*' -not -path './.git/*')
complain "over 120 columns, and no table:" "$(awk '!/^\|/ && length > 120 { print FILENAME ":" FNR }' $markdown)"
complain "a table cell of over 15 words:" "$(awk -F'|' '
	/^\|/ {
		for (i = 2; i < NF; i++)
			if (split($i, words, " ") > 15)
				print FILENAME ":" FNR ":" $i
	}' $markdown)"
exit $status
