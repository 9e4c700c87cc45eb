# SPDX-License-Identifier: BSD-2-Clause
# The ends and their work are those of the suite e2e, the resources those of scale.
$(O)/tests/soak: $(call objs,tests/e2e/rig.c tests/e2e/rig_io.c tests/e2e/peer.c tests/e2e/ledger.c tests/scale/scale.c)
