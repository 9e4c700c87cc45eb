#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
PROFILE=reqid64 exec bash tests/sh/efa.sh
