# SPDX-License-Identifier: BSD-2-Clause
"""The bundle: a tar whose bytes follow from its members. Its first member, SUMS, has the size and
hash of each other member and of each of its blocks, and the two sums of a block that find one
changed byte in it."""
import hashlib
import io
import re
import subprocess
import tarfile

BLOCK = 4096
PRIME = (1 << 31) - 1  # a prime that is greater than any position in a block and in SUMS
# The namespace of the signature of each role: a signature of one role is invalid as one of the other.
NAMESPACES = {"tester": "dat-qualify", "reviewer": "dat-qualify-reviewer"}
NAME = re.compile(r"(evidence/)?[\w-][\w.-]*")  # of a member; so verify -x writes only below its folder
LINES = re.compile(rb"(file [0-9a-f]{64} [0-9]{1,15} [!-~]+\n(block [0-9a-f]{64} [0-9]{1,15} [0-9]{1,15}\n)*)*")


class Damaged(Exception):
    """Raised for a bundle that was changed after it was written. The text names file and offset."""


def sums(block):
    """Returns the hash, the sum, and the sum weighted by position. If one byte grows by d, the sums
    grow by d and position * d."""
    return (hashlib.sha256(block).hexdigest(), sum(block) % PRIME,
            sum(i * b for i, b in enumerate(block)) % PRIME)


def sums_text(members):
    lines = []
    for name, data in members.items():
        lines.append(f"file {hashlib.sha256(data).hexdigest()} {len(data)} {name}")
        for at in range(0, len(data), BLOCK):
            lines.append("block {} {} {}".format(*sums(data[at : at + BLOCK])))
    text = "\n".join(lines) + "\n"
    return (text + own_line(text.encode())).encode()


def own_line(text):
    return "self {} {} {}\n".format(*sums(text))


def header(name, size):
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.USTAR_FORMAT)


def pack(members, stated=None):
    """Returns the bytes of the whole bundle. stated: the text of its SUMS, if known."""
    out = io.BytesIO()
    for name, data in {"SUMS": stated or sums_text(members), **members}.items():
        out.write(header(name, len(data)) + data + bytes(-len(data) % 512))
    return out.getvalue() + bytes(1024)


def changed_byte(block, wanted):
    """Returns the offset and original value of the one byte that differs, or None."""
    _, plain, weighted = sums(block)
    d = (int(wanted[1]) - plain) % PRIME if wanted[1].isdigit() and wanted[2].isdigit() else 0
    if not d:
        return None
    at = (int(wanted[2]) - weighted) * pow(d, -1, PRIME) % PRIME
    if at >= len(block):
        return None
    value = block[at] + (d if d < 256 else d - PRIME)
    if not 0 <= value < 256:
        return None
    if hashlib.sha256(block[:at] + bytes([value]) + block[at + 1 :]).hexdigest() != wanted[0]:
        return None
    return at, value


def check_member(name, data, size, blocks):
    for n, wanted in enumerate(blocks):
        block = data[n * BLOCK : min((n + 1) * BLOCK, size)]
        if hashlib.sha256(block).hexdigest() == wanted[0]:
            continue
        found = changed_byte(block, wanted)
        if found:
            raise Damaged(
                f"{name}: byte {n * BLOCK + found[0]} was 0x{found[1]:02x} and is 0x{block[found[0]]:02x}"
            )
        raise Damaged(f"{name}: bytes {n * BLOCK} to {n * BLOCK + len(block) - 1} are changed")


def read_sums(raw):
    """Returns the text of SUMS and its end. It must be found even if one byte is damaged."""
    match = re.search(rb"^self [0-9a-f]{64} \d+ \d+\n", raw[512:], re.M)
    stated = re.fullmatch(rb"([0-7]{11})", raw[124:135])
    end = 512 + (match.end() if match else int(stated[1], 8) if stated else 0)
    body, mark, own = raw[512:end].rpartition(b"self ")
    right = own_line(body)[5:].encode()
    if mark and own == right:
        return body, end
    found = (
        mark
        and len(own.split()) == 3
        and changed_byte(body, [f.decode(errors="replace") for f in own.split()])
    )
    if not found and mark and len(own) == len(right):
        n = next(i for i, (a, b) in enumerate(zip(own, right)) if a != b)
        found = (len(body) + 5 + n, right[n]) if own[n + 1 :] == right[n + 1 :] else None
    if found:
        raise Damaged(
            f"SUMS: byte {found[0]} was 0x{found[1]:02x} and is 0x{raw[512 + found[0]]:02x}"
        )
    raise Damaged("SUMS is missing, or changed in more than one byte")


