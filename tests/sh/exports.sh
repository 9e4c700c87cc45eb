#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The provider is loaded with RTLD_GLOBAL, so it only exports its two entries, three lists for dat_info
# and a check of ia_params. libdat's calls have the symbol version of OFED's libdat.so.1, so that old binaries load.
set -u
lib=$DAPL_BUILD_DIR/lib
status=0
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort; }

for provider in "$lib"/libdapl-direct.so "$lib"/libdapl-direct2.so; do
	[ -e "$provider" ] || continue
	got=$(exported "$provider" | sed 's/@.*//' | grep -vx dapl_direct_check | tr '\n' ' ')
	if [ "$got" != "dapl_direct_build dapl_direct_devices dapl_direct_params dat_provider_fini dat_provider_init " ]; then
		echo "$provider exports other symbols than expected: $got"
		status=1
	fi
done
wrong=$(exported "$lib/libdat.so.1" | grep -v '^dat_[a-z_]*@@DAT_1.2$')
if [ -n "$wrong" ]; then
	echo "libdat.so.1 exports symbols that are not calls of DAT 1.2:" $wrong
	status=1
fi
if ! readelf -d "$lib/libdat.so.1" | grep -q 'SONAME.*\[libdat.so.1\]'; then
	echo "the soname of libdat.so.1 is not libdat.so.1"
	status=1
fi
if readelf -d "$lib/libdapl-direct.so" "$lib/libdat.so.1" | grep -q TEXTREL; then
	echo "a library has text relocations"
	status=1
fi
exit $status
