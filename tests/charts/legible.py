"""A check for texts of a picture that cannot be read at the picture's own width."""

from __future__ import annotations

from xml.etree import ElementTree

_TEXT = "{http://www.w3.org/2000/svg}text"
_LETTER = 0.57
"""Average width of a letter of DejaVu Sans, the widest of the common system fonts, in parts of the font's size."""
_MINIMUM = 11.0


def illegible(svg: str) -> list[str]:
    """Return the texts of a picture that are smaller than 11 pixels or leave the picture at a side, with the reason."""
    root = ElementTree.fromstring(svg)
    width = float(root.attrib["width"])
    found = []
    for one in root.iter(_TEXT):
        text, font = "".join(one.itertext()), float(one.get("font-size", root.attrib["font-size"]))
        wide = len(text) * _LETTER * font
        part = {"start": 0.0, "middle": 0.5, "end": 1.0}[one.get("text-anchor", "start")]
        left = float(one.attrib["x"]) - part * wide
        if font < _MINIMUM:
            found.append(f"{text!r} has {font:g} pixels")
        if left < -1 or left + wide > width + 1:
            found.append(f"{text!r} reaches from {left:.0f} to {left + wide:.0f} of {width:.0f}")
    return found
