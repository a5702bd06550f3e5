"""Open Sound Control 1.0 messages over UDP, as far as audio servers need them."""

import socket
import struct
import time


def padded(data):
    """`data` filled with zeros to a multiple of four bytes."""
    return data + b"\0" * (-len(data) % 4)


def text(string):
    """An OSC string: ends with a zero, then padding."""
    return padded(string.encode() + b"\0")


def message(address, *arguments):
    """One message; arguments are int (32 bits), float (32 bits), str or bytes (a blob)."""
    tags, data = ",", b""
    for argument in arguments:
        tag, encoded = encode(argument)
        tags += tag
        data += encoded
    return text(address) + text(tags) + data


def encode(argument):
    """Type tag and bytes of one argument."""
    if isinstance(argument, int):
        return "i", struct.pack(">i", argument)
    if isinstance(argument, float):
        return "f", struct.pack(">f", argument)
    if isinstance(argument, str):
        return "s", text(argument)
    return "b", struct.pack(">i", len(argument)) + padded(argument)


def parse(packet):
    """Address and list of arguments of a message without blobs."""
    address, at = read_text(packet, 0)
    tags, at = read_text(packet, at)
    arguments = []
    for tag in tags[1:]:
        if tag == "s":
            argument, at = read_text(packet, at)
        else:
            size = 8 if tag in "dht" else 4
            kind = {"i": ">i", "f": ">f", "d": ">d", "h": ">q", "t": ">Q"}[tag]
            argument = struct.unpack_from(kind, packet, at)[0]
            at += size
        arguments.append(argument)
    return address, arguments


def read_text(packet, at):
    """The string at `at`, and where the next field begins."""
    end = packet.index(b"\0", at)
    return packet[at:end].decode(), end + 4 - (end % 4)


class Peer:
    """A server on this machine, by its UDP port."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))

    def send(self, address, *arguments):
        self.socket.send(message(address, *arguments))

    def ask(self, address, *arguments, reply, patience=5.0):
        """Sends a message until the server sends `reply`; returns the reply's arguments."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                self.send(address, *arguments)
                answer = self.wait(reply, min(deadline, time.monotonic() + 0.5))
            except ConnectionRefusedError:
                # Nobody listens yet.
                time.sleep(0.1)
                continue
            if answer is not None:
                return answer
        raise TimeoutError(f"the server does not answer {address} within {patience:g} s")

    def wait(self, reply, deadline):
        """The next message `reply`; None where it does not come until `deadline`."""
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                address, arguments = parse(self.socket.recv(65536))
            except TimeoutError:
                return None
            if address == reply:
                return arguments
        return None

    def close(self):
        self.socket.close()
