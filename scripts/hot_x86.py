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
UNORDERED = "writes BlueFlame before the doorbell record is ordered"


def misordered(body, locks):
    """Returns the ends of paths from a toggle that lack a fence, with the reason. The first fence after the toggle
    orders the doorbell record, and a vector store after it goes to the register. With a lock a second fence must flush
    that before the unlock."""
    at = {address: i for i, (address, _) in enumerate(body)}
    todo = [(i, 0, False) for i, (_, text) in enumerate(body) if TOGGLE.match(text)]
    seen, found = set(todo), set()
    while todo:
        i, fences, stored = todo.pop()		# stored: into the register, and not flushed
        address, text = body[i]
        if FLUSH.match(text):
            fences, stored = fences + (fences < 2), False
        elif fences and VECTOR_STORE.match(text):
            stored = True
        if locks and UNLOCK.match(text):
            if stored:
                found.add((address, text, "unlocks before BlueFlame is flushed"))
            elif fences < 2:
                found.add((address, text, UNORDERED))
            continue
        jump = TARGET.match(text)
        ways = [i + 1] if i + 1 < len(body) and not END.match(text) else []
        if jump and jump[1] != "call" and int(jump[2], 16) in at:
            ways.append(at[int(jump[2], 16)])
        if not fences and not ways:
            found.add((address, text, UNORDERED))
        for way in ways:
            if (way, fences, stored) not in seen:
                seen.add((way, fences, stored))
                todo.append((way, fences, stored))
    return sorted(found)