def listed(text):
    """Returns the entries of SUMS by the name of the member: hash, size, and blocks."""
    if not LINES.fullmatch(text):
        raise Damaged("SUMS: its lines are not those of a bundle")
    stated = {}
    for line in text.decode().splitlines():
        kind, *rest = line.split(" ")
        if kind == "file":
            digest, size, name = rest
            if not NAME.fullmatch(name):
                raise Damaged(f"SUMS: no member of a bundle is named {name!r}")
            if name in stated:
                raise Damaged(f"SUMS: {name} is listed twice")
            stated[name] = digest, int(size), []
        else:
            stated[name][2].append(rest)
    return stated


def unpack(raw):
    """Returns the members by name. Raises Damaged for any byte that is not as pack() wrote it."""
    text, end = read_sums(raw)
    members, at = {}, end + -end % 512
    for name, (digest, size, blocks) in listed(text).items():
        data = raw[at + 512 : at + 512 + size]
        if len(data) < size:
            raise Damaged(f"{name}: the bundle ends after {len(data)} of {size} bytes")
        check_member(name, data, size, blocks)
        if len(blocks) != -(-size // BLOCK) or hashlib.sha256(data).hexdigest() != digest:
            raise Damaged(f"SUMS: hash or blocks of {name} are not those of its bytes")
        members[name] = data
        at += 512 + size + -size % 512
    check_frame(raw, members, raw[512:end])
    return members


def check_frame(raw, members, stated):
    """Checks the headers and the bytes between members."""
    right = pack(members, stated)
    if raw == right:
        return
    if len(raw) != len(right):
        raise Damaged(f"the bundle has {len(raw)} bytes, and its members need {len(right)}")
    n = next(i for i, (a, b) in enumerate(zip(raw, right)) if a != b)
    at, inside = 0, "end of the bundle"
    for name, data in {"SUMS": stated, **members}.items():
        following = at + 512 + len(data) + -len(data) % 512
        if at <= n < following:
            inside = f"header of {name}" if n < at + 512 else f"padding after {name}"
            break
        at = following
    raise Damaged(f"{inside}: byte {n} of the bundle was 0x{right[n]:02x} and is 0x{raw[n]:02x}")


def keygen(args, data=b""):
    try:
        return subprocess.run(["ssh-keygen", *args], input=data, capture_output=True, timeout=120,
                              check=False)
    except FileNotFoundError:
        raise ValueError("there is no ssh-keygen: install openssh-client") from None
    except subprocess.TimeoutExpired:
        raise ValueError("ssh-keygen has not ended within 120 s") from None


def sign(path, key, role):
    """Returns the signature of the bundle."""
    with open(path, "rb") as f:
        data = f.read()
    unpack(data)
    done = keygen(["-Y", "sign", "-f", key, "-n", NAMESPACES[role]], data)
    if done.returncode:
        raise ValueError(
            f"ssh-keygen cannot sign with {key}: {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout


def check_signature(data, signature, signers):
    """Returns (valid, text). Without a list of signers only the key can be reported. The end of the file's name is
    the role; any other end is that of the tester."""
    role = "reviewer" if signature.endswith(".reviewer.sig") else "tester"
    if not signers:
        done = keygen(["-Y", "check-novalidate", "-n", NAMESPACES[role], "-s", signature], data)
        return (not done.returncode,
                said(done) + "; without --signers it is not known whose key that is")
    found = keygen(["-Y", "find-principals", "-s", signature, "-f", signers])
    if found.returncode:
        why = found.stderr.decode(errors="replace").strip().split("\n")[0]
        return False, f"its key is not in {signers}" if why in ("", "No principal matched.") else why
    # ssh-keygen finds only the first line of a key, and a later one may name another person for this role.
    with open(signers, encoding="utf-8", errors="surrogateescape") as f:
        people = [line.split()[0].strip('"') for line in f if line.strip()]
    first = None
    for person in dict.fromkeys(found.stdout.decode(errors="surrogateescape").splitlines() + people):
        done = keygen(["-Y", "verify", "-f", signers, "-I", person, "-n", NAMESPACES[role], "-s",
                       signature], data)
        if not done.returncode:
            return True, said(done)
        first = first or done
    return False, said(first)


def said(done):
    text = done.stderr if done.returncode else done.stdout
    return " ".join((text or done.stdout).decode(errors="replace").split())
