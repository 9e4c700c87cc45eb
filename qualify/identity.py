# SPDX-License-Identifier: BSD-2-Clause
"""Describes what is tested, and on which machine: adapter, host, programs, and the error counters
of a port."""
import hashlib
import json
import os
import platform
import re

# Counters of errors of the link or the adapter. None may grow in any phase.
LINK = {"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
        "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_discards",
        "port_xmit_constraint_errors", "port_rcv_constraint_errors", "local_link_integrity_errors",
        "excessive_buffer_overrun_errors", "VL15_dropped", "rx_icrc_encapsulated", "rx_drops"}
# Counters of errors of requests. Some phases provoke such errors; in the others none may grow. Counters of
# CQEs with errors are not in the list: at the end of each connection the adapter flushes the posted receives.
REQUEST = {"out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err",
           "duplicate_request", "rnr_nak_retry_err", "out_of_buffer", "req_remote_access_errors",
           "req_remote_invalid_request", "req_transport_retries_exceeded",
           "resp_local_length_error", "resp_remote_access_errors", "rdma_read_wr_err",
           "rdma_write_wr_err", "retrans_timeout_events", "unresponsive_remote_events",
           "impaired_remote_conn_events"}
# Counters of messages that wait for a receive, because the sender is faster.
WAITS = {"rnr_nak_retry_err", "out_of_buffer"}

# The folder of the programs of uDAPL 2.0, relative to the folder of the other programs.
DAT2 = "../libexec/dapl-direct/dat2"
# Options of the kernel's command line that change latencies.
TUNING = re.compile(r"isolcpus|nohz|rcu_nocbs|intel_|amd_|iommu|mitigations|.*huge|idle|processor\.|cpuidle|"
                    "pcie|nosmt")


def sysfs():
    """Returns the path of sysfs. softnic-run has its own; SYSFS_PATH names it, for libibverbs too."""
    return os.environ.get("SYSFS_PATH") or "/sys"


def text(*path):
    """Returns the first line of a file, or None."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as f:
            return f.readline().strip()
    except OSError:
        return None


def port_of(ia, adapter):
    """Returns the device and port of the IA, as in mlx5_0-1. The IA itself may have another name."""
    return adapter.get("provider_attributes", {}).get("device", ia)


def device(port):
    """Returns the folder of a port's device, and the port's number; None for software adapters."""
    name, _, port = port.rpartition("-")
    folder = os.path.join(sysfs(), "class/infiniband", name)
    return (folder, port) if name and os.path.isdir(folder) else (None, None)


def read_all(folder):
    try:
        return {n: int(v) for n in sorted(os.listdir(folder)) if (v := text(folder, n)) and v.isdigit()}
    except OSError:
        return {}


def counters(port):
    """Returns the counters' values by name; empty if the adapter has no counters."""
    folder, port = device(port)
    if not folder:
        return {}
    found = {}
    for kind in ("counters", "hw_counters"):
        found.update(read_all(os.path.join(folder, "ports", port, kind)))
    return found


def pci(port):
    folder, port = device(port)
    if not folder:
        return {}
    keys = {n: text(folder, n) for n in ("board_id", "fw_ver", "hw_rev", "node_guid", "hca_type")}
    for n in ("vendor", "device", "subsystem_vendor", "subsystem_device", "revision",
              "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
              "numa_node"):
        keys["pci_" + n] = text(folder, "device", n)
    keys["pci_address"] = os.path.basename(os.path.realpath(os.path.join(folder, "device")))
    keys["driver"] = os.path.basename(os.path.realpath(os.path.join(folder, "device/driver")))
    for n in ("rate", "state", "link_layer"):
        keys["port_" + n] = text(folder, "ports", port, n)
    return {k: v for k, v in keys.items() if v}


def host():
    cpu = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            for line in f:
                key, _, value = line.partition(":")
                cpu.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    release = {}
    try:
        with open("/etc/os-release", encoding="utf-8") as f:
            release = dict(line.rstrip().split("=", 1) for line in f if "=" in line)
    except OSError:
        pass
    found = {
        "name": platform.node(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "system": release.get("PRETTY_NAME", "").strip('"'),
        "cpu": cpu.get("model name"),
        "microcode": cpu.get("microcode"),
        "cpus": str(os.cpu_count()),
        "bios": text("/sys/class/dmi/id/bios_version"),
        "product": text("/sys/class/dmi/id/product_name"),
        "tuning": " ".join(w for w in (text("/proc/cmdline") or "").split() if TUNING.match(w)),
    }
    return {k: v for k, v in found.items() if v}


def digest(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return None


def paths(folder, prefix="", chosen=lambda name: True):
    """Returns the paths of the files of a folder by name."""
    return {prefix + n: os.path.join(folder, n) for n in sorted(os.listdir(folder)) if chosen(n)}


def loaded(path):
    """Finds libraries that dat_info does not name: next to the programs, or where the loader looks."""
    lib = os.path.join(os.path.dirname(path), "lib")
    folders = [lib, *paths(lib).values()] if os.path.isdir(lib) else []
    folders += [os.path.join(f, "dapl-direct") for f in folders]
    for folder in folders:
        for name in ("libdat.so.1", "libdapl-direct.so", "libdapl-direct2.so"):
            if os.path.isfile(os.path.join(folder, name)):
                yield name, os.path.join(folder, name)


def hashes(programs, library):
    """library: path of the provider that dat_info has loaded, or None."""
    names = paths(programs, chosen=lambda name: name.startswith("dat_"))
    dat2 = os.path.join(programs, DAT2)
    if os.path.isdir(dat2):
        names.update(paths(dat2, "dat2/"))
    own = os.path.dirname(os.path.realpath(__file__))
    names.update(paths(own, "qualify/", lambda name: name.endswith(".py")))
    if library:
        names[os.path.basename(library)] = library
    for name, path in loaded(programs):
        names.setdefault(name, path)
    return {n: d for n, path in names.items() if (d := digest(path))}


def in_json(name):
    """Returns a name as the JSON of the programs has it: if it is not UTF-8, with a question mark for each byte
    beyond ASCII."""
    raw = os.fsencode(name)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join(chr(b) if b < 0x80 else "?" for b in raw)


PARTS = ("adapter", "build", "dat_info", "device", "host", "sha256", "environment")


def complete(end, ia):
    """Completes the description of an end that another release of this program has collected."""
    known = {p: end[p] if isinstance(end.get(p), dict) else {} for p in PARTS}
    return {"ia": ia, **end, **known}


def collect(ia, programs, info):
    """Describes one end. info: the record of a run of dat_info, as Child.finish() returns it."""
    try:
        report = json.loads(info["stdout"])
    except ValueError:
        report = {}
    adapter = next((a for a in report.get("adapters", []) if a.get("name") == in_json(ia)), {})
    return {
        "ia": ia,
        "adapter": adapter,
        "build": report.get("build") or {},
        "dat_info": info,
        "device": pci(port_of(ia, adapter)),
        "host": host(),
        "sha256": hashes(programs, adapter.get("library")),
        "environment": {k: v for k, v in sorted(os.environ.items())
                        if re.match(r"DAT_|DAPL_|SOFTNIC_|MLX5_|(LD_PRELOAD|SYSFS_PATH)\Z", k)},
    }
