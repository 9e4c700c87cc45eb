#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each law of sh/tree detects violations: a copy of the tree breaks many at a time.
# Slow: only with DAPL_ALL=1.
set -u
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/tree"
cp -r core hw_common hw_mlx5 hw_efa softnic include perf tests scripts examples man ./*.md "$tmp/tree"
cd "$tmp/tree" || exit 1
export CHECK_BUILD=build		# the build directory of the copy, which has no objects at first
laws=() expected=() changed=()

# law COMPLAINT WORDS FILE LINE [SED]: adds the line to the file, or edits the file. The check must then report
# this complaint, with these words in one of its lines.
law() {
	laws+=("$1")
	expected+=("$2")
	if [ -e "$3" ] && [ ! -e "$tmp/kept/$3" ]; then
		mkdir -p "$tmp/kept/$(dirname "$3")"
		cp "$3" "$tmp/kept/$3"
	fi
	changed+=("$3")
	mkdir -p "$(dirname "$3")"
	[ -z "$4" ] || printf '%b\n' "$4" >>"$3"
	[ -z "${5-}" ] || sed -i "$5" "$3"
}

# refused: the check has the complaints of all violations since the last call and no other; they are undone
refused() {
	local said i f
	said=$(bash tests/sh/tree.sh 2>&1)
	for i in "${!laws[@]}"; do
		awk -v law="${laws[i]}" '/:$/ { inside = index($0, law); next } inside' <<<"$said" |
			grep -qF -- "${expected[i]}" && continue
		echo "tests/sh/tree.sh does not refuse with \"${laws[i]}\": ${expected[i]}"
		status=1
	done
	if [ "$(grep -c ':$' <<<"$said")" != "$(printf '%s\n' "${laws[@]}" | sort -u | wc -l)" ]; then
		echo "these complaints are not those of the violations:"
		echo "$said"
		status=1
	fi
	for f in "${changed[@]}"; do
		if [ -e "$tmp/kept/$f" ]; then cp "$tmp/kept/$f" "$f"; else rm -f "$f"; fi
	done
	laws=() expected=() changed=()
}

bash tests/sh/tree.sh || { echo "the tree itself breaks a law"; exit 1; }
spdx='/* SPDX-License-Identifier: BSD-2-Clause */'
law "over 600 lines" core/long.c core/long.c "$spdx$(printf '\\n%.0s' {1..601})"
law "over 110 columns" core/obj.c core/obj.c "/* $(printf 'a%.0s' {1..110}) */"
law "first line is not" core/new.c core/new.c '/* no licence */'
law "softnic includes what it judges" softnic/mlx5/cq.c softnic/mlx5/cq.c '#include "hw_mlx5/wqe.h"'
law "softnic includes what it judges" softnic/efa/cq.c softnic/efa/cq.c '#include "core/dap.h"'
law "softnic includes more than softnic" softnic/run/main.c softnic/run/main.c '#include "perf/common/pair.h"'
law "softnic copies from" softnic/fabric/ring.c softnic/fabric/ring.c 'int process_vm_readv;'
law "softnic copies from" softnic/fabric/udp.c softnic/fabric/udp.c 'static const char mem[] = "/proc/1/mem";'
law "softnic copies from" softnic/efa/cq.c softnic/efa/cq.c 'int request = PTRACE_PEEKDATA;'
law "core names an adapter" core/obj.c core/obj.c '/* as mlx5 has it */'
law "core includes a backend" core/obj.c core/obj.c '#include "hw_common/soft.h"'
law "more of core than it may" hw_mlx5/cq.c hw_mlx5/cq.c '#include "core/ep/private.h"'
law "the model outside of its access" hw_mlx5/cq.c hw_mlx5/cq.c '#include "softnic/softnic.h"'
law "the model outside of its access" hw_efa/hot/poll.inl hw_efa/hot/poll.inl '#include "softnic/softnic_efa.h"'
law "a backend includes another" hw_efa/cqe.c hw_efa/cqe.c '#include "hw_mlx5/wqe.h"'
law "a backend includes another" hw_common/soft.c hw_common/soft.c '#include "hw_efa/obj.h"'
law "a macro returns" core/obj.c core/obj.c '#define BAD(x) do { if (x) return; } while (0)'
law "if its variable is empty" scripts/soak scripts/soak "rm -rf \"\$out\"/*"
law "named in the documents" core/nowhere1.c DESIGN.md '`core/nowhere1.c`'
law "named in the documents" core/nowhere2.c tests/README.md '`core/nowhere2.c`'
law "named in the documents" core/cm/wires.c CONTRIBUTING.md '' 's,`core/cm/wire.c`,`core/cm/wires.c`,'
law "not in a table of tests" tests/fsm tests/README.md '' '/^| `fsm` |/d'
law "over 120 columns" README.md README.md "$(printf 'a%.0s' {1..121})"
law "a table cell of over 15 words" README.md README.md '| a b c d e f g h i j k l m n o p |'
uses="a backend sees more than it uses"
law "$uses" "declares dap_ep_fsm, which no backend uses" core/dap.h \
	'int dap_ep_fsm(struct dap_ep *ep, enum dap_ep_cause cause);'
law "$uses" "declares dap_psp, which no backend uses" core/dap.h 'struct dap_psp;'
law "$uses" "struct dap_evd shows backends 7 fields" core/dap.h '' 's/^\tuint32_t slow;/&\n\tint unseen1, unseen2;/'
refused
law "$uses" "scripts/tree-stats fails" scripts/tree-stats 'sys.exit(1)'
law "if its reader has gone" "more words" scripts/tree-stats '' 's/^signal\.signal(/print("more words", file=sys.stderr)\n&/'
refused
law "a file without its folder" wire.c CONTRIBUTING.md '' 's,`core/cm/wire.c`,`wire.c`,'
# circle FOLDER FILE OBJECT: FILE, whose object is OBJECT, and two.c call each other.
circle() {
	mkdir -p "build/obj/$1"
	printf 'void two(void);\nvoid one(void);\nvoid one(void) { two(); }\n' | cc -xc -c -o "build/obj/$1/$3.o" -
	printf 'void two(void);\nvoid one(void);\nvoid two(void) { one(); }\n' | cc -xc -c -o "build/obj/$1/two.o" -
	law "$uses" "$1: files that call each other: $2 two" "$1/two.c" "$spdx"
}
circle core/evd evd evd
circle hw_mlx5/hot hot hot-v3_locked
refused
rm -r build/obj
bash tests/sh/tree.sh || { echo "the violations were not undone"; exit 1; }
exit $status
