# SPDX-License-Identifier: BSD-2-Clause
"""The rules of scripts/hot-check for arm64. Barriers are those of core/barrier.h.

BlueFlame: each path from the start of a function to a store into the register has `dmb oshst` (WQE before
doorbell record), then `dsb st` (doorbell record before the register). Each path from that store to the end of
the function, to another function or to an unlock has `dsb st` again.
A doorbell record is a big-endian half word: `rev16` and `strh`, directly after `dmb oshst`.
A WQE in device memory (EFA): a vector store after the first `dsb st` is one into it, and needs `dsb st` too; one
without a `dsb st` before it must not be followed by the only one.
"""
import re

COMMENT = "//"
TARGET = re.compile(r"^(bl|b|b\.[a-z]+|cbn?z|tbn?z)\s+(?:[wx]\w+, )?(?:#\w+, )?([0-9a-f]+) <([^>]+)>")
CALL = "bl"
INDIRECT = re.compile(r"^bl?r\s")
LOCKED = re.compile(r"^(?:ld|st)l?a?xp?r?[bh]?\s|^(?:ldxr|ldaxr|stxr|stlxr|cas|swp|ld(?:add|clr|eor|set))")
KERNEL = re.compile(r"^svc\b")
END = re.compile(r"^(?:ret|b\s|br\s|udf|brk)")

ORDER, FLUSH = re.compile(r"^dmb\s+oshst"), re.compile(r"^dsb\s+st")
TOGGLE = re.compile(r"^eor\s+x\d+, (x\d+), #0x100$")
COPY = re.compile(r"^(?:mov|add)\s+(x\d+), (x\d+)(?:, #\w+)?$")
STORE = re.compile(r"^st(?:r|p|ur|np)\s+.*\[(x\d+)[],]")
VECTOR_STORE = re.compile(r"^st(?:r|p|ur|np)\s+q\d+,")
SWAP = re.compile(r"^rev16\s+(w\d+),")
RECORD = re.compile(r"^strh\s+(w\d+),")
UNLOCK = re.compile(r"^stlrb?\s")
WRITES = re.compile(r"^(?!st|cmp|cmn|tst|ccm|b|cb|tb)\S+\s+[wx](\d+)(?:, [wx](\d+), \[)?")

# No rule applies to these functions, because their doorbells look like any other store.
UNRULED = {"ring_rq", "efa_batch"}


def is_ruled(function, text):
    """Is this a barrier that a rule needs?"""
    return function not in UNRULED and bool(ORDER.match(text) or FLUSH.match(text))


# The state of a path: no store yet; stores ordered; ordered and flushed; the device's memory
# written; flushed again.
START, ORDERED, READY, WRITTEN, DONE = range(5)
# An EFA has no doorbell record: flushed without an order before it; and a vector store before that.
PLAIN_FLUSH, EARLY, EARLY_FLUSH = 5, 6, 7


def after_barrier(state, text):
    if ORDER.match(text) and state != WRITTEN:
        return ORDERED
    if not FLUSH.match(text):
        return state
    return {START: PLAIN_FLUSH, EARLY: EARLY_FLUSH, ORDERED: READY, WRITTEN: DONE, DONE: PLAIN_FLUSH}.get(state, state)


def registers(regs, text):
    """The registers that hold an address of BlueFlame (x) or a swapped counter (w), after this instruction."""
    toggle, copy, writes = TOGGLE.match(text), COPY.match(text), WRITES.match(text)
    if writes:
        kept = regs - {x + n for n in writes.groups() if n for x in "xw"}
    else:
        kept = regs
    if copy and copy[2] in regs:
        kept = kept | {copy[1]}
    swap = SWAP.match(text)
    return kept | {m[1] for m in (toggle, swap) if m}


def step(path, text, leaves):
    """Returns the path's state and registers after this instruction, and why it must not be here, or None.
    leaves: it ends the function or goes to another one."""
    state, regs = path
    state, why = store(state, regs, text)
    if leaves and state == WRITTEN:
        why = "leaves before BlueFlame is flushed"
    return (state, frozenset(registers(regs, text))), why


def store(state, regs, text):
    """Returns the state after this instruction, and why it must not be here, or None."""
    flame = STORE.match(text)
    if flame and flame[1] in regs:
        if state not in (READY, WRITTEN, DONE):
            return WRITTEN, "writes BlueFlame before the doorbell record is ordered"
        return WRITTEN, None
    record = RECORD.match(text)
    if record and record[1] in regs and state != ORDERED:
        return state, "writes the doorbell record before the WQE is ordered"
    if VECTOR_STORE.match(text) and "[sp" not in text:
        return {PLAIN_FLUSH: WRITTEN, EARLY_FLUSH: WRITTEN, START: EARLY}.get(state, state), None
    if state == EARLY_FLUSH and text.startswith("ret"):
        return DONE, "has written a WQE before the doorbell of those before it is flushed"
    if state == WRITTEN and (UNLOCK.match(text) or text.startswith("ret")):
        return DONE, "leaves before BlueFlame is flushed"
    return after_barrier(state, text), None


def walk(body, start, step):
    """Follows each path of a function from this state. Returns (address, instruction, why) of what breaks a rule."""
    at = {address: i for i, (address, _) in enumerate(body)}
    todo, seen, found = [(0, start)], set(), set()
    while todo:
        node = todo.pop()
        if node in seen or node[0] >= len(body):
            continue
        seen.add(node)
        i, state = node
        address, text = body[i]
        jump, ends = TARGET.match(text), END.match(text)
        inside = jump and jump[1] != CALL and int(jump[2], 16) in at
        state, why = step(state, text, ends and not inside)
        if why:
            found.add((address, text, why))
        if inside:
            todo.append((at[int(jump[2], 16)], state))
        if not ends:
            todo.append((i + 1, state))
    return found


def misordered(body, _locks):
    """Returns (address, instruction, why) of what breaks the rules above."""
    return sorted(walk(body, (START, frozenset()), step))
