// Boxes with tokens in them: nodes with pods, queues, zones, sockets. Tokens keep their identity between two scenes, so
// that one sees where each went; what is gone fades where it stood. One tab stop, arrow keys walk, m carries a token.
function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
}
function set(node, name, value) {
  if (value === undefined || value === null || value === "" || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}
function put(node, text) { if (node.textContent !== text) node.textContent = text; }
export default {
  render({ model, el }) {
    el.classList.add("kitlib-board");
    el.setAttribute("data-lm-suppress-shortcuts", "true");
    const areas = element("div", "kitlib-board-areas"), status = element("p", "kitlib-board-status");
    const help = element("p", "kitlib-board-help"), legend = element("ul", "kitlib-legend");
    areas.setAttribute("role", "group");
    status.setAttribute("role", "status");
    const columns = new Map(), tokens = new Map(), boxes = new Map(), sections = new Map();
    let here = "", carried = "", dragged = "", drawn = false;
    const frames = () => model.get("frames");
    const scene = () => frames()[player.at] ?? { areas: [] };
    const send = (message) => model.send({ ...message, frame: player.at });
    const player = makePlayer({
      count: () => frames().length,
      time: (i) => frames()[i]?.seconds,
      says: (i) => frames()[i]?.caption ?? "",
      ended: () => !model.get("more"),
      more: () => send({ act: "step" }),
      show: (i, told) => {
        draw();
        if (told && model.get("position") !== i) { model.set("position", i); model.save_changes(); }
      },
    });
    el.kitlibPlayer = player;
    el.append(areas, player.bar, legend, status, help);

    function rects() {
      const found = new Map();
      for (const [id, node] of tokens) if (node.isConnected) found.set(id, node.getBoundingClientRect());
      return found;
    }
    function keep(map, id, make) {
      let node = map.get(id);
      if (!node) map.set(id, (node = make()));
      return node;
    }
    function tokenOf(one) {
      const node = keep(tokens, one.id, () => {
        const made = element("button", "kitlib-board-token");
        made.type = "button";
        made.dataset.id = one.id;
        made.append(element("b"), element("i"));
        return made;
      });
      put(node.children[0], one.label ?? "");
      put(node.children[1], one.note ?? "");
      for (const text of node.children) text.style.setProperty("--letters", text.textContent.length);
      node.children[1].hidden = !one.note;
      set(node, "data-kind", one.kind);
      set(node, "data-state", one.state);
      set(node, "data-still", one.still);
      set(node, "aria-pressed", model.get("pick") && !one.still ? String(one.state === "chosen") : "");
      set(node, "aria-label", [one.label, one.note, one.words].filter(Boolean).join(", "));
      node.title = one.words || one.label || "";
      node.draggable = model.get("movable") && !one.still;
      if (one.size !== undefined) node.style.setProperty("--size", (100 * one.size).toFixed(3) + "%");
      return node;
    }
    function columnOf(box, one) {
      const node = keep(columns, box + " " + one.id, () => {
        const made = element("div", "kitlib-column"), bar = element("div");
        bar.append(element("i"), element("i"));
        made.append(bar, element("span"));
        return made;
      });
      node.style.left = 100 * one.at + "%";
      node.style.width = 100 * one.wide + "%";
      set(node, "data-down", one.down ? "yes" : "");
      set(node, "data-state", one.state);
      node.title = one.words;
      [...node.firstChild.children].forEach((part, i) => {
        const [kind, high] = one.parts[i] ?? ["", 0];
        set(part, "data-kind", kind);
        part.style.height = `calc(var(--kitlib-column)*${Math.max(0, high).toFixed(4)})`;
      });
      put(node.lastChild, one.label);
      return node;
    }
    function boxOf(box, seen) {
      const node = keep(boxes, box.id, () => {
        const made = element("div", "kitlib-board-box"), head = element("header"), name = element("button");
        name.type = "button";
        name.dataset.box = box.id;
        head.append(name, element("span"));
        const list = element("div", "kitlib-board-tokens");
        made.append(head, list);
        made.setAttribute("role", "group");
        made.dataset.box = box.id;
        return made;
      });
      const [head, list] = node.children;
      put(head.children[0], box.title ?? "");
      set(head.children[0], "aria-label", [box.title, box.note, box.words].filter(Boolean).join(", "));
      head.children[0].title = box.words ?? "";
      put(head.children[1], box.note ?? "");
      head.hidden = !box.title;
      set(node, "data-kind", box.kind);
      set(node, "data-layout", box.layout);
      set(node, "aria-label", box.title);
      set(node, "data-marks", box.marks?.length ? "yes" : "");
      node.style.setProperty("--rows", Math.max(0, (box.marks?.length ?? 0) - 1));
      const marks = (box.marks ?? []).map((mark, i) => {
        const line = element("div", "kitlib-board-mark");
        line.append(element("span", "", mark.label));
        line.style.setProperty("--row", i);
        line.style.left = 100 * Math.min(1, mark.at) + "%";
        // A label left of its line is above the lines further left; one right of it would run into the next line.
        set(line, "data-side", mark.at > 0.6 || (mark.at >= 0.4 && i + 1 < box.marks.length) ? "left" : "");
        set(line, "data-kind", mark.kind);
        return line;
      });
      const made = box.tokens.map((one) => { seen.add(one.id); return tokenOf(one); });
      const grown = (box.columns ?? []).map((one) => columnOf(box.id, one));
      const highest = (down) => Math.max(0, ...(box.columns ?? []).filter((one) => one.down === down).map((one) => one.parts.reduce((sum, part) => sum + part[1], 0)));
      set(node, "data-columns", grown.length ? "yes" : "");
      node.style.setProperty("--up", highest(false).toFixed(4));
      node.style.setProperty("--down", highest(true).toFixed(4));
      const kept = [...made, ...grown], wanted = [...kept, ...marks];
      for (const old of [...list.children]) if (!kept.includes(old)) old.remove();
      wanted.forEach((child, i) => { if (list.children[i] !== child) list.insertBefore(child, list.children[i] ?? null); });
      return node;
    }
    function draw() {
      const moves = drawn && !calm(), now = scene(), before = moves ? rects() : new Map(), ground = moves ? el.getBoundingClientRect() : null;
      const focused = el.contains(document.activeElement) ? document.activeElement : null;
      const ghosts = new Map();
      for (const [id, box] of before) ghosts.set(id, { box, node: tokens.get(id) });
      const seen = new Set(), shown = [];
      for (const area of now.areas) {
        const section = keep(sections, area.id, () => {
          const made = element("section", "kitlib-board-area"), head = element("header");
          head.append(element("b"), element("span"));
          made.append(head, element("div", "kitlib-board-boxes"));
          return made;
        });
        const [head, list] = section.children;
        put(head.children[0], area.title ?? "");
        put(head.children[1], area.note ?? "");
        head.hidden = !area.title;
        set(section, "data-kind", area.kind);
        list.style.setProperty("--kit-wide", area.wide ?? "15em");
        const wanted = area.boxes.map((box) => boxOf(box, seen));
        for (const old of [...list.children]) if (!wanted.includes(old)) old.remove();
        wanted.forEach((child, i) => { if (list.children[i] !== child) list.insertBefore(child, list.children[i] ?? null); });
        shown.push(section);
      }
      for (const old of [...areas.children]) if (!shown.includes(old)) old.remove();
      shown.forEach((child, i) => { if (areas.children[i] !== child) areas.insertBefore(child, areas.children[i] ?? null); });
      if (moves) move(before, ghosts, seen, ground);
      settle();
      for (const id of [...tokens.keys()]) if (!seen.has(id)) { tokens.get(id).remove(); tokens.delete(id); }
      set(areas, "aria-label", model.get("label"));
      set(el, "data-pick", model.get("pick") ? "yes" : "");
      legends();
      put(help, model.get("help"));
      roving();
      if (focused && focused.isConnected && document.activeElement !== focused) focused.focus();
      drawn = true;
      el.dataset.drawn = Number(el.dataset.drawn ?? 0) + 1;
      el.dispatchEvent(new CustomEvent("kitlib-drawn", { bubbles: true }));
    }
    function move(before, ghosts, seen, ground) {
      const time = parseFloat(getComputedStyle(el).getPropertyValue("--kit-move")) || 480;
      for (const [id, node] of tokens) {
        if (!seen.has(id)) continue;
        const was = before.get(id), is = node.getBoundingClientRect();
        if (!was) node.animate([{ opacity: 0, transform: "scale(.6)" }, { opacity: 1, transform: "none" }], time);
        else if (Math.abs(was.x - is.x) + Math.abs(was.y - is.y) > 2)
          node.animate([{ transform: `translate(${was.x - is.x}px,${was.y - is.y}px)`, zIndex: 5 }, { transform: "none", zIndex: 5 }],
            { duration: time * 1.3, easing: "cubic-bezier(.3,0,.2,1)" });
      }
      for (const [id, { box, node }] of ghosts) {
        if (seen.has(id)) continue;
        const ghost = node.cloneNode(true);
        ghost.setAttribute("aria-hidden", "true");
        ghost.tabIndex = -1;
        ghost.style.cssText += `;position:absolute;pointer-events:none;left:${box.x - ground.x}px;top:${box.y - ground.y}px;width:${box.width}px;height:${box.height}px`;
        el.append(ghost);
        ghost.animate([{ opacity: 1, transform: "none" }, { opacity: 0, transform: "translateY(26px) rotate(4deg) scale(.8)" }],
          { duration: time * 1.5, easing: "ease-in" }).onfinish = () => ghost.remove();
      }
    }
    function settle() { // labels of columns that would lie on each other stand one above the other
      for (const down of [false, true]) {
        const taken = [];
        const labels = [...areas.querySelectorAll(".kitlib-column>span")].filter((one) => (one.parentNode.dataset.down === "yes") === down);
        for (const label of labels) label.style.translate = "";
        for (const label of labels) {
          const box = label.getBoundingClientRect();
          let y = box.y, other;
          const near = (one) => one.x < box.right + 3 && box.x < one.right + 3 && Math.abs(one.y - y) < 12;
          while ((other = taken.find(near))) y = other.y + (down ? 12 : -12);
          if (y !== box.y) label.style.translate = `0 ${y - box.y}px`;
          taken.push({ x: box.x, right: box.right, y });
        }
      }
    }
    function legends() {
      const wanted = model.get("legend");
      if (legend.dataset.shown === JSON.stringify(wanted)) return;
      legend.dataset.shown = JSON.stringify(wanted);
      legend.replaceChildren(...wanted.map((one) => {
        const line = element("li"), sign = element("i", "", one.sign ?? "");
        sign.setAttribute("aria-hidden", "true");
        set(sign, "data-kind", one.kind);
        set(sign, "data-state", one.state);
        set(sign, "data-sign", one.sign);
        line.append(sign, one.text);
        return line;
      }));
    }
    const walkable = () => [...areas.querySelectorAll("button")].filter((one) => one.offsetParent);
    const nameOf = (node) => node.dataset.id ? "token " + node.dataset.id : "box " + node.dataset.box;
    function roving() {
      const all = walkable();
      const mine = all.find((one) => nameOf(one) === here) ?? all[0];
      for (const one of all) one.tabIndex = one === mine ? 0 : -1;
      tell(document.activeElement && areas.contains(document.activeElement) ? mine : null);
    }
    function tell(node) {
      const text = (node?.getAttribute("aria-label") ?? "") + (carried ? ` (carrying ${carried}: walk to a box, then m)` : "");
      put(status, text);
    }
    const boxAt = (node) => node?.closest?.(".kitlib-board-box")?.dataset.box ?? "";
    areas.addEventListener("focusin", (event) => { here = nameOf(event.target); roving(); });
    areas.addEventListener("pointerover", (event) => {
      const found = event.target.closest?.("button");
      if (found) tell(found);
    });
    areas.addEventListener("click", (event) => {
      const token = event.target.closest(".kitlib-board-token"), head = event.target.closest("header>button");
      if (token) { tell(token); if (!token.dataset.still) send({ act: "pick", id: token.dataset.id, box: boxAt(token) }); }
      else if (head) send({ act: event.shiftKey ? "less" : "press", box: boxAt(head) });
    });
    areas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const all = walkable(), at = all.indexOf(document.activeElement);
      const box = boxAt(document.activeElement), token = document.activeElement?.dataset?.id;
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const go = (i) => all[Math.max(0, Math.min(all.length - 1, i))]?.focus();
      if (step) go(at + step);
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const heads = all.filter((one) => one.dataset.box), mine = heads.findIndex((one) => one.dataset.box === box);
        const next = heads[mine + (event.key === "ArrowDown" ? 1 : -1)];
        next?.focus();
      } else if (event.key === "Home") go(0);
      else if (event.key === "End") go(all.length - 1);
      else if (event.key === "Escape" && carried) { carried = ""; roving(); }
      else if (event.key === "m" && model.get("movable")) {
        if (carried) { send({ act: "move", id: carried, to: box }); carried = ""; }
        else if (token) carried = token;
        roving();
      } else if (event.key === "+" || event.key === "=") send({ act: "more", box });
      else if (event.key === "-" || event.key === "Delete") send({ act: "less", box, id: token ?? "" });
      else if (event.key.length === 1 && model.get("letters").includes(event.key)) send({ act: "key", key: event.key, box });
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    areas.addEventListener("dragstart", (event) => {
      dragged = event.target.dataset?.id ?? "";
      event.dataTransfer.setData("text/plain", dragged);
    });
    const over = (box) => { for (const node of boxes.values()) node.classList.toggle("kitlib-over", node === box); };
    areas.addEventListener("dragover", (event) => {
      const box = event.target.closest?.(".kitlib-board-box");
      if (dragged && box) { event.preventDefault(); over(box); }
    });
    areas.addEventListener("drop", (event) => {
      const to = boxAt(event.target);
      over(null);
      if (!dragged || !to) return;
      event.preventDefault();
      event.stopPropagation();
      send({ act: "move", id: dragged, to });
      dragged = "";
    });
    areas.addEventListener("dragend", () => { dragged = ""; over(null); });
    model.on("change:frames", () => {
      player.go(Math.min(model.get("position"), frames().length - 1), false);
      player.grown();
    });
    model.on("change:position", () => { if (model.get("position") !== player.at) player.go(model.get("position"), false); });
    model.on("change:legend change:help change:more", () => { legends(); put(help, model.get("help")); player.paint(); });
    player.go(model.get("position"), false);
    const size = new ResizeObserver(settle);
    size.observe(areas);
    return () => { size.disconnect(); player.stop(); };
  },
};
