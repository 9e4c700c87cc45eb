# SPDX-License-Identifier: BSD-2-Clause
"""Functions of check-dat2 and dat2-table: programs with fixed ports."""
import fcntl
import os
import tempfile

DTEST_PORT = 15828


def take_turn():
    """Waits until no other run is on this machine. Closing the returned file lets the next run begin."""
    turn = open(os.path.join(tempfile.gettempdir(), "dapl-check-dat2.%d" % os.getuid()), "w")
    fcntl.flock(turn, fcntl.LOCK_EX)
    return turn


def port_listens(port):
    """Returns true if a process listens on the port. Does not connect: dtest accepts only one connection."""
    with open("/proc/net/tcp") as f:
        return any(l.split()[1].endswith(":%04X" % port) and l.split()[3] == "0A"
                   for l in f.readlines()[1:])
