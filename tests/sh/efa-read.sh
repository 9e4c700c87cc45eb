#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
PROFILE=read exec bash tests/sh/efa.sh
