# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts of `make bench` and its like share: they run programs, one alone or a server and its client, and
write tables and plots."""
import json
import os
import random
import re
import subprocess
import sys
import time

QUICK = os.environ.get("BENCH_QUICK") == "1"
LIMIT = 300
RUN_LIMIT = 570  # callgrind slows a program about 50 times


class Failed(Exception):
    pass


class NotReady(Failed):
    """The server has ended before it listened."""


def begin(name, main):
    """Runs main(BUILD) of the script with this name, whose first argument is BUILD."""
    try:
        main(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build"))
    except (Failed, OSError) as why:
        sys.exit(f"{name}: {why}")
    except KeyboardInterrupt:
        sys.exit(130)


def run(argv, env=None):
    """Returns the standard output of a program that must succeed."""
    try:
        done = subprocess.run(argv, env=env, timeout=RUN_LIMIT, stdout=subprocess.PIPE, text=True, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(argv)} did not end within {RUN_LIMIT} s; repeat it while nothing else runs here, "
                     "or find out why the program hangs") from None
    except OSError as why:
        raise Failed(f"cannot run {argv[0]}: {why.strerror}") from None
    if done.returncode:
        raise Failed(f"{' '.join(argv)} failed with status {done.returncode}")
    return done.stdout


def write(path, text):
    """Writes a file. Returns its path."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def write_json(path, rows):
    write(path, json.dumps(rows, indent=1) + "\n")


def silicon(build, conf, path, params):
    """Writes a copy of a dat.conf, in which the variant that runs on hardware gets these ia_params. Returns path."""
    with open(f"{build}/etc/{conf}", encoding="utf-8") as f:
        return write(path, f.read().replace("variant=silicon", f"variant=silicon {params}"))


def table(heads, rows):
    """Returns the lines of a table in Markdown. rows: the title of each row, and its cells."""
    return ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads),
            *(f"| {title} | " + " | ".join(cells) + " |" for title, cells in rows)]


def report(path, lines, failures):
    """Writes and prints the lines; the script fails if there are failures."""
    text = "\n".join(lines) + "\n"
    write(path, text)
    print("\n" + text + f"\n{os.path.relpath(path)} written")
    if failures:
        sys.exit(1)


def gnuplot(path, script):
    """Lets gnuplot draw the file by the lines of this script."""
    done = subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=False)
    if done.returncode:
        raise Failed(f"{path}: gnuplot ended with status {done.returncode}")


def both(server, client, ready=None, limit=LIMIT):
    """Returns the client's output. ready: what the server prints once it listens; None: wait half a second."""
    with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as first:
        try:
            if not ready:
                time.sleep(0.5)
            elif not any(ready in line for line in first.stdout):
                raise NotReady("the server does not listen")
            done = subprocess.run(client, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=limit, check=False)
            if done.returncode:
                raise Failed(done.stdout.strip().splitlines()[-1] if done.stdout.strip() else
                             f"status {done.returncode}")
        except subprocess.TimeoutExpired:
            raise Failed(f"no result after {limit} s") from None
        finally:
            first.kill()
    return done.stdout


def results(build, program, args, on=(), there=(), host="127.0.0.1"):
    """Returns the records of one of our programs. on: options for both sides.

    there: what to put before the server's command; host: the server's address.
    """
    path = f"{build}/perf-pair.json"
    for last in (False, False, False, False, True):
        port = str(random.randrange(8192, 16384))
        try:
            both([*there, f"{build}/bin/{program}", "-p", port, *on],
                 [f"{build}/bin/{program}", "-p", port, *on, "--out_json_file", path] + args + [host],
                 ready="Waiting for client")
            break
        except NotReady:  # another process may have the port
            if last:
                raise
    with open(path, encoding="utf-8") as f:
        found = json.load(f)["results"]
    os.remove(path)
    return found


def ucx(transport, device, test, how, size, count, there=(), host="127.0.0.1"):
    """Returns (median us, overall MB/s, overall messages/s) of ucx_perftest; there and host as in results()."""
    argv = ["ucx_perftest", "-p", str(random.randrange(8192, 16384)), "-x", transport, "-t", test, "-D", how,
            "-s", str(size), "-n", str(count), "-d", device]
    text = both([*there, *argv], argv + [host])
    final = re.search(r"Final:\s+\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s+\d+\s+(\d+)",
                      text)
    if not final:
        raise Failed("ucx_perftest printed no line that begins with Final")
    return float(final.group(1)), float(final.group(2)), float(final.group(3))


def fabric(provider, endpoint, size, count):
    """Returns (us of half a round trip, MB/s one way at a time) of fi_pingpong."""
    port = str(random.randrange(8192, 16384))
    argv = ["fi_pingpong", "-p", provider, "-e", endpoint, "-S", str(size), "-I", str(count)]
    text = both(argv + ["-B", port], argv + ["-P", port, "127.0.0.1"])
    last = text.strip().splitlines()[-1].split()
    if len(last) < 7:
        raise Failed("fi_pingpong printed no result")
    return float(last[6]), float(last[5])


def tcp(test, size, seconds, there, host):
    """Returns (median us of half a round trip or None, MiB/s or None) of sockperf, which uses plain TCP sockets.

    test: ping-pong or throughput.
    """
    port = str(random.randrange(8192, 16384))
    text = both([*there, "sockperf", "server", "--tcp", "-i", host, "-p", port],
                ["sockperf", test, "--tcp", "-i", host, "-p", port, "-m", str(size), "-t", str(seconds)])
    found = [re.search(pattern, text) for pattern in (r"percentile 50\.000 = +([\d.]+)", r"BandWidth is ([\d.]+)")]
    if not any(found):
        raise Failed("sockperf printed no result")
    return tuple(float(f.group(1)) if f else None for f in found)
