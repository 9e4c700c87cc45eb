# SPDX-License-Identifier: BSD-2-Clause
#
# One hand-written Makefile. Everything built lands in $(BUILD)/; sources are globbed per directory,
# so a new .c file needs no line here. configure only probes: it writes config.mk and config.h there.

BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
# Directory of libraries that are loaded by name and never linked: the providers and the fronts of
# softnic.
PROVIDERDIR ?= $(LIBDIR)
INCDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
# dat_qualify finds its modules from where it is.
QUALIFYDIR = $(BINDIR)/../share/dapl-direct/qualify
DAT2DIR = $(BINDIR)/../libexec/dapl-direct/dat2
EXAMPLEDIR ?= $(PREFIX)/share/doc/dapl-direct/examples
MANDIR ?= $(PREFIX)/share/man
# libdat looks here first, whatever PREFIX is; in any other directory the file needs DAT_OVERRIDE.
SYSCONFDIR ?= /etc/dat
O := $(BUILD)
# make splits a path at its spaces.
ifneq ($(words $(CURDIR) $(BUILD)),2)
$(error no path may have a space in it, neither that of the clone, "$(CURDIR)", nor BUILD, "$(BUILD)": move the clone, or choose another BUILD)
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDEXPANSION:
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(O)/%,%,$(2))')

GOALS := $(or $(MAKECMDGOALS),all)
ifneq ($(and $(filter clean,$(GOALS)),$(filter-out clean,$(GOALS))),)
$(error clean: must be the only goal, because the others run at the same time)
endif
# A build needs fewer packages than the tests. Only the goals in AUTO_DEPS install packages, unless DEPS=no.
BUILD_GOALS := all libs run asm install uninstall dist
AUTO_DEPS := run soak check check-races check-dat2 check-stock check-pyverbs dat2-table covered \
	bench bench-table bench-scale bench-transports bench-hosts
INSTALLS := $(if $(filter no,$(DEPS)),,$(filter $(AUTO_DEPS),$(GOALS)))
DEPS_STAMP := $(O)/.deps$(if $(filter-out $(BUILD_GOALS),$(GOALS)),-tests)$(if $(INSTALLS),,-checked)
ifneq ($(filter-out help clean deps deb check-arm64 check-asan check-tsan check-all check-nightly fuzz coverage mutants,$(GOALS)),)
include $(O)/config.mk
endif

## Flags

