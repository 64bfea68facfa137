"""The tokens of the visual language: colours by meaning, for light and dark pages, and sizes.

The page's style sheet (`css`), the figures' palette (`kitlib.charts.style`) and static pictures (`kitlib.charts.svg`)
are generated from this file; no other file in charts, widgets and views has a colour value (a test searches for them).

Shape means a request or a limit, fill means usage, colour means the current state, and text gives the reason:

* blue: in use, running
* orange: slowed, or near a bound; reversible
* red: dies or leaves (Okabe and Ito's vermillion); always with a hatch, a cross or a strike-through
* green: has just come, or will come: the decision
* guess: the learner's own guess, and nothing else
* grey: the node's own processes and reserved parts
* series-1…: series without a meaning of their own (plugins, queues): tints of the ink, with pattern and label

Hues are Okabe and Ito's, which people with any of the common kinds of colour blindness can tell apart. Each has a tone
for marks (contrast of at least 3:1 with the ground) and a tone for text (at least 4.5:1); tests/views/test_tokens.py
computes both. Full orange has less than 3:1 on white, so that it is used for areas that have an outline, and
`orange-mark` for lines and marks.

Source: Okabe and Ito, Color Universal Design (2008); WCAG 2.2, 1.4.3 and 1.4.11; CSS Color Adjustment 1, 3 (forced
colours).
"""

from __future__ import annotations

from typing import Final

LIGHT: Final = {
    "ground": "#ffffff",
    "ink": "#1f2328",
    "soft": "#59606a",
    "line": "#c9ced6",
    "raised": "#f5f7f9",
    "focus": "#0b5cad",
    "blue": "#0072b2",
    "orange": "#e69f00",
    "orange-mark": "#b87700",
    "green": "#009e73",
    "red": "#d55e00",
    "guess": "#7b5ea7",
    "grey": "#818892",
    "series-1": "#4a515b",
    "series-2": "#7c848f",
    "series-3": "#626973",
    "series-4": "#868d97",
    "blue-text": "#005f95",
    "orange-text": "#855a00",
    "green-text": "#00694c",
    "red-text": "#a84a00",
    "guess-text": "#6a4d97",
}
DARK: Final = {
    "ground": "#111111",
    "ink": "#e8eaed",
    "soft": "#aeb4bd",
    "line": "#4a515b",
    "raised": "#1d2127",
    "focus": "#7cc0ff",
    "blue": "#3fa7e6",
    "orange": "#f0b429",
    "orange-mark": "#f0b429",
    "green": "#22c79a",
    "red": "#ff8a4c",
    "guess": "#b79ce0",
    "grey": "#959ca6",
    "series-1": "#c3c8cf",
    "series-2": "#848c97",
    "series-3": "#a3aab3",
    "series-4": "#727a85",
    "blue-text": "#7cc4f5",
    "orange-text": "#f2c14e",
    "green-text": "#4fd9b3",
    "red-text": "#ffa877",
    "guess-text": "#c9b3ea",
}
SERIES: Final = 4
"""Tints of the ink for series without a meaning."""
DARK_PAGES: Final = (
    'body[data-jp-theme-light="false"]',
    'body[data-vscode-theme-kind="vscode-dark"]',
    'body[data-vscode-theme-kind="vscode-high-contrast"]',
    'html[theme="dark"] body',
)
"""Selectors of dark pages: JupyterLab, VS Code, Colab."""
KEPT_FORMS: Final = (
    ":is(.kitlib-bar,.kitlib-key,.kitlib-column i,.kitlib-board-token,.kitlib-board-box,.kitlib-legend i,"
    ".kitlib-cells td,.kit-tree .v i)"
)
"""Marks that fill and hatch distinguish, which forced colours would remove."""
SMALL, BODY, TITLE = 12, 14, 16
"""Font sizes in pixels; the minimum is 11."""
LIMIT = 2
"""Width of a limit's line in pixels; every limit is a solid line in ink with its name at the end."""
MOVE = 480
"""Duration of an animation in milliseconds; 0 if the reader asks for reduced motion."""
_SIZES = (
    "--kit-1:4px;--kit-2:8px;--kit-3:12px;--kit-4:16px;--kit-6:24px;--kit-radius:6px;\n"
    f"--kit-fill:42%;--kit-small:{SMALL}px;--kit-body:{BODY}px;--kit-title:{TITLE}px;--kit-limit:{LIMIT}px;\n"
    '--kit-font:var(--jp-ui-font-family,system-ui,-apple-system,"Segoe UI",sans-serif);'
)


def css() -> str:
    """Return the tokens as the page's CSS custom properties `--kit-…`."""
    return (
        f":root{{{_SIZES}\n{_colours(LIGHT)}--kit-tint:22%;--kit-move:{MOVE}ms}}\n"
        f"{','.join(DARK_PAGES)}{{\n{_colours(DARK)}--kit-tint:30%}}\n"
        # VS Code's widget manager sets Jupyter's variables to those of a light theme in every theme.
        f"body[data-vscode-theme-kind]{{--kit-ground:var(--vscode-editor-background,{LIGHT['ground']})}}\n"
        "@media (prefers-reduced-motion:reduce){:root{--kit-move:0ms}}\n"
        f"@media (forced-colors:active){{:root,{','.join(DARK_PAGES)}{{{_forced()}}}\n"
        f"{KEPT_FORMS}{{forced-color-adjust:none}}}}\n"
        # JupyterLab breaks printed lines at any letter; a word that fits on a line of its own stays whole.
        ".jp-RenderedText pre,.jp-OutputArea-output pre{word-break:normal;overflow-wrap:break-word}\n"
    )


def _forced() -> str:
    """Return the tokens in forced colours, which are the system's; hatch, cross and outline distinguish states."""
    system = {"ground": "Canvas", "raised": "Canvas", "line": "GrayText", "focus": "Highlight"}
    return "".join(f"--kit-{name}:{system.get(name, 'CanvasText')};" for name in LIGHT)


def _colours(of: dict[str, str]) -> str:
    ground = (
        f"--kit-ground:var(--jp-layout-color0,var(--vscode-notebook-outputContainerBackgroundColor,{of['ground']}));"
    )
    return ground + "".join(f"--kit-{name}:{value};" for name, value in of.items() if name != "ground")


def paint(colour: str, otherwise: str = "") -> str:
    """Return a colour for an SVG attribute: the page's token, with a fallback for pages without tokens.

    Args:
        colour: a token's name, or one of its hexadecimal values; other values are returned unchanged.
        otherwise: fallback instead of the light theme's value.
    """
    name = NAMES.get(colour.lower(), colour)
    return f"var(--kit-{name},{otherwise or LIGHT[name]})" if name in LIGHT else colour


NAMES: Final = {value: name for name, value in reversed(LIGHT.items())}
"""Light value -> token, which maps a figure's colours to the page's theme."""
