#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
PROFILE=write exec bash tests/sh/efa.sh
