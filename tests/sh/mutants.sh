#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/mutants: the mutants of a small text, and its verdicts on a project of one file.
# Slow: only with DAPL_ALL=1.
set -u
# make does not support a path with a space, but TMPDIR may have one.
tmp=$(TMPDIR= mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS CFLAGS
status=0
mutants=$PWD/scripts/mutants
said=$("$mutants" --dir "$tmp" --report 2>&1)
[[ $said = 'mutants: no results in '* ]] || { echo "the list of looked-at survivors is not read: $said"; status=1; }
mkdir -p "$tmp/toy/core" "$tmp/toy/tests/toy"
cd "$tmp/toy" || exit 1

cat >Makefile <<'END'
O := $(BUILD)
all libs: $(O)/lib/libtoy.a
tests: $(O)/tests/toy
$(O)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -I. -O2 $(if $(filter $<,$(COVERED)),--coverage) -MMD -Wall -Werror=int-conversion -c -o $@ $<
$(O)/lib/libtoy.a: $(O)/obj/core/toy.o
	@mkdir -p $(@D)
	rm -f $@ && ar qcs $@ $^
$(O)/tests/toy: $(O)/obj/tests/toy/toy.o $(O)/lib/libtoy.a
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(if $(COV),--coverage) $$(pkg-config --libs criterion)
-include $(wildcard $(O)/obj/core/*.d)
END

cat >core/toy.h <<'END'
struct toy {
	int sum, count;
	char *name;
};
int toy_add(struct toy *t, int value);
int toy_steps(int from);
int toy_unused(struct toy *t);
void toy_free(struct toy *t);
END

cat >core/toy.c <<'END'
#include <stdlib.h>
#include "core/toy.h"

static int seen;

static void add(struct toy *t, int value)
{
	t->sum += value;
}

static void complete(struct toy *t)
{
	t->count++;
}

static void dap_wmb_here(void)
{
	__asm__ volatile("mfence" ::: "memory");
}

int toy_add(struct toy *t, int value)
{
	if (value < 0)
		return -1;
	add(t, value);
	complete(t);
	dap_wmb_here();
	seen = t->count;
	return 0;
}

int toy_steps(int from)
{
	volatile int n = 0;

	while (from > 0) {
		from--;
		n++;
	}
	return n;
}

int toy_unused(struct toy *t)
{
	return t->sum == 3;
}

void toy_free(struct toy *t)
{
	free(t->name);	/* "sum"; is no code */
	if (t->name && t->sum)
		t->name = NULL;
}
END

cat >tests/toy/toy.c <<'END'
#include <criterion/criterion.h>
#include "core/toy.h"

Test(toy, add__counts)
{
	struct toy t = { 0 };

	cr_assert(!toy_add(&t, 2) && t.sum == 2 && t.count == 1);
	toy_free(&t);
}

Test(toy, steps__ends)
{
	cr_assert_eq(toy_steps(3), 3);
}
END

"$mutants" --list --count 100 >"$tmp/list"

# has OPERATOR LINE MUTANT: the list has this mutant of a line of toy.c, and no other of that operator
has() {
	local line
	line=$(grep -nF -- "$2" core/toy.c | cut -d: -f1)
	[ "$(grep -F "core/toy.c:$line, $1:" "$tmp/list" | sed 's/^.*-> //')" = "$3" ] && return
	echo "the mutant of \"$2\" by \"$1\" is not \"$3\":"
	grep -F "core/toy.c:$line," "$tmp/list"
	status=1
}
has negate 'if (value < 0)' 'if (!(value < 0))'
has negate 't->sum == 3' 'return t->sum != 3;'
has drop '	add(t, value);' ';'
has drop 'return -1' ';'
has swap '	add(t, value);' 'add(value, t);'
has swap 't->name && t->sum' ''
has leak 'free(t->name)' ';	/* "sum"; is no code */'
has double '	complete(t);' '{ complete(t); complete(t); }'
has barrier '	dap_wmb_here();' ';'
has 'off by one' 'while (from > 0)' 'while (from > 1) {'
has drop 'dap_wmb_here();' ''
has drop 'int n = 0' ''

"$mutants" --list --count 100 >"$tmp/again"
cmp "$tmp/list" "$tmp/again" || status=1
"$mutants" --list --count 100 --seed 2 | cmp -s "$tmp/list" - && { echo "seed 2 has the mutants of seed 1"; status=1; }

# Some mutants, then the rest by two processes. The tree stays as it is.
sum() { find . -path ./build -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; }
sum >"$tmp/before"
for n in 4 100; do
	"$mutants" --count $n --jobs $((n > 4 ? 2 : 1)) --patience 3 >>"$tmp/run" 2>&1 || { cat "$tmp/run"; status=1; }
	[ "$(wc -l <build/mutants/results.jsonl)" -lt 20 ] || [ $n = 100 ] || { echo "--count 4 runs all mutants"; status=1; }
	[ $n = 4 ] || continue
	# A run that was killed leaves half of a result. A copy of the build that ends early is not used; a FIFO cannot be copied.
	printf '\n{"tree": ' >>build/mutants/results.jsonl
	mkfifo build/mutants/base/fifo
	"$mutants" --jobs 2 >"$tmp/fifo" 2>&1 && { echo "a copy of the build fails, and the run goes on"; status=1; }
	[ ! -e build/mutants/work1 ] || { echo "half of a copy of the build stays:"; cat "$tmp/fifo"; status=1; }
	rm build/mutants/base/fifo
done
sum | cmp "$tmp/before" - || { echo "a run changes the tree"; status=1; }
[ "$(grep -c 'core/toy.c:' "$tmp/run")" = "$(wc -l <"$tmp/list")" ] || { echo "not each mutant runs once"; status=1; }

# result OPERATOR LINE RESULT: the run has this result for the mutant of a line of toy.c
result() {
	local line
	line=$(grep -nF -- "$2" core/toy.c | cut -d: -f1)
	grep -qE "core/toy.c:$line, $1: $3, [0-9.]+ s" "$tmp/run" && return
	echo "the mutant of \"$2\" by \"$1\" is not \"$3\":"
	grep -F "core/toy.c:$line, $1:" "$tmp/run"
	status=1
}
result negate 'if (value < 0)' 'killed by toy toy/add__counts'
result double '	complete(t);' 'killed by toy toy/add__counts'
result drop 'from--' 'timeout by toy toy/steps__ends'
result drop 'return -1' survived
result barrier '	dap_wmb_here();' survived
result negate 't->sum == 3' 'not covered'
result swap '	add(t, value);' 'no compile'
result drop 'seen = t->count' 'same code'

# The report knows which survivors were looked at.
reports() {
	"$mutants" --report >"$tmp/report" 2>&1
	grep -qE "$1" "$tmp/report" && return
	echo "the report has no \"$1\":"
	cat "$tmp/report"
	status=1
}
reports '^survivors: [0-9]+ not looked at$'
reports '^all  .* 1 +[1-9][0-9]* +[1-9][0-9]* +[0-9]+%$'
mkdir tests/data
printf '# a list\ncore/toy.c\tbarrier\tdap_wmb_here();\t;\tequivalent\tx86 orders stores\n' >tests/data/mutants.tsv
reports 'core/toy.c:[0-9]+, barrier, survived: dap_wmb_here\(\); -> ; \[equivalent: x86 orders stores\]'
reports '^survivors: 1 equivalent, '
# A line with a tab in it is listed with a blank instead.
printf 'core/toy.c\tleak\tfree(t->name); /* "sum"; is no code */\t; /* "sum"; is no code */\tharmless\tit ends\n' \
	>>tests/data/mutants.tsv
reports 'core/toy.c:[0-9]+, leak, survived: .*\[harmless: it ends\]'
printf 'core/toy.c\tdrop\treturn -1;\t;\tequal\tno reason\n' >>tests/data/mutants.tsv
reports 'mutants.tsv:4: file, operator, line'

# A change of the source makes other mutants of it. A test that does not pass is no judge.
sed -i 's/from > 0/from >= 1/' core/toy.c
sed -i 's/cr_assert_eq(toy_steps(3), 3)/cr_assert(false)/' tests/toy/toy.c
"$mutants" --again "$("$mutants" --list --count 100 | sed -n 's/^ *\([0-9]*\) .*drop: from--.*/\1/p')" --patience 3 >"$tmp/run" 2>&1
grep -q 'results of other sources or seeds are kept' "$tmp/run" || { cat "$tmp/run"; status=1; }
grep -q 'left out: toy toy/steps__ends, which fails on the unmutated tree' "$tmp/run" || { cat "$tmp/run"; status=1; }
grep -q 'drop: not covered, ' "$tmp/run" || { cat "$tmp/run"; status=1; }
exit $status
