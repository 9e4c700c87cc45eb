# SPDX-License-Identifier: BSD-2-Clause
"""The rules of scripts/hot-check for x86-64."""
import re

COMMENT = "#"
TARGET = re.compile(r"^(?:bnd |notrack )?(call|j[a-z]+)\s+([0-9a-f]+) <([^>]+)>")
INDIRECT = re.compile(r"^(?:bnd |notrack )?(?:call|jmp)\s+\*")
LOCKED = re.compile(r"^lock\b|^xchg\s.*\(")
KERNEL = re.compile(r"^(syscall|sysenter|int)\b")
# The steps of BlueFlame: toggle the half of the register, store into it, flush it, unlock.
TOGGLE = re.compile(r"^xorq\s+\$0x100,.*\(")
VECTOR_STORE = re.compile(r"^v?mov\w*\s+%[xyz]mm\d+,[^%]*\(%(?!rsp)")
FLUSH = re.compile(r"^sfence\b")
UNLOCK = re.compile(r"^movl\s+\$0x0,.*\(%(?!rsp|rbp\))")
END = re.compile(r"^(?:(?:bnd |notrack )?(?:ret|jmp)|ud2|hlt)")


def misordered(body, locks):
    """Returns the unlocks that a path from a toggle reaches before the register is flushed, with the reason. The
    first fence after the toggle orders stores to memory; a vector store after it goes to the register."""
    if not locks:
        return []
    at = {address: i for i, (address, _) in enumerate(body)}
    todo = [(i, 0) for i, (_, text) in enumerate(body) if TOGGLE.match(text)]
    seen, found = set(todo), set()
    while todo:
        i, state = todo.pop()		# 0: toggled; 1: fenced; 2: the register's address is in use
        address, text = body[i]
        if FLUSH.match(text):
            state = 1
        elif state and VECTOR_STORE.match(text):
            state = 2
        if UNLOCK.match(text):
            if state == 2:
                found.add((address, text, "unlocks before BlueFlame is flushed"))
            continue
        jump = TARGET.match(text)
        ways = [i + 1] if i + 1 < len(body) and not END.match(text) else []
        if jump and jump[1] != "call" and int(jump[2], 16) in at:
            ways.append(at[int(jump[2], 16)])
        for way in ways:
            if (way, state) not in seen:
                seen.add((way, state))
                todo.append((way, state))
    return sorted(found)
