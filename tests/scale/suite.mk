# SPDX-License-Identifier: BSD-2-Clause
# The ends, and the checks of their transfers, are those of the suite e2e.
$(O)/tests/scale: $(call objs,tests/e2e/rig.c tests/e2e/rig_io.c)
