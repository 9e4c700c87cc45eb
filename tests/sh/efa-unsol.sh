#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
PROFILE=unsol exec bash tests/sh/efa.sh
