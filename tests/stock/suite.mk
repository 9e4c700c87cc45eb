# SPDX-License-Identifier: BSD-2-Clause
# The suite starts itself again under softnic-run (preloaded.c).
$(O)/tests/stock: | $(O)/lib/softnic-uverbs.so $(O)/bin/softnic-run
LIBS_stock := -lmlx5
