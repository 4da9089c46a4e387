"""PNG files of the pictures that clients draw. The tests compare them."""

import os
import struct
import zlib

import numpy as np


def save(directory, title, texels):
    """Writes rows of pixels, red, green and blue first, as `title`.png."""

    def chunk(kind, data):
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    height, width, _ = texels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = texels[..., :3].reshape(height, -1)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    with open(os.path.join(directory, f"{title}.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b""))
