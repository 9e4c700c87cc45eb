#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
PROFILE=efa1 exec bash tests/sh/efa.sh
