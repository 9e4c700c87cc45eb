#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each law of sh/tree detects a violation: one file at a time of a copy of the tree breaks a law.
set -u
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp -r core hw_common hw_mlx5 hw_efa softnic include perf tests scripts examples man ./*.md "$tmp"
cd "$tmp" || exit 1
export CHECK_BUILD=build		# the build directory of the copy, which has no objects at first

# law COMPLAINT FILE LINE [SED]: adds the line to the file, or edits the file. The check must then
# report this complaint and no other.
law() {
	local said
	mkdir -p "$(dirname "$2")"
	[ -e "$2" ] && cp "$2" "$tmp/kept"
	[ -z "$3" ] || printf '%b\n' "$3" >>"$2"
	[ -z "${4-}" ] || sed -i "$4" "$2"
	said=$(bash tests/sh/tree.sh 2>&1)
	if [ -e "$tmp/kept" ]; then mv "$tmp/kept" "$2"; else rm "$2"; fi
	[ "$(grep -c ':$' <<<"$said")" = 1 ] && grep -qF "$1" <<<"$said" && return
	printf 'tests/sh/tree.sh does not refuse with only "%s": %s in %s\n%s\n' "$1" "$3" "$2" "$said"
	status=1
}

bash tests/sh/tree.sh || { echo "the tree itself breaks a law"; exit 1; }
spdx='/* SPDX-License-Identifier: BSD-2-Clause */'
law "over 600 lines" core/new.c "$spdx$(printf '\\n%.0s' {1..601})"
law "over 110 columns" core/obj.c "/* $(printf 'a%.0s' {1..110}) */"
law "first line is not" core/new.c '/* no licence */'
law "softnic includes what it judges" softnic/mlx5/cq.c '#include "hw_mlx5/wqe.h"'
law "softnic includes what it judges" softnic/efa/cq.c '#include "core/dap.h"'
law "softnic includes more than softnic" softnic/run/main.c '#include "perf/common/pair.h"'
law "softnic copies from" softnic/fabric/ring.c 'int process_vm_readv;'
law "core names an adapter" core/obj.c '/* as mlx5 has it */'
law "core includes a backend" core/obj.c '#include "hw_common/soft.h"'
law "more of core than it may" hw_mlx5/cq.c '#include "core/ep/private.h"'
law "the model outside of its access" hw_mlx5/cq.c '#include "softnic/softnic.h"'
law "the model outside of its access" hw_efa/hot/poll.inl '#include "softnic/softnic_efa.h"'
law "a backend includes another" hw_efa/cqe.c '#include "hw_mlx5/wqe.h"'
law "a backend includes another" hw_common/soft.c '#include "hw_efa/obj.h"'
law "a macro returns" core/obj.c '#define BAD(x) do { if (x) return; } while (0)'
law "named in the documents" DESIGN.md '`core/nowhere.c`'
law "named in the documents" tests/README.md '`core/nowhere.c`'
law "named in the documents" CONTRIBUTING.md '' 's,`core/cm/wire.c`,`core/cm/wires.c`,'
law "a file without its folder" CONTRIBUTING.md '' 's,`core/cm/wire.c`,`wire.c`,'
law "not in a table of tests" tests/README.md '' '/^| `fsm` |/d'
law "a table cell of over 15 words" README.md '| a b c d e f g h i j k l m n o p |'
law "declares dap_ep_fsm, which no backend uses" core/dap.h 'int dap_ep_fsm(struct dap_ep *ep, enum dap_ep_cause cause);'
law "declares dap_psp, which no backend uses" core/dap.h 'struct dap_psp;'
law "a backend sees more" core/dap.h '' 's/^\tuint32_t slow;/&\n\tint unseen1, unseen2;/'
# circle FOLDER FILE OBJECT: FILE, whose object is OBJECT, and two.c call each other.
circle() {
	mkdir -p "build/obj/$1"
	printf 'void two(void);\nvoid one(void);\nvoid one(void) { two(); }\n' | cc -xc -c -o "build/obj/$1/$3.o" -
	printf 'void two(void);\nvoid one(void);\nvoid two(void) { one(); }\n' | cc -xc -c -o "build/obj/$1/two.o" -
	law "$1: files that call each other: $2 two" "$1/two.c" "$spdx"
	rm -r build/obj
}
circle core/evd evd evd
circle hw_mlx5/hot hot hot-v3_locked
exit $status
