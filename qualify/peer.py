# SPDX-License-Identifier: BSD-2-Clause
"""Starts programs as children, on this host or on the peer's, by the same calls. A child has a
process group of its own, and is killed if this process is."""
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import identity

PORT = 45298
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
# Programs that a peer may request. Programs that write files can be started only on this host.
PROGRAMS = {
    f"dat_{p}"
    for p in ("conform", "pingpong", "conn_rate", "write_lat", "write_bw", "read_lat", "read_bw",
              "send_lat", "send_bw", "bind_lat", "bind_bw")
}
WRITES = ("--json", "--junit", "--out_json", "--plot")
# With these values a call fails about two minutes after the other host has disappeared.
KEEPALIVE = ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 6))
LONGEST = 1 << 20  # bytes of output that evidence keeps
GOES_ON = "; the server goes on"


class Gone(ConnectionError):
    """Raised if the peer does not answer any more."""


class Refused(ConnectionError):
    """Raised if the peer refuses a request. The text is its reason."""


def words(error):
    """Returns the text of an error, with that of errno in place of Python's "[Errno 2]"."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def complain(text):
    """Prints a line on standard error, which may be on the same full disk as standard output."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")


def say(text, consequence=""):
    """Prints a line. After a failure, which it reports once, nothing more is printed."""
    try:
        print(text, flush=True)
    except OSError as error:
        sys.stdout = open(os.devnull, "w")
        complain(f"dat_qualify: cannot write its output: {error.strerror}{consequence}")


class Child:
    """A running program, whose output goes to files."""

    def __init__(self, argv, where):
        self.argv, self.begun = argv, time.monotonic()
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, cwd=where,
            start_new_session=True, preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.killed = None

    def output(self):
        return [os.pread(f.fileno(), LONGEST, 0).decode(errors="replace") for f in (self.out, self.err)]

    def kill(self, why):
        if self.process.poll() is None:
            self.killed = why
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def finish(self, limit):
        """Waits for the program, kills what is left of it, and returns the record of its run."""
        try:
            self.process.wait(max(limit, 0))
        except subprocess.TimeoutExpired:
            self.kill("time limit")
            self.process.wait()
        seconds = round(time.monotonic() - self.begun, 3)
        self.kill(None)
        status = self.process.wait()
        out, err = self.output()
        self.out.close()
        self.err.close()
        return {"argv": [os.path.basename(self.argv[0]), *self.argv[1:]], "status": status,
                "seconds": seconds, "killed": self.killed, "stdout": out, "stderr": err}


class Host:
    """This host. Runs the programs that are beside dat_qualify, or those of uDAPL 2.0 if the IA is
    one of that level."""

    def __init__(self, programs, ia):
        self.programs, self.ia, self.where = programs, ia, tempfile.mkdtemp(prefix="dat_qualify.")
        self.children, self.api, self.folder, self.port = {}, "1.2", programs, None
        try:
            self.find_api()
        except BaseException:  # for example, the run is interrupted
            self.close()
            raise

    def find_api(self):
        found, self.build = self.listed(self.programs)
        if not found and self.listed(os.path.join(self.programs, identity.DAT2))[0]:
            self.api = "2.0"
        else:
            self.folder = self.programs

    def listed(self, folder):
        """Returns whether the registry of these programs has the IA, and the build of the provider."""
        self.folder = folder
        try:
            child = self.start("dat_info", ["-l", "--json"])
            report = json.loads(self.finish(child, 30)["stdout"])
        except (OSError, ValueError):
            return False, {}
        name = identity.in_json(self.ia)
        return any(a["name"] == name for a in report["adapters"]), report["build"] or {}

    def start(self, program, args):
        child = Child([os.path.join(self.folder, program), *args], self.where)
        self.children[child.process.pid] = child
        return child.process.pid

    def output(self, child):
        return self.children[child].output()

    def alive(self, child):
        return self.children[child].process.poll() is None

    def kill(self, child, why):
        self.children[child].kill(why)

    def finish(self, child, limit):
        record = self.children[child].finish(limit)
        del self.children[child]  # not before: a run that is interrupted meanwhile kills the child
        return record

    def identity(self):
        child = self.start("dat_info", ["-v", "--json", "-i", self.ia])
        found = identity.collect(self.ia, self.programs, self.finish(child, 30))
        found["build"] = found["build"] or self.build
        self.port = identity.port_of(self.ia, found["adapter"])
        return found

    def counters(self):
        if self.port is None:  # --steps excludes the step identity
            self.port = self.ia
            try:
                self.identity()
            except OSError:  # there is no dat_info, as other steps report
                pass
        return identity.counters(self.port)

    def stop(self):
        for child in list(self.children):
            self.kill(child, "end of the run")
            self.finish(child, 5)

    def close(self):
        self.stop()
        shutil.rmtree(self.where, ignore_errors=True)


