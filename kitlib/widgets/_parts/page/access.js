const PICTURES = ".kitlib-chart, .kitlib-drawn, .kitlib-board, .kitlib-live, .kitlib-grid";
// Every widget has a copy of this script: one count for the whole page, or two fields would point at one note.
function idOf(node) { return node.id || (node.id = "kitlib-" + (window.kitlibIds = (window.kitlibIds ?? 0) + 1)); }
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
  for (const picture of root.querySelectorAll(PICTURES)) { // Jupyter sets classes on the parts that are its own alone
    if (picture.closest(".kitlib-widget") === root) picture.classList.toggle("kitlib-stale", model.get("stale"));
  }
  for (const plot of root.querySelectorAll(".kitlib-canvas")) {
    if (plot.closest(".kitlib-widget") !== root) continue;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", model.get("sentence"));
  }
  for (const box of root.querySelectorAll(".kitlib-table .widget-html-content, .kitlib-table, .kitlib-scroll, .kitlib-grid-scroller, .kitlib-chart-body")) {
    const scrolls = box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
    if (!scrolls || box.querySelector("[tabindex='0']")) { if (box.dataset.scrolls) { box.removeAttribute("tabindex"); box.removeAttribute("role"); delete box.dataset.scrolls; } continue; }
    box.dataset.scrolls = "yes";
    box.tabIndex = 0; // what scrolls must be reached by keyboard
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "scrolls: " + model.get("title"));
  }  for (const field of root.querySelectorAll(".kitlib-field")) {
    const note = field.querySelector(".kitlib-note"), wrong = !!note?.textContent.trim();
    for (const control of field.querySelectorAll("input, select, textarea, [role=slider]")) {
      const label = control.id && root.querySelector(`label[for="${control.id}"]`);
      const named = control.getAttribute("aria-label") || label?.textContent;
      const title = control.title || control.closest("[title]")?.title;
      if (!named && title) control.setAttribute("aria-label", title);
      control.setAttribute("aria-invalid", String(wrong));
      if (wrong) control.setAttribute("aria-describedby", idOf(note));
      else control.removeAttribute("aria-describedby");
    }
  }
}
// The panel "Share or export": what it does comes when it is opened for the first time, and once for the whole page.
function sharePanel(model, el, rootOf) {
  const panel = document.createElement("details"), name = document.createElement("summary"), inside = document.createElement("div");
  panel.className = "kitlib-share";
  name.textContent = "Share or export";
  panel.append(name, inside);
  el.append(panel);
  let ask = null;
  const begin = async (script) => {
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    window.kitlibShare ??= import(address);
    const { shareMenu } = await window.kitlibShare;
    URL.revokeObjectURL(address);
    ask ??= shareMenu(inside, { root: rootOf(), model });
  };
  const told = (message) => { if (message.kind === "tools" && !ask) { inside.textContent = ""; begin(message.script); } };
  model.on("msg:custom", told);
  panel.addEventListener("toggle", () => {
    if (!panel.open) return;
    if (ask) return ask();
    inside.textContent = "The kernel is asked …";
    model.send({ kind: "tools" });
  });
  return () => model.off("msg:custom", told);
}
// anywidget keeps a model until its kernel closes it, and with one model all that its notebook showed. When a notebook is
// closed its page forgets the models; the kernel keeps them, and shows them again where the notebook is opened again.
function forgetWithNotebook(manager) {
  const known = (window.kitlibManagers ??= new WeakSet()), closed = manager?.context?.disposed; // Voilà has no context
  if (!closed || known.has(manager)) return;
  known.add(manager);
  closed.connect(() => Object.values(manager._models ?? {}).forEach(async (promise) => {
    const one = await promise;
    one.trigger("comm:close"); // the notebook's manager lets go of it
    one.close(true); // and what is in the page; true: the kernel's side stays
  }));
}
export default {
  render({ model, el }) {
    el.classList.add("kitlib-access");
    forgetWithNotebook(model.widget_manager);
    const closeShare = model.get("shares") ? sharePanel(model, el, () => el.closest(".kitlib-widget")) : () => {};
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
    let root = null;
    // Jupyter's command mode takes plain keys (arrows, letters) before a slider or a list gets them. Those pressed inside
    // the widget are the widget's; with Ctrl, Alt or Meta, and Shift+Enter, they stay Jupyter's. The mark must stand on
    // the element itself: Lumino looks from the target upwards and takes the first shortcut that it finds.
    const theirs = (event) =>
      event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && event.key === "Enter");
    const guard = (event) => {
      if (!root?.contains(event.target)) return;
      event.target.toggleAttribute("data-lm-suppress-shortcuts", !theirs(event));
    };
    // VS Code listens at the frame's window and passes every key on to its notebook: there x would cut the cell.
    const keep = (event) => {
      const shared = theirs(event) || /^(Escape|F\d+|Shift|Control|Alt|Meta)$/.test(event.key);
      if (document.body.dataset.vscodeThemeKind && root?.contains(event.target) && !shared) event.stopPropagation();
    };
    window.addEventListener("keydown", guard, true);
    document.addEventListener("keydown", keep);
    const start = () => {
      if (stopped) return;
      root = el.closest(".kitlib-widget");
      if (!root) return void setTimeout(start, 30);
      watcher = new MutationObserver(() => soon(root));
      watcher.observe(root, { childList: true, subtree: true });
      model.on("change:sentence change:stale", changed);
      mend(root, model);
    };
    const changed = () => soon(root);
    start();
    return () => {
      stopped = true;
      clearTimeout(due);
      model.off("change:sentence change:stale", changed);
      closeShare();
      watcher?.disconnect();
      window.removeEventListener("keydown", guard, true);
      document.removeEventListener("keydown", keep);
    };
  },
};
