// A picture that the kernel draws as SVG, and whose marks can be used: `data-handle` is dragged or moved by arrow keys,
// `data-press` is pressed, `data-carry` is dropped on `data-drop`; arrow keys walk along `data-walk`, which says its
// name below. What has a `data-key` glides to its new place.
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const PLACE = ["x", "y", "width", "height"];
export default {
  render({ model, el }) {
    el.classList.add("kitlib-drawn", "kitlib-plot");
    el.setAttribute("data-lm-suppress-shortcuts", "true");
    const place = document.createElement("div"), help = document.createElement("p");
    help.className = "kitlib-board-help";
    const status = document.createElement("p");
    status.className = "kitlib-board-status";
    status.setAttribute("role", "status");
    el.append(place, help);
    let held = null, waiting = false, wish = null, count = 0, width = 0;
    const nameOf = (node) => ["handle", "press", "walk"].map((kind) => node?.dataset?.[kind] && `[data-${kind}="${CSS.escape(node.dataset[kind])}"]`).find(Boolean);
    const placeOf = (node) => PLACE.map((name) => parseFloat(node.getAttribute(name)) || 0);
    function draw() {
      waiting = false;
      const before = new Map([...place.querySelectorAll("[data-key]")].map((node) => [node.dataset.key, placeOf(node)]));
      const focused = place.contains(document.activeElement) ? nameOf(document.activeElement) : "";
      place.innerHTML = model.get("body"); // escaped by the kernel's side
      if (place.querySelector("[data-walk]")) place.after(status); else status.remove();
      const svg = place.firstElementChild;
      if (svg?.querySelector("[tabindex]")) svg.setAttribute("role", "group"); // an image would hide its parts
      if (focused) place.querySelector(focused)?.focus({ preventScroll: true });
      const time = parseFloat(getComputedStyle(el).getPropertyValue("--kit-move")) || 480;
      if (count && !calm() && !held) for (const node of place.querySelectorAll("[data-key]")) {
        const was = before.get(node.dataset.key), is = placeOf(node);
        if (!was) node.animate([{ opacity: 0 }, { opacity: 1 }], time);
        else if (was.some((one, i) => Math.abs(one - is[i]) > 0.5))
          node.animate([was, is].map((at) => Object.fromEntries(PLACE.map((name, i) => [name, at[i] + "px"]))), { duration: time, easing: "ease" });
      }
      help.textContent = model.get("help");
      el.dataset.drawn = count += 1;
      el.dispatchEvent(new CustomEvent("kitlib-drawn", { bubbles: true }));
      if (wish) { const next = wish; wish = null; send(next); }
    }
    // One wish at a time: while the kernel draws, only the last one is kept.
    function send(message) {
      if (waiting && message.act === "drag" && !message.done) { wish = message; return; }
      if (message.done) wish = null;
      waiting = true;
      model.send(message);
      setTimeout(() => { if (wish) { const next = wish; wish = null; waiting = false; send(next); } else waiting = false; }, 400);
    }
    function at(event) { // in the drawing's own units
      const svg = place.querySelector("svg"), box = svg.getBoundingClientRect(), whole = svg.viewBox.baseVal;
      return [((event.clientX - box.x) / box.width) * whole.width, ((event.clientY - box.y) / box.height) * whole.height];
    }
    const under = (event) => document.elementsFromPoint(event.clientX, event.clientY).map((node) => node.closest("[data-drop]")).find(Boolean)?.dataset.drop ?? "";
    place.addEventListener("pointerdown", (event) => {
      const node = event.target.closest("[data-handle],[data-carry]");
      if (!node || event.button) return;
      event.preventDefault();
      node.focus?.({ preventScroll: true });
      held = { handle: node.dataset.handle, carry: node.dataset.carry, press: node.dataset.press, from: [event.clientX, event.clientY], moved: false };
      addEventListener("pointermove", drag);
      addEventListener("pointerup", drop, { once: true });
      addEventListener("pointercancel", drop, { once: true });
    });
    function drag(event) {
      if (!held.moved && Math.hypot(event.clientX - held.from[0], event.clientY - held.from[1]) < 3) return;
      held.moved = true;
      if (held.handle) { const [x, y] = at(event); send({ act: "drag", what: held.handle, x, y, done: false }); return; }
      const over = under(event);
      for (const node of place.querySelectorAll("[data-drop]")) node.classList.toggle("kitlib-over", node.dataset.drop === over);
      const carried = place.querySelector(`[data-carry="${CSS.escape(held.carry)}"]`);
      const scale = place.querySelector("svg").viewBox.baseVal.width / place.querySelector("svg").getBoundingClientRect().width;
      if (carried) { carried.style.transform = `translate(${(event.clientX - held.from[0]) * scale}px,${(event.clientY - held.from[1]) * scale}px)`; carried.style.pointerEvents = "none"; }
    }
    function drop(event) {
      removeEventListener("pointermove", drag);
      const last = held;
      held = null;
      if (!last) return;
      for (const node of place.querySelectorAll("[data-carry]")) node.style.transform = node.style.pointerEvents = "";
      for (const node of place.querySelectorAll(".kitlib-over")) node.classList.remove("kitlib-over");
      if (event.type === "pointercancel") return;
      if (!last.moved) { if (last.press) send({ act: "press", what: last.press }); return; }
      const [x, y] = at(event);
      if (last.handle) send({ act: "drag", what: last.handle, x, y, done: true });
      else if (under(event)) send({ act: "drop", what: last.carry, on: under(event) });
    }
    place.addEventListener("click", (event) => {
      const node = event.target.closest("[data-press]");
      event.target.closest("[data-walk]")?.focus({ preventScroll: true });
      if (node && !node.dataset.carry) send({ act: "press", what: node.dataset.press });
    });
    const walk = () => [...place.querySelectorAll("[data-walk]")];
    place.addEventListener("focusin", (event) => {
      const node = event.target.closest("[data-walk]");
      if (!node) return;
      for (const one of walk()) one.setAttribute("tabindex", one === node ? 0 : -1);
      status.textContent = node.getAttribute("aria-label");
    });
    place.addEventListener("pointerover", (event) => {
      const node = event.target.closest("[data-walk]");
      if (node) status.textContent = node.getAttribute("aria-label");
    });
    place.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (event.target.closest("[data-walk]") && step) {
        const all = walk(), to = all.indexOf(event.target.closest("[data-walk]")) + step;
        all[Math.max(0, Math.min(all.length - 1, to))].focus();
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      const node = event.target.closest("[data-handle],[data-press]");
      if (!node) return;
      const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
      if (node.dataset.handle && by) send({ act: "step", what: node.dataset.handle, by });
      else if (node.dataset.handle && (event.key === "Delete" || event.key === "Backspace")) send({ act: "unset", what: node.dataset.handle });
      else if (node.dataset.press && (event.key === "Enter" || event.key === " ")) send({ act: "press", what: node.dataset.press });
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    const size = new ResizeObserver(() => {
      const now = Math.round(el.clientWidth / 10) * 10;
      if (!now || Math.abs(now - width) < 10) return;
      width = now;
      model.set("wide", width);
      model.save_changes();
    });
    size.observe(el);
    model.on("change:body change:help", draw);
    draw();
    return () => { size.disconnect(); removeEventListener("pointermove", drag); model.off("change:body change:help", draw); };
  },
};
