#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hw_efa through unmodified libibverbs and libefa: the tests of uverbs.sh, on softnic-run's EFA. A libefa
# older than 63 gets the calls of that release. Other releases and devices: efadv-*.sh.
# Slow: only with DAPL_ALL=1.
. tests/harness/libefa.sh
release=$(libefa_release)
export SOFTNIC_EFADV=63
[ "${release:-0}" -lt 63 ] || SOFTNIC_EFADV=none
ACCESS=efadv PROFILE=${PROFILE:-wide} exec bash tests/sh/uverbs.sh
