# SPDX-License-Identifier: BSD-2-Clause
"""The rules of scripts/hot-check for arm64. Barriers are those of core/barrier.h.

BlueFlame: each path from the start of a function to a store into the register has `dmb oshst` (WQE before
doorbell record), then `dsb st` (doorbell record before the register). Each path from that store to the end of
the function, to another function or to an unlock has `dsb st` again.
A doorbell record is a big-endian half word: `rev16` and `strh`, directly after `dmb oshst`.
A WQE in device memory (EFA): a vector store after the first `dsb st` goes to the device, and needs another
`dsb st` after it. If a vector store precedes the first `dsb st`, there must be a second one.
A doorbell of an EFA is a half word, stored as a word: each path to it has `dsb st`, after the WQE if there is one.
A CQE: `dmb oshld` stands between the load of its owner byte (hw_mlx5) or of its status and phase (hw_efa) and any
other load of it, and again between these and the store of the consumer index, a swapped word of 24 bits.
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
COUNT = re.compile(r"^(?:ldrh|uxth|and(?=.*#0xffff$))\s+(w\d+),")
WORD = re.compile(r"^str\s+(w\d+), \[x\d+\]$")
ORDER_LOADS = re.compile(r"^dmb\s+oshld")
OWNER = re.compile(r"^(?:ldrb\s+w\d+, \[(x\d+), #63\]|ldrh\s+w\d+, \[(x\d+), #2\])$")
LOAD = re.compile(r"^ld\w*\s+.*\[(x\d+)[],]")
INDEX = re.compile(r"^and\s+(w\d+), w\d+, #0xffffff$")
SWAP_WORD = re.compile(r"^rev\s+(w\d+), (w\d+)$")
UNLOCK = re.compile(r"^stlrb?\s")
WRITES = re.compile(r"^(?!st|cmp|cmn|tst|ccm|b|cb|tb)\S+\s+[wx](\d+)(?:, [wx](\d+), \[)?")


def is_barrier(text):
    return any(barrier.match(text) for barrier in (ORDER, FLUSH, ORDER_LOADS))


# The state of a path: no store yet; stores ordered; ordered and flushed; the device's memory
# written; flushed again.
START, ORDERED, READY, WRITTEN, DONE = range(5)
# States without a doorbell record (EFA): flushed; a vector store before a flush; flushed after that store.
PLAIN_FLUSH, EARLY, EARLY_FLUSH = 5, 6, 7


def after_barrier(state, text):
    if ORDER.match(text) and state != WRITTEN:
        return ORDERED
    if not FLUSH.match(text):
        return state
    return {START: PLAIN_FLUSH, EARLY: EARLY_FLUSH, ORDERED: READY, WRITTEN: DONE, DONE: PLAIN_FLUSH}.get(state, state)


def after(facts, text, new):
    """Returns the facts (kind, register) after this instruction, which has these new ones."""
    copy, writes = COPY.match(text), WRITES.match(text)
    gone = {x + n for n in writes.groups() if n for x in "xw"} if writes else ()
    kept = {fact for fact in facts if fact[1] not in gone}
    if copy:
        kept |= {(kind, copy[1]) for kind, register in facts if register == copy[2]}
    return frozenset(kept | new)


def step(path, text, leaves):
    """Returns the path's state and facts after this instruction, and why it must not be here, or None.
    leaves: it ends the function or goes to another one. Facts: a register holds an address of BlueFlame ("flame"),
    the counter of a doorbell record ("record") or of a doorbell ("count")."""
    state, facts = path
    state, why = store(state, facts, text)
    if leaves and state == WRITTEN:
        why = "leaves before BlueFlame is flushed"
    new = {(kind, m[1]) for kind, m in (("flame", TOGGLE.match(text)), ("record", SWAP.match(text)),
                                        ("count", COUNT.match(text))) if m}
    return (state, after(facts, text, new)), why


def store(state, facts, text):
    """Returns the state after this instruction, and why it must not be here, or None."""
    flame = STORE.match(text)
    if flame and ("flame", flame[1]) in facts:
        if state not in (READY, WRITTEN, DONE):
            return WRITTEN, "writes BlueFlame before the doorbell record is ordered"
        return WRITTEN, None
    record = RECORD.match(text)
    if record and ("record", record[1]) in facts and state != ORDERED:
        return state, "writes the doorbell record before the WQE is ordered"
    doorbell = WORD.match(text)
    if doorbell and ("count", doorbell[1]) in facts and state not in (PLAIN_FLUSH, EARLY_FLUSH, DONE):
        return state, "rings the doorbell before the WQE is flushed"
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


READ = ("read", "")


def cqe_step(facts, text, _leaves):
    """Like step(). Facts: a register holds the address of a CQE whose owner was loaded ("owner") and ordered ("cqe"),
    or a consumer index ("index"), swapped ("swapped"); READ: a CQE was loaded since the last barrier."""
    owner, load, word, swap, index = (r.match(text) for r in (OWNER, LOAD, WORD, SWAP_WORD, INDEX))
    new, why = set(), None
    if ORDER_LOADS.match(text):
        return frozenset(("cqe" if kind == "owner" else kind, x) for kind, x in facts if kind != "read"), None
    if owner:
        facts -= {("cqe", owner[1] or owner[2])}
        facts |= {("owner", owner[1] or owner[2])}
    elif load and ("owner", load[1]) in facts:
        why = "reads a CQE before its owner is ordered"
    elif load and ("cqe", load[1]) in facts:
        new = {READ}
    elif word and ("swapped", word[1]) in facts and READ in facts:
        why = "returns a CQE before the reads of it are ordered"
    elif index:
        new = {("index", index[1])}
    elif swap and ("index", swap[2]) in facts:
        new = {("swapped", swap[1])}
    return after(facts, text, new), why


def misordered(body, _locks):
    """Returns (address, instruction, why) of what breaks the rules above. What the caller has loaded is not known."""
    return sorted(walk(body, (START, frozenset()), step) | walk(body, frozenset({READ}), cqe_step))
