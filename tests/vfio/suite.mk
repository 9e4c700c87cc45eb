# SPDX-License-Identifier: BSD-2-Clause
# The suite starts itself again under softnic-run --vfio (preloaded.c). It drives the device by the
# commands that the suite of stock libraries has for DEVX.
$(O)/tests/vfio: $(call objs,tests/stock/devx_rig.c) | $(O)/lib/softnic-vfio.so $(O)/bin/softnic-run
LIBS_vfio := -lmlx5 -libverbs -ldl
