# SPDX-License-Identifier: BSD-2-Clause
# Debian's libefa on the software EFA that softnic-run shows.
$(O)/tests/uverbs_efa: | $(O)/lib/softnic-uverbs.so $(O)/lib/softnic-efadv.so $(O)/bin/softnic-run
LIBS_uverbs_efa := -lefa -libverbs -ldl