WARN := -Wall -Wextra -Wconversion -Wvla -Wundef -Wmissing-prototypes -Wstrict-prototypes
ifneq ($(filter true 1,$(CI) $(WERROR)),)
WARN += -Werror
endif
OPT ?= -O2 -g
ifneq ($(SAN),)
SAN_FLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
CPPFLAGS_ALL = -I. -Iinclude -I$(O) -D_GNU_SOURCE $(EXT_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 $(OPT) -fPIC $(VISIBILITY) -pthread $(WARN) $(SAN_FLAGS) $(CFLAGS)
LDFLAGS_ALL = -pthread $(SAN_FLAGS) $(if $(COV),--coverage -Wl$(comma)-u$(comma)__gcov_dump) -Wl,--as-needed $(LDFLAGS)
VISIBILITY := -fvisibility=hidden
# If no symbol may stay undefined, a provider that cannot be loaded fails here and not in dlopen().
# clang links the runtime of a sanitizer into programs only, so libraries have undefined symbols
# then.
Z_DEFS = $(if $(and $(SAN),$(findstring clang,$(shell $(CC) --version))),,-Wl$(comma)-z$(comma)defs)
SHARED = -shared $(Z_DEFS) $(if $(SAN),,$(UNRESOLVED))
UNRESOLVED ?= $(if $(filter true 1,$(CI) $(WERROR)),,-Wl,--warn-unresolved-symbols)
# The second path is for multiarch systems, whose libraries are in lib/x86_64-linux-gnu: the loader
# replaces $LIB.
RPATH := -Wl,-rpath,'$$ORIGIN/../lib:$$ORIGIN/../$$LIB'

## Sources

objs = $(patsubst %.c,$(O)/obj/%.o,$(1))
objs20 = $(patsubst %.c,$(O)/obj/dat20/%.o,$(1))
src = $(sort $(foreach d,$(1),$(wildcard $(d)/*.c)))

LIBDAT_SRC := $(call src,core/libdat) core/log_line.c
CORE_SRC := $(call src,core $(addprefix core/,cm ep evd front mem sp))
# Without rdma-core no adapter can be used, and there are no programs to preload into.
with_verbs = $(if $(filter yes,$(HAVE_MLX5DV)),$(1),$(2))
# The hot calls of a backend are one source, compiled for each of these kinds, with FOLDER_FLAGS.
M5_HOT := base base_locked v3 v3_locked
EFA_HOT := any
M5_SRC := $(filter-out %/hot.c $(call with_verbs,hw_mlx5/ctl/none.c,hw_mlx5/ctl/uverbs% hw_mlx5/ctl/dv% hw_mlx5/ctl/vfio%),$(call src,hw_mlx5 hw_mlx5/ctl hw_mlx5/hot))
with_efa = $(call with_verbs,$(if $(filter yes,$(HAVE_EFA)),$(1),$(2)),$(2))
EFA_SRC := $(filter-out %/hot.c $(call with_efa,,hw_efa/ctl/efadv%),$(call src,hw_efa hw_efa/ctl hw_efa/hot))
# Code that both backends use.
HW_SRC := $(filter-out $(call with_verbs,,hw_common/verbs%),$(call src,hw_common))
# Sources that are compiled once for each API level, as the fronts are.
SOFT_HOT := hw_mlx5/ctl/soft_hot.c
LEVEL_SRC := hw_mlx5/hot/tables.c hw_efa/hot/dequeue.c $(SOFT_HOT)
DAT20_SRC := $(call src,core/front core/front/dat20) $(LEVEL_SRC)
SHARED20_SRC = $(filter-out core/front/% $(LEVEL_SRC),$(CORE_SRC) $(M5_SRC) $(EFA_SRC) $(HW_SRC))
SN_SRC := $(call src,softnic softnic/mlx5 softnic/efa softnic/fabric)
UVERBS_SRC := $(call with_verbs,$(call src,softnic/preload softnic/uverbs softnic/uverbs/efa))
EFADV_SRC := $(call with_efa,$(call src,softnic/uverbs/efadv))
VFIO_SRC := $(call with_verbs,$(call src,softnic/preload softnic/vfio))
# softnic-vm is a server and needs no rdma-core.
VM_SRC := $(call src,softnic/vfio_user softnic/vfio_user/efa) $(addprefix softnic/vfio/,config.c irq.c maps.c) softnic/argp/program.c
RUN_SRC := $(call with_verbs,$(call src,softnic/run) softnic/efa/profile.c softnic/argp/program.c)
HARNESS_SRC := $(call src,tests/harness)
PERF_COMMON := $(call src,perf/common) softnic/argp/program.c
CONSUMER_SRC := perf/common/consumer.c perf/common/stats.c
# The programs that follow perftest share the code in perf/tool.
PERF_TOOLS := $(patsubst perf/%.c,%,$(wildcard $(foreach t,write send read bind conn,perf/dat_$(t)_*.c)))
PERF_TOOL_SRC := $(call src,perf/tool)
PERF_PROGS := $(filter-out peer_% scale,$(patsubst perf/%.c,%,$(wildcard perf/*.c)))
NO_SUITE := harness canary tsan fuzz sh data walk $(call with_verbs,,stock uverbs vfio_ctl dpdk vfio) \
	$(call with_efa,,uverbs_efa efadv) $(if $(filter yes,$(HAVE_DAT2)),,dat2)
SUITES := $(filter-out $(NO_SUITE),$(sort $(patsubst tests/%/,%,$(dir $(wildcard tests/*/*.c)))))
SUITES20 := $(if $(filter yes,$(HAVE_DAT2)),programs2)
FUZZ_TARGETS := $(filter-out $(call with_verbs,,uverbs),$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
TSAN_PROGS := $(patsubst tests/tsan/%.c,%,$(wildcard tests/tsan/*.c))
EXAMPLES := $(wildcard examples/*.c)
QUALIFY := $(wildcard qualify/*.py)
HEADERS := $(wildcard include/dat/*.h)
MANS := $(wildcard man/*.[1-8] man/*.[1-8]dat)

# A suite whose directory holds a file `public` sees only what a consumer sees. Its suite.mk may set
# CFLAGS_<suite> and LIBS_<suite>.
include $(wildcard tests/*/suite.mk)

LIBDAT := $(O)/lib/libdat.so.1
ARCHIVES := $(patsubst %,$(O)/lib/lib%.a,core hw_mlx5 hw_efa hw_common softnic)
PROVIDER := $(O)/lib/libdapl-direct.so
PROVIDER20 := $(if $(filter yes,$(HAVE_DAT2)),$(O)/lib/libdapl-direct2.so)
UVERBS := $(if $(UVERBS_SRC),$(O)/lib/softnic-uverbs.so $(O)/lib/softnic-vfio.so) \
	$(if $(EFADV_SRC),$(O)/lib/softnic-efadv.so)
BINS := $(if $(RUN_SRC),$(O)/bin/softnic-run) $(O)/bin/softnic-vm $(PERF_PROGS:%=$(O)/bin/%) $(O)/bin/dat_qualify
EXAMPLE_BINS := $(EXAMPLES:%.c=$(O)/%)
# The programs that dat_qualify runs on an IA of uDAPL 2.0.
BINS20 := $(if $(PROVIDER20),$(patsubst %,$(O)/libexec/dapl-direct/dat2/%,$(PERF_TOOLS) dat_info dat_integrity dat_pingpong))
CONF := $(O)/etc/dat.conf
CONF20 := $(if $(PROVIDER20),$(O)/etc/dat2.conf $(O)/etc/bench2.conf)
SUITE_BINS := $(patsubst %,$(O)/tests/%,$(SUITES) $(SUITES20))

.PHONY: all libs tests deps
libs: $(LIBDAT) $(ARCHIVES) $(PROVIDER) $(PROVIDER20) $(UVERBS) $(CONF) $(O)/etc/bench.conf $(CONF20)
all: libs $(BINS) $(BINS20) $(EXAMPLE_BINS)
tests: $(SUITE_BINS)

# written TEXT: the recipe of a file that is rewritten only when the text changes
define written
@mkdir -p $(@D)
@printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@
endef
FORCE:
# Under sudo, `make install` may have other variables, so it installs what was built.
unless_installing = $(if $(filter-out install uninstall,$(GOALS)),FORCE)

## Configuration

# The tests need more packages than a build. DEPS=no only checks for packages; otherwise they are
# installed.
$(DEPS_STAMP): scripts/deps.sh
	@mkdir -p $(@D)
	@scripts/deps.sh $(if $(findstring -tests,$@),,--build) $(if $(INSTALLS),,--check)
	@touch $@ $(subst -tests,,$@) $(if $(INSTALLS),$@-checked $(O)/.deps-checked)

$(O)/configure: configure.ac | $(DEPS_STAMP)
	$(call say,CONF,$@)
	$(Q)cd $(O) && autoconf -o configure $(abspath configure.ac)

# What configure finds, so that it looks again after packages were installed or removed.
PKG_CONFIG ?= pkg-config
$(O)/packages: $(unless_installing) | $(DEPS_STAMP)
	$(call written,$(foreach m,libibverbs libmlx5 libefa zlib jansson criterion ucx-uct,\
		$m $(shell $(PKG_CONFIG) --modversion $m 2>/dev/null)) $(wildcard /usr/include/dat2/udat.h /usr/include/sys/sdt.h))

# Options of configure. A call without CONFIGURE keeps them.
$(O)/options: FORCE
	$(call written,$(if $(filter undefined,$(origin CONFIGURE)),$(file <$@),$(CONFIGURE)))

$(O)/config.mk: $(O)/configure scripts/config.mk.in scripts/config.h.in $(DEPS_STAMP) $(O)/packages $(O)/options
	$(Q)cd $(O) && ./configure -q --srcdir=$(CURDIR) $(file <$(O)/options) $(if $(filter command line environment,$(origin CC)),CC='$(CC)') \
		$(if $(SAN),CFLAGS='$(SAN_FLAGS)') >configure.log 2>&1 || { cat configure.log; exit 1; }
	@sed -n 's/^configure: WARNING:/  without/p' $(O)/configure.log

deps:
	@scripts/deps.sh

## Compiling

# Objects depend on it, so that changed flags compile them again.
$(O)/flags: $(unless_installing)
	$(call written,$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))

$(O)/obj/%.o: %.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(CFLAGS_DIR) -MMD -MP -c -o $@ $<

$(O)/obj/dat20/%.o: %.c $(O)/flags
	$(call say,CC,$< for 2.0)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -DDAP_DAT20 $(CFLAGS_ALL) $(CFLAGS_DIR) -MMD -MP -c -o $@ $<

# The version script of a shared library decides what it exports, not an attribute per function.
$(call objs,$(LIBDAT_SRC)): private VISIBILITY :=
$(call objs,$(UVERBS_SRC) $(EFADV_SRC) $(VFIO_SRC)): private VISIBILITY :=
$(O)/obj/tests/%.o $(O)/obj/dat20/tests/%.o: private CPPFLAGS_ALL += $(CRITERION_CFLAGS)
# Without optimization tests compile in two thirds of the time, and a debugger shows all of their variables. The canaries
# of the hot path need it.
ifeq ($(SAN),)
$(O)/obj/tests/%.o $(O)/obj/dat20/tests/%.o: private OPT := -O0 -g
$(O)/obj/tests/canary/%.o: private OPT := -O2 -g
endif
$(foreach s,$(notdir $(wildcard tests/*)),$(eval $(O)/obj/tests/$(s)/%.o: private CFLAGS_DIR = $$(CFLAGS_$(s))))
# `make coverage` counts lines of these files: the accesses to an adapter through rdma-core. They are not
# optimized, so that each line has code of its own.
COVERED := $(foreach f,uverbs dv vfio eq port,hw_mlx5/ctl/$(f)*.c) hw_common/verbs*.c hw_efa/ctl/efadv*.c
$(if $(COV),$(foreach o,$(O)/obj $(O)/obj/dat20,$(patsubst %.c,$o/%.o,$(wildcard $(COVERED))))): \
	private CFLAGS_DIR = -O0 --coverage -fprofile-update=atomic

# Words that the consumer has just stored one by one must not be loaded as one word. Code paths with
# equal ends must not be merged, because the merge needs moved and saved registers. clang has no
# such option.
option = $(shell $(CC) -Werror $(1) -c -x c -o /dev/null /dev/null 2>/dev/null && echo $(1))
HOT := -fno-tree-slp-vectorize $(call option,-fno-tree-tail-merge) $(call option,-fno-crossjumping)
# The hot functions are compiled a second time with these instruction sets; hot/isa.c detects them.
HOT_V3 := $(if $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),-mavx2 -mmovbe -mbmi -mbmi2)
$(O)/obj/hw_efa/hot/dequeue.o $(O)/obj/dat20/hw_efa/hot/dequeue.o $(O)/obj/hw_efa/rx.o: private CFLAGS_DIR := $(HOT)
hw_mlx5_FLAGS = -DM5_HOT=m5_hot_$(1) -DM5_LOCKED=$(if $(findstring locked,$(1)),true,false) \
	$(if $(findstring v3,$(1)),$(HOT_V3))

# hot FOLDER, KIND, OBJECTS, FLAGS: the object of one kind of hot/hot.c, of one API level
define hot
$(3)/$(1)/hot/hot-$(2).o: $(1)/hot/hot.c $(O)/flags
	$$(call say,CC,$$< $(2)$(if $(4), for 2.0))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CPPFLAGS_ALL) $(4) $$(CFLAGS_ALL) $(HOT) $(call $(1)_FLAGS,$(2)) -MMD -MP -c -o $$@ $$<
endef
$(foreach k,$(M5_HOT),$(eval $(call hot,hw_mlx5,$k,$(O)/obj)))
$(foreach k,$(M5_HOT),$(eval $(call hot,hw_mlx5,$k,$(O)/obj/dat20,-DDAP_DAT20)))
$(foreach k,$(EFA_HOT),$(eval $(call hot,hw_efa,$k,$(O)/obj)))
$(foreach k,$(EFA_HOT),$(eval $(call hot,hw_efa,$k,$(O)/obj/dat20,-DDAP_DAT20)))
hot_objs = $(M5_HOT:%=$(1)/hw_mlx5/hot/hot-%.o) $(EFA_HOT:%=$(1)/hw_efa/hot/hot-%.o)

## Libraries

# Libraries and programs depend on it, so that they are linked again with other flags, and without a removed source.
$(O)/link: $(unless_installing)
	$(call written,$(LDFLAGS_ALL) $(LIBDAT_SRC) $(CORE_SRC) $(M5_SRC) $(EFA_SRC) $(HW_SRC) $(SN_SRC) $(UVERBS_SRC) \
		$(EFADV_SRC) $(VFIO_SRC) $(RUN_SRC) $(VM_SRC) $(wildcard perf/*.c perf/*/*.c) \
		$(HARNESS_SRC) $(call src,$(SUITES:%=tests/%)))

# Files of two folders may have the same name, so members are appended and not replaced.
define archive
$(O)/lib/$(1).a: $(call objs,$(2)) $(3)
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $(AR) qcs $$@ $$(filter %.o,$$^)
endef
AR ?= ar
$(eval $(call archive,libcore,$(CORE_SRC)))
$(eval $(call archive,libhw_mlx5,$(M5_SRC),$(M5_HOT:%=$(O)/obj/hw_mlx5/hot/hot-%.o)))
$(eval $(call archive,libhw_efa,$(EFA_SRC),$(EFA_HOT:%=$(O)/obj/hw_efa/hot/hot-%.o)))
$(eval $(call archive,libhw_common,$(HW_SRC)))

# The model's files are small and call each other for every packet. If gcc makes one object of them, a
# packet needs a fifth fewer instructions. Sanitizers and coverage need separate objects.
SN_WHOLE := $(if $(filter yes,$(HAVE_LTO)),$(if $(SAN)$(findstring coverage,$(CFLAGS) $(OPT)),,yes))
SN_OBJS := $(if $(SN_WHOLE),$(O)/obj/softnic/whole.o,$(call objs,$(SN_SRC)))
ifneq ($(SN_WHOLE),)
$(call objs,$(SN_SRC)): private CFLAGS_DIR := -O3 -flto=auto
$(O)/obj/softnic/whole.o: $(call objs,$(SN_SRC)) $(O)/link
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -O3 -flto=auto -flinker-output=nolto-rel -nostdlib -r -o $@ $(filter %.o,$^)
endif
$(eval $(call archive,libsoftnic,,$$(SN_OBJS)))

map = $(addprefix -Wl$(comma)--version-script=,$(wildcard $(1)))
comma := ,
group = -Wl,--start-group $(ARCHIVES) -Wl,--end-group
whole = -Wl,--whole-archive $(ARCHIVES) -Wl,--no-whole-archive
ldat = -L$(O)/lib -ldat

# link FLAGS, LIBRARIES: the recipe that links the objects of a rule
define link
$(call say,LD,$@)
@mkdir -p $(@D)
$(Q)$(CC) $(LDFLAGS_ALL) $(1) -o $@ $(filter %.o,$^) $(2)
endef

$(O)/lib/libdat.so.1: $(call objs,$(LIBDAT_SRC)) $(wildcard core/libdat/*.map)
	$(call link,$(SHARED) -Wl$(comma)-soname$(comma)libdat.so.1 $(call map,core/libdat/*.map))
	@ln -sf libdat.so.1 $(@D)/libdat.so

# The library is never unmapped, because a stale handle still leads to a table in it after
# dat_ia_close().
nodelete = -Wl,-z,nodelete
$(O)/lib/libdapl-direct.so: $(ARCHIVES) $(LIBDAT) core/provider.map
	$(call link,$(SHARED) $(nodelete) $(call map,core/provider.map),$(whole) $(ldat) $(EXT_LIBS))

# The provider of uDAPL 2.0 uses the system's registry, libdat2.
$(O)/lib/libdapl-direct2.so: $(call objs20,$(DAT20_SRC)) $(call hot_objs,$(O)/obj/dat20) $(call objs,$(SHARED20_SRC)) $(SN_OBJS) \
		core/front/dat20/provider.map
	$(call link,$(SHARED) $(nodelete) $(call map,core/front/dat20/provider.map),-ldat2 $(EXT_LIBS))

$(O)/lib/softnic-uverbs.so: $(call objs,$(UVERBS_SRC))
$(O)/lib/softnic-vfio.so: $(call objs,$(VFIO_SRC))
$(O)/lib/softnic-efadv.so: $(call objs,$(EFADV_SRC))
$(UVERBS): $(O)/lib/softnic-%.so: $$(if $$(filter efadv,$$*),,$(filter %/libsoftnic.a,$(ARCHIVES))) softnic/preload.map
	$(call link,$(SHARED) $(call map,softnic/preload.map),$(filter %.a,$^) $(EXT_LIBS))

# The files below contain the path of the build directory, so they are made again after it was moved
# or copied.
$(O)/where: FORCE
	$(call written,$(abspath $(O)))

# Consumers ask for an instance that is threadsafe or not by the key, so each adapter has two lines. bench*.conf have
# the variant that runs on hardware, over the same model: what `make bench` counts.
$(O)/etc/dat2.conf $(O)/etc/bench2.conf: private CONF_LEVEL := 2
$(O)/etc/bench.conf $(O)/etc/bench2.conf: private CONF_PARAMS := variant=silicon
$(addprefix $(O)/etc/,dat.conf dat2.conf bench.conf bench2.conf): scripts/mkconf $(O)/where
	@mkdir -p $(@D)
	$(Q)scripts/mkconf $(CONF_LEVEL:%=-%) $(abspath $(O)/lib/libdapl-direct$(CONF_LEVEL).so) $(CONF_PARAMS) >$@

## Programs

$(O)/bin/softnic-run: $(call objs,$(RUN_SRC))
	$(call link,$(RPATH))

$(O)/bin/softnic-vm: $(call objs,$(VM_SRC)) $(O)/lib/libsoftnic.a
	$(call link,,$(filter %.a,$^) $(EXT_LIBS))

$(O)/bin/dat_qualify: qualify/dat_qualify $(QUALIFY) $(O)/config.mk
	$(call say,GEN,$@)
	@mkdir -p $(@D) $(O)/share/dapl-direct/qualify
	$(Q)install -m 644 $(QUALIFY) $(O)/share/dapl-direct/qualify
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< >$@ && chmod 755 $@

$(PERF_PROGS:%=$(O)/bin/%): $(O)/bin/%: $(O)/obj/perf/%.o $(call objs,$(PERF_COMMON)) $(LIBDAT) \
		$$(call objs,$$(call src,perf/$$*)) \
		$$(if $$(filter $$*,$(PERF_TOOLS)),$$(call objs,$(PERF_TOOL_SRC)))
	$(call link,$(RPATH),$(ldat) $(if $(filter $*,$(PERF_TOOLS)),-ljansson) $(LIBS_$*) -lm)

LIBS_dat_info = -ljansson
LIBS_dat_integrity = -ljansson
# These programs read dat.conf as libdat does, without its registry.
$(O)/bin/dat_migrate: $(call objs,core/variable.c)
CONF_LINE_SRC := core/libdat/conf_line.c core/libdat/own_library.c
$(patsubst %,$(O)/bin/%,dat_first_light dat_info dat_migrate $(PERF_TOOLS)): $(call objs,$(CONF_LINE_SRC))
# It reads what the provider writes, with the provider's code.
$(O)/bin/dat_top: $(call objs,core/page_read.c)
# This program also accesses adapters below DAT.
$(O)/bin/dat_first_light: $(ARCHIVES)
LIBS_dat_first_light = $(group) $(EXT_LIBS) -ljansson

# Lengths of 2.0 have 32 bits. These programs have none above 8 MiB.
$(O)/obj/dat20/perf/%.o: private CFLAGS_DIR := -Wno-conversion
$(BINS20): $(O)/libexec/dapl-direct/dat2/%: $(O)/obj/dat20/perf/%.o $(call objs20,$(PERF_COMMON)) \
		$$(call objs20,$$(call src,perf/$$*)) \
		$$(if $$(filter $$*,$(PERF_TOOLS)),$$(call objs20,$(PERF_TOOL_SRC))) \
		$$(if $$(filter $$*,dat_info $(PERF_TOOLS)),$$(call objs,$(CONF_LINE_SRC)))
	$(call link,$(subst ../,../../../,$(RPATH)),-ldat2 -ljansson -lm)

# The same program for uDAPL 2.0, used by `make bench` only.
BENCH20 := $(if $(PROVIDER20),$(O)/tests/dat_bench2)
$(O)/tests/dat_bench2: $(call objs20,perf/dat_bench.c $(call src,perf/dat_bench) $(PERF_COMMON))
	$(call link,,-ldat2 -lm)

# Peers that `make bench` compares with, if their headers are installed.
PEERS := $(call with_verbs,verbs) $(if $(filter yes,$(HAVE_UCT)),uct) $(if $(PROVIDER20),dapl)
PEER_BINS := $(PEERS:%=$(O)/tests/peer_%)
PEER_SRC := $(call src,perf/peer) perf/common/stats.c
PEER_LIBS_verbs = $(EXT_LIBS)
PEER_LIBS_uct = $(UCT_LIBS)
PEER_LIBS_dapl = -ldat2
$(O)/obj/perf/peer_uct.o: private CFLAGS_DIR := $(UCT_CFLAGS)
$(O)/tests/peer_dapl: $(call objs20,perf/peer_dapl.c $(filter-out %/stats.c,$(PERF_COMMON)))
$(O)/tests/peer_verbs $(O)/tests/peer_uct: $(O)/tests/peer_%: $(O)/obj/perf/peer_%.o
$(PEER_BINS): $(call objs,$(PEER_SRC))
	$(call link,,$(PEER_LIBS_$(@F:peer_%=%)) -ldl -lm)

# A program that `make bench-scale` runs besides the installed ones.
SCALE := $(O)/tests/scale-bench
$(O)/tests/scale-bench: $(call objs,perf/scale.c perf/dat_bench/crowd.c $(PERF_COMMON)) $(LIBDAT)
	$(call link,$(RPATH),$(ldat) -lm)

# Each example stands alone: it needs one file, the headers and libdat.
$(EXAMPLE_BINS): $(O)/%: $(O)/obj/%.o $(LIBDAT)
	$(call link,$(RPATH),$(ldat))

## Tests

# Criterion runs each test in a new process, and loads libgit2 with fifteen other libraries only to print
# differences of strings, which takes longer than most tests. So the suites bring an empty libgit2.
LIBGIT2 := $(shell { objdump -p $$($(CC) -print-file-name=libcriterion.so); } 2>/dev/null | \
	sed -n 's,^ *NEEDED *\(libgit2\.so.*\),$(O)/tests/lib/\1,p')
CRITERION := $(if $(LIBGIT2),-Wl$(comma)--no-as-needed $(LIBGIT2) -Wl$(comma)--as-needed -Wl$(comma)-rpath$(comma)'$$ORIGIN/lib') \
	$(CRITERION_LIBS)
$(LIBGIT2):
	@mkdir -p $(@D)
	$(Q)nm -D -u "$$($(CC) -print-file-name=libcriterion.so)" | sed -n 's/.* U \(git_[a-z0-9_]*\).*/int \1(void) { return 0; }/p' | \
		$(CC) -w -shared -fPIC -Wl,-soname,$(@F) -x c - -o $@

HARNESS := $(call objs,$(HARNESS_SRC))
define suite
$(O)/tests/$(1): $(call objs,$(call src,tests/$(1))) $(HARNESS) $(LIBDAT) \
		$(if $(wildcard tests/$(1)/public),,$(ARCHIVES)) | $(LIBGIT2)
	$$(call link,,$(if $(wildcard tests/$(1)/public),,$$(group)) $(if $(wildcard tests/$(1)/libdat2),-ldat2,$(ldat)) \
		$$(EXT_LIBS) $$(CRITERION) $$(LIBS_$(1)) -lm)
endef
$(foreach s,$(SUITES),$(eval $(call suite,$(s))))

# The same sources for uDAPL 2.0, with the registry of the system.
$(O)/tests/programs2: $(call objs20,$(call src,tests/programs) $(CONSUMER_SRC)) $(HARNESS) | $(LIBGIT2)
	$(call link,,-ldat2 $(EXT_LIBS) $(CRITERION) -lm)

TEST_ENV = DAT_OVERRIDE=$(abspath $(CONF)) LD_LIBRARY_PATH=$(abspath $(O)/lib) \
	DAPL_BUILD_DIR=$(abspath $(O)) DAPL_DBG_ABORT=1 CC='$(CC)' SAN='$(SAN)'

# Tests of the test tools: one test that must fail, and one for each fault that a sanitizer must
# report.
$(O)/obj/tests/canary/%.o: private CFLAGS_DIR := -w
$(O)/tests/canary: $(O)/obj/tests/canary/faults.o $(O)/obj/tests/harness/after.o
	$(call link,,$(CRITERION_LIBS))

# Criterion does not start under the race detector, so these are plain programs.
$(O)/lib/libharness.a: $(HARNESS)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

TSAN_BINS := $(TSAN_PROGS:%=$(O)/tests/tsan/%)
$(TSAN_BINS): $(O)/tests/tsan/%: $(O)/obj/tests/tsan/%.o $(call objs,$(PERF_COMMON)) $(O)/lib/libharness.a \
		$(ARCHIVES) $(LIBDAT)
	$(call link,,$(O)/lib/libharness.a $(group) $(ldat) $(EXT_LIBS) -lm)

$(O)/tests/canary-race: $(O)/obj/tests/canary/race.o
	$(call link)

$(O)/tests/canary-hot.so: $(O)/obj/tests/canary/hot.o
	$(call link,-shared)

# Each target is linked with the project's objects. In `make fuzz` clang's libFuzzer calls it, in `make check` a
# program that has the inputs of the corpus.
FUZZ_BINS := $(FUZZ_TARGETS:%=$(O)/tests/fuzz/%)
FUZZ_CALLER := $(if $(findstring fuzzer,$(SAN)),,$(O)/obj/tests/fuzz/replay/main.o)
$(O)/tests/canary-fuzz: $(O)/obj/tests/canary/fuzz.o
	$(call link,-fsanitize=fuzzer)

$(FUZZ_BINS): $(O)/tests/fuzz/%: $(O)/obj/tests/fuzz/%.o $(FUZZ_CALLER) $(call objs,$(LIBDAT_SRC)) $(ARCHIVES)
	$(call link,$(if $(FUZZ_CALLER),,-fsanitize=fuzzer) $(FUZZ_LDFLAGS_$*),$(group) $(EXT_LIBS))

# The library between Debian's test programs and libdat2: see scripts/check-dat2.
SHIM20 := $(if $(PROVIDER20),$(O)/tests/dat2-shim.so)
$(O)/tests/dat2-shim.so: $(O)/obj/tests/dat2/shim/shim.o
	$(call link,-shared,-ldl)

HOT_TABLES := $(O)/tests/hot-tables
$(O)/tests/hot-tables: $(O)/obj/scripts/hot_tables.o $(call objs,$(PERF_COMMON)) $(LIBDAT)
	$(call link,,$(ldat) -lm)

# The same program for the tables of uDAPL 2.0.
HOT_TABLES20 := $(if $(PROVIDER20),$(O)/tests/hot-tables2)
$(O)/tests/hot-tables2: $(call objs20,scripts/hot_tables.c $(PERF_COMMON))
	$(call link,,-ldat2 -lm)

$(LIBDAT) $(ARCHIVES) $(PROVIDER) $(PROVIDER20) $(UVERBS) $(BINS) $(BINS20) $(EXAMPLE_BINS) $(SUITE_BINS): $(O)/link

CANARIES := $(O)/tests/canary $(if $(SAN),,$(O)/tests/canary-hot.so)

# With T=, builds only the libraries and the programs that T names.
T_SUITE := $(filter $(SUITES) $(SUITES20),$(firstword $(subst /, ,$(T))))
.PHONY: check run bench help clean install uninstall
CHECK_NEEDS := $(if $(T_SUITE),$(LIBDAT) $(PROVIDER) $(CONF) $(O)/tests/$(T_SUITE) \
	$(if $(filter api,$(T_SUITE)),$(O)/bin/dat_top) $(if $(filter dat2 programs2,$(T_SUITE)),$(PROVIDER20) $(CONF20)),\
	all $(if $(SAN),,$(SHIM20) $(PEER_BINS) $(BENCH20) $(SCALE)) $(WALK) $(FUZZ_BINS) $(if $(filter sh/%,$(T)),,tests $(CANARIES) $(if $(SAN),,$(HOT_TABLES) $(HOT_TABLES20))))
check: $(CHECK_NEEDS)
	@$(TEST_ENV) scripts/check $(O) $(if $(T),-t '$(T)') $(if $(T_SUITE),$(T_SUITE),$(SUITES) $(SUITES20))

# Stock RDMA programs on the software ConnectX; those of make check are a few of them.
.PHONY: check-stock
check-stock: all
	@scripts/deps.sh --stock
	@$(TEST_ENV) scripts/check-stock $(O)

# rdma-core's own tests on the software adapters: build/pyverbs.md.
.PHONY: check-pyverbs
check-pyverbs: all
	@scripts/deps.sh --pyverbs
	@$(TEST_ENV) scripts/check-pyverbs $(O)

# Linux's own drivers on the software ConnectX, in guests of QEMU.
.PHONY: check-vm check-vm-full
check-vm: all
	@scripts/check-vm $(O)
check-vm-full: all
	@scripts/check-vm $(O) full

# Debian's own programs of uDAPL 2.0, unmodified. Runs with planted faults must fail.
.PHONY: check-dat2
check-dat2: libs $(SHIM20)
	@$(if $(SHIM20),scripts/check-dat2 $(O),\
		echo 'check-dat2: no provider for uDAPL 2.0 without libdapl-dev')

# OpenFabrics' own provider beside ours, on this machine.
.PHONY: dat2-table
dat2-table: all
	@$(if $(PROVIDER20),scripts/dat2-table $(O),echo 'dat2-table: no provider for uDAPL 2.0 without libdapl-dev')

.PHONY: check-asan check-tsan check-races check-all
check-asan:
	+@$(MAKE) BUILD=$(O)/asan SAN=address,undefined check

check-tsan:
	+@$(MAKE) BUILD=$(O)/tsan SAN=thread check-races

# Runs each target, or T, with RUNS inputs or for SECONDS. check-nightly runs tests that take too long for
# every change.
.PHONY: fuzz fuzz-run check-nightly
FUZZ_T := $(or $(T),$(FUZZ_TARGETS))
FUZZ_RUNS := $(or $(RUNS),$(if $(SECONDS),-1,20000))
fuzz:
	@command -v clang >/dev/null || { echo 'fuzz: clang is not installed: scripts/deps.sh --all installs it' >&2; exit 1; }
	+@$(MAKE) BUILD=$(O)/fuzz CC=clang SAN=address,undefined,fuzzer-no-link CFLAGS='-fprofile-instr-generate -fcoverage-mapping' \
		LDFLAGS=-fprofile-instr-generate fuzz-run

fuzz-run: $(FUZZ_T:%=$(O)/tests/fuzz/%) $(O)/tests/canary-fuzz
	@scripts/fuzz $(O) $(FUZZ_RUNS) $(or $(SECONDS),0) $(FUZZ_T)

check-nightly:
	@scripts/deps.sh --all
	+@$(MAKE) T= RUNS= SECONDS=$(or $(SECONDS),60) fuzz
	+@$(MAKE) walk

# Random DAT calls, judged by a model of DAT: WALKS on each adapter, from seed WALK_SEED.
.PHONY: walk
walk: all $(WALK)
	@$(TEST_ENV) scripts/walk $(O) $(WALKS)

check-races: libs $(TSAN_BINS) $(O)/tests/canary-race
	@$(TEST_ENV) DAT_OVERRIDE=$(abspath $(O)/etc/bench.conf) scripts/check $(O) -r $(TSAN_PROGS)

# Lines of the accesses to an adapter that no test executes: build/coverage.txt and .html.
.PHONY: coverage covered
coverage:
	@scripts/deps.sh --all
	+@$(MAKE) BUILD=$(O)/cov COV=1 REPORT=$(abspath $(O)/coverage) covered

COVERED_BY := uverbs vfio_ctl efadv api e2e conformance dat2
covered: all $(patsubst %,$(O)/tests/%,$(filter $(COVERED_BY),$(SUITES)))
	@$(TEST_ENV) scripts/coverage $(O) $(REPORT)

# Mutants of the source that no test notices: N of SEED, all or of FILE, JOBS at a time. A second call goes on.
.PHONY: mutants
mutants:
	@scripts/deps.sh --mutants
	@scripts/mutants --dir '$(O)/mutants' --seed '$(or $(SEED),1)' --count '$(or $(N),20)' \
		$(FILE:%=--only-file '%') $(JOBS:%=--jobs '%') $(BUDGET:%=--budget '%')
	@scripts/mutants --dir '$(O)/mutants' --report

check-all:
	@scripts/deps.sh --all
	+@scripts/check-all '$(MAKE)'

run: all
	@scripts/run $(O)

.PHONY: bench-table bench-scale bench-transports bench-hosts
bench:
	@scripts/deps.sh --bench || echo 'bench: continues without the missing packages'
	+@$(MAKE) bench-table

# Short-lived clients for MINUTES on each adapter of IA: build/soak.
MINUTES := 60
.PHONY: soak
soak: all $(O)/tests/soak
	@$(TEST_ENV) scripts/soak $(O) '$(MINUTES)' $(IA)

bench-scale: $(SCALE)
bench-scale bench-transports bench-hosts: all
	@scripts/deps.sh --bench || echo '$@: continues without the missing packages'
	@$(TEST_ENV) scripts/$@ $(O)

# The hot functions of this build, and what differs from those of the last commit.
.PHONY: asm
asm: libs
	@{ $(call asm_list,hw_mlx5,$(M5_HOT)) $(call asm_list,hw_efa,$(EFA_HOT) ) } | scripts/asm $(O) '$(HOT)'
asm_list = $(foreach k,$(2),$(foreach l,/ $(if $(PROVIDER20),dat20/), \
	echo '$(filter-out /,$l)$(1)/hot/hot-$k $(1)/hot/hot.c $(if $(filter dat20/,$l),-DDAP_DAT20) $(call $(1)_FLAGS,$k)';))

bench-table: all $(BENCH20) $(PEER_BINS)
	@$(TEST_ENV) scripts/bench $(O)
	@$(TEST_ENV) scripts/bench-peers $(O)

## Installing

D := $(DESTDIR)
INST_LIBS = $(strip $(PROVIDER) $(PROVIDER20) $(UVERBS))
# $(call each_section,NAME): the value of NAME for each section $(n) that has manual pages, which section_mans lists
each_section = $(foreach n,1 2 3 4 5 6 7 8,$(if $(section_mans),$(call $(1))))
section_mans = $(filter %.$(n) %.$(n)dat,$(MANS))
install_mans = install -d '$(D)$(MANDIR)/man$(n)' && $(call put,644,$(section_mans),$(MANDIR)/man$(n)) &&
installed_mans = $(section_mans:man/%='$(D)$(MANDIR)/man$(n)/%')
put = install -m $(1) $(2) '$(D)$(3)/'
# The loader finds libraries through its cache. A user who cannot write the cache gets a message
# about LD_LIBRARY_PATH.
cached = @ldconfig 2>/dev/null && ldconfig -p | grep -q '$(LIBDIR)/libdat.so.1' || \
	echo 'install: programs find $(LIBDIR)/libdat.so.1 by LD_LIBRARY_PATH=$(LIBDIR)'

install: all
	install -d '$(D)$(LIBDIR)/pkgconfig' '$(D)$(PROVIDERDIR)' '$(D)$(INCDIR)/dat' '$(D)$(BINDIR)' '$(D)$(SYSCONFDIR)'
	$(call put,755,$(LIBDAT),$(LIBDIR))
	$(call put,755,$(INST_LIBS),$(PROVIDERDIR))
	ln -sf libdat.so.1 '$(D)$(LIBDIR)/libdat.so'
	$(call put,644,$(HEADERS),$(INCDIR)/dat)
	$(call put,755,$(BINS),$(BINDIR))
	install -d '$(D)$(QUALIFYDIR)' && $(call put,644,$(QUALIFY),$(QUALIFYDIR))
	$(if $(BINS20),install -d '$(D)$(DAT2DIR)' && $(call put,755,$(BINS20),$(DAT2DIR)))
	sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,$(LIBDIR),' -e 's,@INCDIR@,$(INCDIR),' scripts/dat.pc.in \
		>'$(D)$(LIBDIR)/pkgconfig/dat.pc'
	install -d '$(D)$(EXAMPLEDIR)' && $(call put,644,$(EXAMPLES),$(EXAMPLEDIR))
	@echo 'install: $(words $(MANS)) manual pages in $(D)$(MANDIR)'
	@$(call each_section,install_mans) true
	[ -e '$(D)$(SYSCONFDIR)/dat.conf' ] || \
		scripts/mkconf '$(PROVIDERDIR)/libdapl-direct.so' >'$(D)$(SYSCONFDIR)/dat.conf' || \
		{ rm '$(D)$(SYSCONFDIR)/dat.conf'; false; }
	$(if $(D),,$(cached))

# A modified dat.conf stays.
uninstall:
	rm -f $(patsubst $(O)/lib/%,'$(D)$(PROVIDERDIR)/%',$(INST_LIBS)) '$(D)$(LIBDIR)/libdat.so.1' '$(D)$(LIBDIR)/libdat.so' \
		'$(D)$(LIBDIR)/pkgconfig/dat.pc' $(HEADERS:include/%='$(D)$(INCDIR)/%') \
		$(patsubst $(O)/bin/%,'$(D)$(BINDIR)/%',$(BINS)) $(QUALIFY:qualify/%='$(D)$(QUALIFYDIR)/%') \
		$(BINS20:$(O)/libexec/dapl-direct/dat2/%='$(D)$(DAT2DIR)/%') \
		$(call each_section,installed_mans) \
		$(EXAMPLES:examples/%='$(D)$(EXAMPLEDIR)/%')
	if scripts/mkconf '$(PROVIDERDIR)/libdapl-direct.so' | cmp -s - '$(D)$(SYSCONFDIR)/dat.conf'; then \
		rm '$(D)$(SYSCONFDIR)/dat.conf'; fi
	rmdir --ignore-fail-on-non-empty '$(D)$(INCDIR)/dat' '$(D)$(EXAMPLEDIR)' '$(D)$(PREFIX)/share/doc/dapl-direct' \
		'$(D)$(QUALIFYDIR)' '$(D)$(BINDIR)/../share/dapl-direct' '$(D)$(SYSCONFDIR)' \
		$(if $(BINS20),'$(D)$(DAT2DIR)' '$(D)$(BINDIR)/../libexec/dapl-direct') 2>/dev/null || true

help:
	@awk -F'\t' '/^#: /{sub(/^#: /, ""); print "  " $$0}' Makefile

# The committed files of this release, and nothing of the machine that packs them.
.PHONY: dist
DIST = dapl-direct-$(VERSION)
dist:
	@git rev-parse --verify -q HEAD >/dev/null || { echo 'dist: needs a git clone with a commit'; exit 1; }
	$(call say,DIST,$(O)/$(DIST).tar.gz)
	$(Q)git archive --format=tar.gz --prefix=$(DIST)/ -o $(O)/$(DIST).tar.gz HEAD

# Cross-compiled in a chroot, run by qemu-user: function, not ordering. T= for some suites.
.PHONY: check-arm64
check-arm64:
	@scripts/deps.sh --chroot
	@mkdir -p $(O)
	@scripts/check-arm64 $(O) $(T)

# Debian packages, built and tried in clean chroots: build/deb.
.PHONY: deb
deb:
	@scripts/deps.sh --chroot
	@mkdir -p $(O)
	@scripts/deb $(O) $(SUITE)

clean:
	rm -rf $(O)

#: make              build everything into build/ (BUILD= for elsewhere, CC=clang, V=1, WERROR=1)
#: make run          two processes move verified data through the software ConnectX, and a table
#: make check        all tests (T=suite/test for one)
#: make check-dat2   Debian's dtest, dtestcm, dtestsrq, dtestx and dapltest on the 2.0 provider
#: make dat2-table   OpenFabrics' provider and ours side by side, in build/dat2.md
#: make check-asan   the same suites under address, leak and undefined-behaviour sanitizers
#: make check-tsan   the thread programs under the race detector
#: make fuzz         random input for the parsers and the software adapters (T=target, RUNS=, SECONDS=; needs clang)
#: make walk         random DAT calls, judged by a model of DAT (WALKS=600 on each adapter)
#: make check-nightly a minute of each fuzz target, and make walk
#: make check-stock  stock RDMA programs (perftest, UCX, dapl) on the software ConnectX
#: make check-vm     Linux's mlx5_core, mlx5_ib and efa on the software adapters, in guests of QEMU (downloads 600 MB once, 1 GB unpacked)
#: make check-vm-full all of dat_conform with each pair of kernel, rdma-core, kind of port and size of pages; all cases with rdma_rxe
#: make check-pyverbs rdma-core's own tests (pyverbs) on the software adapters: build/pyverbs.md
#: make coverage     lines of the accesses to an adapter that no test executes: build/coverage.txt
#: make mutants      wrong lines of source that no test notices: N=20 of SEED=1, FILE=, JOBS=1 at a time, each with tests of BUDGET= seconds
#: make soak         clients that are killed, stopped or left, for MINUTES=60 on each adapter (IA=): plots in build/soak
#: make check-all    check, check-dat2, check-stock, check-asan, check-tsan and coverage, and check with clang
#: make bench        instructions and nanoseconds per call beside libibverbs, UCX and dapl: build/bench.md
#: make bench-scale  posts, polls, sizes, registration and connections as they grow: plots in build/
#: make bench-transports UCX posix, sysv, cma, tcp and libfabric shm, tcp beside our device: build/transports.md
#: make bench-hosts  a TCP socket and UCX tcp between two network namespaces, beside our device: build/hosts.md
#: make asm          the hot functions in build/asm, with a diff against the last commit
#: make install      PREFIX= DESTDIR= SYSCONFDIR= (and make uninstall)
#: make check-arm64  the suites of arm64 by qemu-user, and barriers in the disassembly (root; T=suite for one)
#: make deb          Debian packages, built, judged and tried in clean chroots: build/deb (root; SUITE=trixie for one)
#: make dist         the committed files as build/dapl-direct-VERSION.tar.gz
#: make deps         install the Debian packages that are missing; run and check do so, too (not with DEPS=no)
#: make clean        remove build/

-include $(shell [ -d $(O)/obj ] && find $(O)/obj -name '*.d')
