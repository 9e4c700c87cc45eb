#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The example of each page of dapl_direct.h runs on both software adapters: the last call succeeds, and
# the example prints something. Its EVD holds one completion, and its Endpoint is connected.
set -u
. tests/harness/man_example.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat.conf LD_LIBRARY_PATH=$DAPL_BUILD_DIR/lib
status=0

cat >"$tmp/main.c" <<'END'
#include <stdio.h>
#include "perf/common/pair.h"

DAT_IA_HANDLE ia;
DAT_PZ_HANDLE pz;
DAT_EP_HANDLE ep;
DAT_EVD_HANDLE evd;
DAT_RMR_HANDLE rmr;
DAT_LMR_TRIPLET segment;
DAT_RMR_TRIPLET remote;
DAT_RETURN ret = DAT_ABORT;
void example(void);

int main(int argc, char **argv)
{
	static const DAT_DTO_COOKIE cookie;
	static struct pair p;
	DAT_EVENT event;
	DAT_COUNT more;

	if (argc < 2 || pair_open(&p, argv[1]))
		return 1;
	segment = (DAT_LMR_TRIPLET){ p.local.lmr_context, 0, (DAT_VADDR)(uintptr_t)p.local.buf, 8 };
	remote = (DAT_RMR_TRIPLET){ p.remote.rmr_context, 0, (DAT_VADDR)(uintptr_t)p.remote.buf, 8 };
	for (int i = 0; i < 2; i++)
		dat_ok(dat_ep_post_rdma_write(p.a.ep, 1, &segment, cookie, &remote, 0), "write");
	if (!dat_ok(dat_evd_wait(p.a.req_evd, 20000000, 2, &event, &more), "dat_evd_wait"))
		return 1;
	ia = p.a.ia, pz = p.a.pz, ep = p.a.ep, evd = p.a.req_evd, rmr = p.rmr;
	example();
	return !dat_ok(ret, "the example");
}
END
for page in man/dapl_*.3; do
	call=$(basename "$page" .3)
	if ! example "$page" >"$tmp/example.c" ||
		! ${CC:-gcc} ${SAN:+-fsanitize="$SAN"} -D_GNU_SOURCE -Iinclude -I. -o "$tmp/$call" "$tmp/main.c" "$tmp/example.c" \
			"$DAPL_BUILD_DIR/obj/perf/common/"*.o "$DAPL_BUILD_DIR/lib/libdat.so.1" -lm -lpthread; then
		echo "the page of $call has no example, or it does not compile"
		status=1
		continue
	fi
	for ia in soft-mlx5-0 soft-efa-0; do
		out=$(timeout -k 1 60 "$tmp/$call" $ia 2>&1 </dev/null)
		code=$?
		[ $code = 0 ] && [ -n "$out" ] && continue
		printf 'the example of %s fails or prints nothing on %s, status %s\n%s\n' "$call" $ia $code "$out"
		status=1
	done
done
exit $status
