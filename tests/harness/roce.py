# SPDX-License-Identifier: BSD-2-Clause
# Judges the RoCEv2 packets of an interface, or of a file that pcap= made: IPv4 packets have DF and the
# identification 0, and each packet has the ICRC of IBTA annex A17, computed here from the captured bytes.
# Usage: roce.py INTERFACE COUNT [PORT]; with PORT, each goes to this UDP port. Or roce.py FILE, which also counts
# requests that are repetitions
import socket
import struct
import sys
import zlib


def icrc(ip, udp, bth):
    """The CRC over the packet, in which fields that may change on the way count as ones."""
    ip, udp, bth = bytearray(ip), bytearray(udp), bytearray(bth)
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff  # type of service, time to live, checksum
    else:
        ip[0] |= 0x0f  # traffic class, flow label, hop limit
        ip[1] = ip[2] = ip[3] = ip[7] = 0xff
    udp[6] = udp[7] = 0xff  # checksum
    bth[4] = 0xff  # reserved
    return zlib.crc32(b"\xff" * 8 + ip + udp + bth)


def judge(frame):
    """True: a right RoCEv2 packet; None: another packet."""
    ip = frame[14:]
    v4 = ip[0] >> 4 == 4
    size = 4 * (ip[0] & 15) if v4 else 40
    if (ip[9] if v4 else ip[6]) != 17:
        return None
    ip, rest = ip[:size], ip[size:]
    udp = rest[:8]
    if len(sys.argv) > 3 and udp[2:4] != struct.pack("!H", int(sys.argv[3])):
        sys.exit("a packet to another port: " + udp.hex())
    rest = rest[8:struct.unpack("!H", udp[4:6])[0]]
    if v4 and struct.unpack("!HH", ip[4:8]) != (0, 0x4000):
        sys.exit("an IPv4 packet without DF, or with an identification: " + ip.hex())
    if len(rest) < 16 or struct.unpack("<I", rest[-4:])[0] != icrc(ip, udp, rest[:-4]):
        sys.exit("a packet with a wrong ICRC: " + (ip + udp + rest).hex())
    return True


def judge_file(name):
    with open(name, "rb") as f:
        data = f.read()
    if struct.unpack("=IHHIIII", data[:24])[::6] != (0xa1b23c4d, 101):
        sys.exit("no file of raw IP packets with times in nanoseconds")
    at, count, repeated, seen = 24, 0, 0, set()
    while at < len(data):
        size = struct.unpack("=I", data[at + 8:at + 12])[0]
        packet = data[at + 16:at + 16 + size]
        if len(packet) != size or not judge(bytes(14) + packet):
            sys.exit("a packet that is cut, or no UDP: " + packet.hex())
        bth = packet[(20 if packet[0] >> 4 == 4 else 40) + 8:]
        request = bth[:1] + bth[5:8] + bth[9:12]		# opcode, QP and PSN
        repeated += bth[0] <= 0x0c and request in seen
        seen.add(request)
        count += 1
        at += 16 + size
    print(f"{count} packets with the right ICRC, {repeated} repeated requests")


if len(sys.argv) == 2:
    judge_file(sys.argv[1])
    sys.exit()

# ETH_P_ALL is 3.
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.bind((sys.argv[1], 0))
tap.settimeout(30)
# Room for all frames: on a busy machine this process may not run while they come.
tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
print("capturing", flush=True)
count = 0
while count < int(sys.argv[2]):
    frame = tap.recv(65536)
    if frame[12:14] in (b"\x08\x00", b"\x86\xdd") and judge(frame):
        count += 1
print(count, "packets with DF, identification 0 and the right ICRC")
