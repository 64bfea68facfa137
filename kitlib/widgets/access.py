"""What ipywidgets and plotly leave out for keyboards and screen readers, added in the page itself.

An invisible part of every widget of the kit. It names the handles of sliders after their labels, gives pictures their
sentence as a description, and ties the message beside a field to the field (aria-describedby, aria-invalid). It also
brings the style sheet of all widgets; whatever moves in it stands still where the reader asked for reduced motion.

Source: WAI-ARIA 1.2 (slider, img, aria-errormessage); CSS prefers-reduced-motion.
"""

from __future__ import annotations

import anywidget
import traitlets

STYLE = """
.kitlib-widget{color:var(--jp-content-font-color1,CanvasText);max-width:100%}
.kitlib-widget .kitlib-access{display:none}
.kitlib-widget table{border-collapse:collapse;font-size:var(--jp-code-font-size,13px);line-height:1.4}
.kitlib-widget table th,.kitlib-widget table td{text-align:left;vertical-align:top;padding:.1em .8em .1em 0;
white-space:normal;max-width:34em;overflow-wrap:break-word;word-break:normal}
.kitlib-widget table thead th{border-bottom:1px solid var(--jp-border-color1,#888);font-weight:600;white-space:nowrap}
.kitlib-widget table tbody tr:nth-child(even){background:color-mix(in srgb,currentColor 5%,transparent)}
.kitlib-widget caption{text-align:left;font-style:italic;padding:.2em 0}
.kitlib-widget .kitlib-table{overflow:auto;max-height:26em}
.kitlib-widget .kitlib-sentence p{margin:.2em 0;font-size:14px;line-height:1.45;white-space:normal}
.kitlib-widget .kitlib-say p,.kitlib-widget .kitlib-note p{margin:.15em 0;border-left:3px solid #D55E00;
padding-left:.6em;line-height:1.35;white-space:normal}
.kitlib-widget .kitlib-note{min-width:0;flex:1 1 12em;overflow:visible}
.kitlib-widget .kitlib-note .widget-html-content,.kitlib-widget .kitlib-say .widget-html-content{line-height:1.35}
.kitlib-widget .widget-inline-hbox,.kitlib-widget .widget-html{height:auto;min-height:var(--jp-widgets-inline-height)}
.kitlib-widget input[aria-invalid=true],.kitlib-widget textarea[aria-invalid=true]{outline:2px solid #D55E00}
.kitlib-widget :is(button,input,select,textarea,summary,[role=slider],[tabindex="0"]):focus-visible{
outline:2px solid #1976d2;outline-offset:1px}
.kitlib-widget .kitlib-row{flex-flow:row wrap;align-items:flex-start}
.kitlib-widget .kitlib-mono textarea{font-family:var(--jp-code-font-family,monospace);font-size:13px;line-height:1.35}
@keyframes kitlib-flash{from{background:#F0E442;color:#000}to{background:transparent}}
.kitlib-flash{animation:kitlib-flash 1.6s ease-out}
@media (prefers-reduced-motion:reduce){.kitlib-widget *{transition:none!important;animation:none!important}
.kitlib-flash{outline:2px solid #E69F00;outline-offset:-2px}}
"""

_SCRIPT = """
const STYLE = %r;
let next = 0;
function idOf(node) { return node.id || (node.id = "kitlib-" + ++next); }
function mend(root, model) {
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", model.get("title"));
  for (const slider of root.querySelectorAll(".widget-slider, .widget-hslider, .widget-vslider")) {
    const label = slider.querySelector(".widget-label"), readout = slider.querySelector(".widget-readout");
    const name = label?.textContent || slider.getAttribute("title") || slider.querySelector("[title]")?.title;
    for (const handle of slider.querySelectorAll("[role=slider]")) {
      if (name && handle.getAttribute("aria-label") !== name) handle.setAttribute("aria-label", name);
      const text = readout?.textContent;
      if (text && handle.getAttribute("aria-valuetext") !== text) handle.setAttribute("aria-valuetext", text);
    }
    if (readout && name) readout.setAttribute("aria-label", name + ", value");
  }
  for (const plot of root.querySelectorAll(".js-plotly-plot, .kitlib-canvas")) {
    if (plot.closest(".kitlib-widget") !== root) continue;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", model.get("sentence"));
  }
  for (const field of root.querySelectorAll(".kitlib-field")) {
    const note = field.querySelector(".kitlib-note"), wrong = !!note?.textContent.trim();
    const hidden = field.querySelector(":scope > .kitlib-hidden");
    for (const control of field.querySelectorAll("input, select, textarea, [role=slider]")) {
      const label = control.id && root.querySelector(`label[for="${control.id}"]`);
      const named = control.getAttribute("aria-label") || label?.textContent;
      if (!named && field.title) control.setAttribute("aria-label", field.title);
      control.setAttribute("aria-invalid", String(wrong));
      if (wrong) control.setAttribute("aria-describedby", idOf(note));
      else control.removeAttribute("aria-describedby");
    }
  }
}
export default {
  render({ model, el }) {
    el.classList.add("kitlib-access");
    if (!document.getElementById("kitlib-style")) {
      const sheet = document.createElement("style");
      sheet.id = "kitlib-style";
      sheet.textContent = STYLE;
      document.head.append(sheet);
    }
    let due = 0, watcher = null, stopped = false;
    const soon = (root) => {
      if (!due) due = setTimeout(() => { due = 0; if (!stopped) mend(root, model); }, 60);
    };
    const start = () => {
      if (stopped) return;
      const root = el.closest(".kitlib-widget");
      if (!root) return void setTimeout(start, 30);
      watcher = new MutationObserver(() => soon(root));
      watcher.observe(root, { childList: true, subtree: true });
      model.on("change:sentence", () => soon(root));
      mend(root, model);
    };
    start();
    return () => { stopped = true; watcher?.disconnect(); };
  },
};
"""


class Access(anywidget.AnyWidget):
    """The invisible part; `title` and `sentence` are what a screen reader says of the widget and of its picture."""

    _esm = _SCRIPT % STYLE
    title = traitlets.Unicode().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
