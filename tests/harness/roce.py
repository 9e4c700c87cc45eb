# SPDX-License-Identifier: BSD-2-Clause
# Judges the RoCEv2 packets of an interface: IPv4 packets have DF and the identification 0, and each packet
# has the ICRC of IBTA annex A17, computed here from the captured bytes. Usage: roce.py INTERFACE COUNT
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
    rest = rest[8:struct.unpack("!H", udp[4:6])[0]]
    if v4 and struct.unpack("!HH", ip[4:8]) != (0, 0x4000):
        sys.exit("an IPv4 packet without DF, or with an identification: " + ip.hex())
    if len(rest) < 16 or struct.unpack("<I", rest[-4:])[0] != icrc(ip, udp, rest[:-4]):
        sys.exit("a packet with a wrong ICRC: " + (ip + udp + rest).hex())
    return True


# ETH_P_ALL is 3.
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.bind((sys.argv[1], 0))
tap.settimeout(30)
print("capturing", flush=True)
count = 0
while count < int(sys.argv[2]):
    frame = tap.recv(65536)
    if frame[12:14] in (b"\x08\x00", b"\x86\xdd") and judge(frame):
        count += 1
print(count, "packets with DF, identification 0 and the right ICRC")
