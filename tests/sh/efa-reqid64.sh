#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Slow: only with DAPL_ALL=1.
PROFILE=reqid64 exec bash tests/sh/efa.sh
