#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libdat.so.1 exports the 72 calls of uDAPL 1.2 with the version of the old compat library. A redirected
# call is a null test, a load of the handle's first word, and a jump.
set -u
lib=$DAPL_BUILD_DIR/lib/libdat.so.1
status=0
if ! diff <(nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort) \
	<(sed 's/$/@@DAT_1.2/' tests/abi/symbols); then
	echo "the symbols differ: \"<\" is only in libdat.so.1, \">\" only in uDAPL 1.2"
	status=1
fi

# A sanitizer adds instructions, so the limits are higher there. dat_lmr_create passes most of its
# arguments on the stack.
[ -n "${SAN-}" ] && exit $status
own='dat_ia_openv|dat_ia_close|dat_registry_.*|dat_strerror|dat_lmr_create'
hot='dat_ep_post_.*|dat_evd_dequeue|dat_srq_post_recv'
body=$(objdump -d --no-show-raw-insn "$lib" | awk '
	/^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]|@@.*/, "", name); list[name] = "" }
	/^ +[0-9a-f]+:/ && $2 !~ /^(nop|xchg|data16|cs|endbr64|int3)/ { list[name] = list[name] " " $2 }
	END { for (name in list) print name ":" list[name] }')
for call in $(grep -vxE "$own" tests/abi/symbols); do
	got=$(grep "^$call:" <<<"$body")
	# Clang loads the slot before it jumps; gcc copies arguments on the stack.
	want='(mov )*test je (mov )*jmp mov ret'
	[[ $call =~ ^($hot)$ ]] && want='test je mov (mov )?jmp mov ret'
	[[ $got =~ ^"$call: "$want$ ]] && continue
	echo "a redirected call has other instructions than a check and a jump: $got"
	status=1
done
exit $status
