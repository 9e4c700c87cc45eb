# SPDX-License-Identifier: BSD-2-Clause
"""Commands of drivers, field by field, from the logs that SOFTNIC_COMMANDS names.

mailboxes.py keep LOG DRIVER       prints rows for theirs.tsv
mailboxes.py compare LOG...        compares ours with theirs.tsv, by differences.tsv
mailboxes.py path LOG FIELD...     prints these fields of the path of each INIT2RTR_QP

LOG is LINK:FILE. With LINK+devx only commands of user contexts count, and of queues only those in umems: the
others come from another driver. With LINK+vfio registrations of memory do not count: they come from libmlx5.
"""
import sys

FOLDER = "tests/data/mailboxes"
STRUCTURES = {"CREATE_QP": "create_qp_in", "RST2INIT_QP": "modify_qp_in", "INIT2RTR_QP": "modify_qp_in",
              "RTR2RTS_QP": "modify_qp_in", "CREATE_CQ": "create_cq_in", "CREATE_MKEY": "create_mkey_in",
              "CREATE_RMP": "create_rmp_in"}
BITS = 0x110 * 8
DRIVERS = "linux", "ucx"


def rows(name, columns):
    """Returns the rows of a table, without comments."""
    with open(f"{FOLDER}/{name}.tsv") as f:
        for line in f:
            if not line.startswith("#"):
                row = line.rstrip("\n").split("\t")
                if len(row) != columns or not all(row):
                    sys.exit(f"{name}.tsv: not {columns} columns: {line}")
                yield row


layout = {}
for structure, *field in rows("layout", 5):
    layout.setdefault(structure, []).append(field)


def fields(structure, base=0, prefix=""):
    """Yields (name, kind, first bit, bits) of all fields, also of nested structures."""
    for at, width, name, kind in layout[structure]:
        if kind[0] == "@":
            yield from fields(kind[1:], base + int(at, 0), f"{prefix}{name}.")
        else:
            yield prefix + name, kind, base + int(at, 0), int(width)


class Mailbox:
    def __init__(self, command, link, digits):
        self.command, self.link, self.digits = command, link, digits.rstrip("0")
        left = int(digits.ljust(BITS // 4, "0"), 16)
        self.values, self.seen = {}, {}
        for name, kind, at, width in fields(STRUCTURES[command]):
            shift, mask = BITS - at - width, (1 << width) - 1
            value = left >> shift & mask
            left &= ~(mask << shift)
            self.values[name.rpartition(".")[2]] = value
            if kind != "place":
                self.seen[name] = value if kind == "value" else "set" if value else 0
        self.reserved = [bit for bit in range(BITS) if left >> BITS - 1 - bit & 1]

    def case(self):
        """Returns the case of a command: only mailboxes of one case are compared."""
        if self.command == "CREATE_QP":
            kind = "srq" if self.values["rq_type"] else "own"
        elif self.command == "INIT2RTR_QP":
            kind = self.link
        elif self.command == "CREATE_MKEY":
            mode = self.values["access_mode_1_0"]
            kind = "window" if self.values["free"] else ("all", "memory", "list", "list")[mode]
        else:
            return self.command
        return f"{self.command}/{kind}"


def read_log(log):
    """Accepts the seven commands; not those for queues of datagrams or of the kernel itself."""
    link, path = log.split(":", 1)
    link, _, access = link.partition("+")
    with open(path) as f:
        for status, command, digits in map(str.split, f):
            if status != "00" or command not in STRUCTURES:
                continue
            m = Mailbox(command, link, digits)
            in_umem = m.values.get("wq_umem_valid", m.values.get("cq_umem_valid", 1))
            others = {"devx": not m.values["uid"] or not in_umem, "vfio": m.case() == "CREATE_MKEY/memory"}
            if m.values.get("st", 0) == 0 and not others.get(access):
                yield m


def keep(log, driver):
    known = []
    for m in read_log(log):
        if m.seen not in known:
            known.append(m.seen)
            print(m.link, driver, m.command, m.digits, sep="\t")


def path(log, *names):
    for m in read_log(log):
        if m.command == "INIT2RTR_QP":
            print(*(m.seen[f"qpc.primary_address_path.{name}"] for name in names))


def shown(values):
    return ",".join(sorted(v if v == "set" else f"{v:#x}" for v in values)) or "-"


def compare_case(case, groups, known):
    """Finds differences that differences.tsv lacks, and its entries that are no differences."""
    if not any(groups[1:]):
        return [] if known.pop((case, "*"), None) else [f"{case}: no other driver has any"]
    wrong = []
    for field in groups[0][0].seen:
        found = [shown({m.seen[field] for m in group}) for group in groups]
        expected = known.pop((case, field), None)
        differs = any(f not in (found[0], "-") for f in found)
        if differs and found != expected:
            wrong.append("\t".join([case, field, *found, f"is not in differences.tsv, which has {expected}"]))
        elif expected and not differs:
            wrong.append(f"{case}: {field}: explained, and there is no difference")
    return wrong


def compare(logs):
    ours = [m for log in logs for m in read_log(log)]
    theirs = {driver: [] for driver in DRIVERS}
    for link, driver, command, digits in rows("theirs", 4):
        theirs[driver].append(Mailbox(command, link, digits))
    known = {(case, field): values for case, field, *values, _ in rows("differences", 6)}
    wrong = [f"{m.case()}: reserved bit {bit:#x} is set: {m.digits}"
             for group in (ours, *theirs.values()) for m in group for bit in m.reserved]
    wrong += [f"{command}: none of ours" for command in set(STRUCTURES) - {m.command for m in ours}]
    for case in sorted({m.case() for m in ours}):
        groups = [[m for m in group if m.case() == case] for group in (ours, *theirs.values())]
        wrong += compare_case(case, groups, known)
    wrong += [f"{case}: {field}: explained, and not compared" for case, field in known]
    print("\n".join(dict.fromkeys(wrong)) or f"{len(ours)} commands of ours, every difference explained")
    return wrong != []


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(*sys.argv[2:])
    elif sys.argv[1] == "path":
        path(*sys.argv[2:])
    else:
        sys.exit(compare(sys.argv[2:]))
