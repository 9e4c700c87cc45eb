# SPDX-License-Identifier: BSD-2-Clause
# The suite starts itself again under softnic-run --vfio (preloaded.c). It uses the DEVX commands of
# the suite stock.
$(O)/tests/vfio: $(call objs,tests/stock/devx_rig.c) | $(O)/lib/softnic-vfio.so $(O)/bin/softnic-run
LIBS_vfio := -lmlx5 -libverbs -ldl
