#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hw_efa through unmodified libibverbs and libefa: what uverbs.sh asks of a ConnectX, on the EFA that
# softnic-run shows.
ACCESS=efadv PROFILE=wide exec bash tests/sh/uverbs.sh
