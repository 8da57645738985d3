"""What the class numbers of LAS files mean, by the standard of the ASPRS (LAS 1.4, table 17).

Point formats 0 to 5 have room for classes 0 to 31, formats 6 to 10 for 0 to 255; from 64 on they are the
user's own.
"""

from __future__ import annotations

CLASSES = {
    0: "never classified",
    1: "unclassified",
    2: "ground",
    3: "low vegetation",
    4: "medium vegetation",
    5: "high vegetation",
    6: "building",
    7: "low noise",
    8: "model key point",  # reserved from 1.4 on; older files use it
    9: "water",
    10: "rail",
    11: "road surface",
    12: "overlap",  # reserved from 1.4 on; older files use it
    13: "wire guard",
    14: "wire conductor",
    15: "transmission tower",
    16: "wire connector",
    17: "bridge deck",
    18: "high noise",
    19: "overhead structure",
    20: "ignored ground",
    21: "snow",
    22: "temporal exclusion",
}
UNCLASSIFIED = (0, 1)
NOISE = (7, 18)
_FIRST_OWN = 64


def class_name(number: int) -> str:
    """``class_name(5)`` is "high vegetation"; numbers without a meaning are told apart by what they are."""
    number = int(number)
    if number in CLASSES:
        return CLASSES[number]
    return f"user class {number}" if number >= _FIRST_OWN else f"reserved class {number}"
