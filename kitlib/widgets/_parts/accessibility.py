"""What ipywidgets and plotly leave out for keyboards and screen readers, added in the page itself.

An invisible part of every widget of the kit. It names the handles of sliders after their labels, gives pictures their
sentence as a description, and ties the message beside a field to the field (aria-describedby, aria-invalid). It also
brings the style sheet of all widgets; whatever moves in it stands still where the reader asked for reduced motion.

Source: WAI-ARIA 1.2 (slider, img, aria-errormessage); CSS prefers-reduced-motion.
"""

from __future__ import annotations

import anywidget
import traitlets

from kitlib.widgets._parts.page import script, style


class Access(anywidget.AnyWidget):
    """The invisible part.

    Attributes:
        title, sentence: what a screen reader says of the widget and of its picture.
        stale: whether the picture shows the values before a rejected one, and is dimmed.
    """

    _esm = script("access.js", STYLE=style())
    title = traitlets.Unicode().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    stale = traitlets.Bool().tag(sync=True)
