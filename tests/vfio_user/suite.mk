# SPDX-License-Identifier: BSD-2-Clause
# The server without its main(), in the suite's own process.
$(O)/tests/vfio_user: $(call objs,$(filter-out %/main.c,$(VM_SRC)))
