#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
PROFILE=efa0 exec bash tests/sh/efa.sh