def text_of(sock):
    return sock.makefile("rw", encoding="utf-8", errors="replace", newline="\n")


class Remote:
    """The host where `dat_qualify serve` runs. Each call sends a line of JSON and receives one."""

    def __init__(self, host, port):
        self.sock = socket.create_connection((host, port), 20)
        self.sock.settimeout(120)
        self.file = text_of(self.sock)
        self.ia = self.call("hello")

    def call(self, name, *args):
        try:
            self.file.write(json.dumps([name, *args]) + "\n")
            self.file.flush()
            line = self.file.readline()
        except OSError as error:
            raise Gone(f"dat_qualify serve does not answer: {words(error)}") from None
        if not line:
            raise Gone("dat_qualify serve has ended the connection; see its output")
        try:
            answer = json.loads(line)
            if "error" in answer:
                raise Refused(f"dat_qualify serve: {answer['error']}")
            return answer["value"]
        except (LookupError, ValueError, TypeError, RecursionError):
            raise ConnectionError(f"another program answers: {line[:60]!r}") from None

    def __getattr__(self, name):
        return lambda *args: self.call(name, *args)

    def close(self):
        self.sock.close()


def writes(argument):
    """Returns whether an argument makes a program write a file. The beginning of an option suffices."""
    name = argument.split("=")[0]
    return len(name) > 2 and any(w.startswith(name) or name.startswith(w) for w in WRITES)


def answer(host, name, args):
    """Serves one request of a run on another host."""
    if name == "hello":
        return host.ia
    if name == "start":
        program, given = args
        if program not in PROGRAMS or not all(isinstance(a, str) and not writes(a) for a in given):
            raise ValueError(f"refused to start {program} {given}")
    elif name == "finish":
        args = (args[0], min(args[1], 90))
    elif name not in ("output", "alive", "kill", "identity", "counters"):
        raise ValueError(f"unknown request {name}: is the run of another release?")
    return getattr(host, name)(*args)


def refuse(sock, reason):
    """Answers the first request of a run that is not served."""
    sock.settimeout(1)
    with sock, text_of(sock) as file:
        file.readline()
        file.write(json.dumps({"error": reason}) + "\n")


def requests(sock, file, listener, run):
    """Yields the requests of a run. Meanwhile refuses other runs."""
    while True:
        if sock not in select.select([sock, listener], [], [])[0]:
            with contextlib.suppress(OSError):
                refuse(listener.accept()[0], f"it serves a run from {run}; try again later")
            continue
        line = file.readline()
        if not line:
            return
        yield line


def session(sock, make, listener, run):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
    try:
        host = make()
    except OSError as error:
        say(f"dat_qualify: the run cannot start: {words(error)}", GOES_ON)
        with contextlib.suppress(OSError):
            refuse(sock, words(error))
        return
    try:
        with text_of(sock) as file:
            for line in requests(sock, file, listener, run):
                try:
                    name, *args = json.loads(line)
                    reply = {"value": answer(host, name, args)}
                except (ValueError, LookupError, TypeError, OSError, RecursionError) as error:
                    reply = {"error": f"{type(error).__name__}: {error}"}
                file.write(json.dumps(reply) + "\n")
                file.flush()
    except OSError as error:
        say(f"dat_qualify: the run has ended: {words(error)}", GOES_ON)
    finally:
        host.close()


def serve(make, port):
    """Serves one run at a time, until interrupted."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        listener = socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as error:
        reason = os.strerror(error.errno)
        sys.exit(f"dat_qualify: cannot serve at TCP port {port}: {reason}; --port chooses another")
    with listener:
        say(f"dat_qualify: serving at TCP port {listener.getsockname()[1]}", GOES_ON)
        while True:
            sock, address = listener.accept()
            run = address[0].removeprefix("::ffff:")
            say(f"dat_qualify: a run from {run}", GOES_ON)
            with sock:
                session(sock, make, listener, run)
