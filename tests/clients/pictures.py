"""What the clients that draw have in common: the comparison of two drivers' pictures, and PNG."""

import os
import struct
import sys
import zlib

import numpy as np

# A channel that differs by this much or less counts as equal, and so many pixels may differ.
TOLERANCE, SHARE = 8, 0.01


def save(path, texels):
    """Writes rows of pixels, red, green and blue first, as a PNG."""

    def chunk(kind, data):
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    height, width, _ = texels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = texels[..., :3].reshape(height, -1)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b""))


def compare(pictures, directory):
    """Keeps the pictures, (title, "m1" or "cpu") -> rows of pixels, in `directory`, says how far those
    of a title are apart, and ends the program: with an error if one is too far, or of one colour."""
    os.makedirs(directory, exist_ok=True)
    for (title, who), picture in pictures.items():
        save(os.path.join(directory, f"{title}-{who}.png"), picture)
    failed = 0
    for title in dict.fromkeys(title for title, _ in pictures):
        ours, theirs = pictures[title, "m1"], pictures[title, "cpu"]
        apart = np.abs(ours.astype(int) - theirs).max(-1) > TOLERANCE
        plain = (ours == ours[0, 0]).all()
        right = apart.mean() <= SHARE and not plain
        failed += not right
        print(f"{'ok' if right else 'WRONG'}: {title}, {100 * apart.mean():.3f} % of pixels differ")
    sys.exit(failed > 0)
