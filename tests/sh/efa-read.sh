#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Slow: only with DAPL_ALL=1.
PROFILE=read exec bash tests/sh/efa.sh
