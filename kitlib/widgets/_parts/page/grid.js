// A table that is walked with the arrow keys: roving focus, one status line, actions sent to Python.
const KEYS = {
  Enter: "press", " ": "press", "+": "more", "=": "more", "-": "less", Delete: "less", Backspace: "less",
};
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const breakable = (name) => name.replace(/([a-z])([A-Z])/g, "$1\u200b$2");

function flash(td) {
  clearTimeout(td.flashing);
  td.classList.remove("kitlib-flash");
  void td.offsetWidth; // begins again
  td.classList.add("kitlib-flash");
  td.flashing = setTimeout(() => td.classList.remove("kitlib-flash"), 1700);
}

function render({ model, el }) {
  el.classList.add("kitlib-grid");
  el.setAttribute("data-lm-suppress-shortcuts", "true");
  const scroller = document.createElement("div");
  scroller.className = "kitlib-grid-scroller";
  const table = document.createElement("table");
  table.setAttribute("role", "grid");
  scroller.append(table);
  const status = document.createElement("p");
  status.className = "kitlib-grid-status";
  status.setAttribute("role", "status");
  status.setAttribute("aria-live", "polite");
  const help = document.createElement("p");
  help.className = "kitlib-grid-help";
  el.append(scroller, status, help);
  let tds = [], shape = "", carried = null;
  let turned = false, wide = 0; // rows and columns change places where only so there is room; pixels that it needs else

  const rows = () => model.get("rows"), columns = () => model.get("columns"), cells = () => model.get("cells");
  const at = () => {
    const [r, c] = model.get("selected");
    return [Math.max(0, Math.min(r, rows().length - 1)), Math.max(0, Math.min(c, columns().length - 1))];
  };
  const send = (act, row, column, to = null, key = "") => model.send({ act, row, column, to, key });

  function build() {
    table.replaceChildren();
    table.setAttribute("aria-label", model.get("label"));
    el.classList.toggle("kitlib-grid-dense", columns().length > 24);
    el.classList.toggle("kitlib-grid-turned", turned);
    const [down, across] = turned ? [columns(), rows()] : [rows(), columns()];
    const head = table.createTHead().insertRow();
    head.setAttribute("role", "row");
    for (const name of ["", ...across]) {
      const th = document.createElement("th");
      th.setAttribute("role", "columnheader");
      th.scope = "col";
      th.textContent = breakable(name);
      head.append(th);
    }
    const body = table.createTBody();
    tds = rows().map(() => []);
    down.forEach((name, line) => {
      const tr = body.insertRow();
      tr.setAttribute("role", "row");
      const th = document.createElement("th");
      th.setAttribute("role", "rowheader");
      th.scope = "row";
      th.textContent = turned ? breakable(name) : name;
      tr.append(th);
      across.forEach((_, place) => {
        const td = tr.insertCell(), [r, c] = seen(line, place);
        td.setAttribute("role", "gridcell");
        td.dataset.row = r;
        td.dataset.column = c;
        tds[r][c] = td;
      });
    });
  }

  const seen = (one, other) => (turned ? [other, one] : [one, other]); // on the screen <-> as Python numbers them

  function fit() {
    const room = scroller.clientWidth;
    if (!room) return;
    if (!turned && scroller.scrollWidth > room + 1 && rows().length < columns().length) wide = scroller.scrollWidth;
    if (turned === room < wide) return;
    turned = !turned;
    const focused = table.contains(document.activeElement);
    build();
    paint(true);
    if (focused) tds[at()[0]]?.[at()[1]]?.focus();
  }

  function paint(first) {
    const now = JSON.stringify([rows(), columns(), model.get("label")]);
    const anew = now !== shape;
    if (anew) { shape = now; turned = false; wide = 0; build(); first = true; }
    const [sr, sc] = at(), movable = model.get("movable");
    cells().forEach((row, r) => row.forEach(([text, hint, kind], c) => {
      const td = tds[r]?.[c];
      if (!td) return;
      if (td.textContent !== text) {
        td.textContent = text;
        if (!first) flash(td);
      }
      if (td.dataset.kind !== kind) td.dataset.kind = kind;
      const name = `${rows()[r]}, ${columns()[c]}: ${hint || text || "empty"}`;
      if (td.getAttribute("aria-label") !== name) { td.setAttribute("aria-label", name); td.title = hint; }
      td.draggable = movable && text !== "";
      const here = r === sr && c === sc;
      td.tabIndex = here ? 0 : -1;
      td.setAttribute("aria-selected", String(here));
    }));
    help.textContent = model.get("help");
    tell();
    if (anew) fit();
  }

  function tell() {
    const [r, c] = at(), td = tds[r]?.[c];
    const text = td ? td.getAttribute("aria-label") + (carried ? " (carrying a pod from " + carried.name + ")" : "") : "";
    if (status.textContent !== text) status.textContent = text;
  }

  function go(r, c, focus = true) {
    const [r0, c0] = at();
    tds[r0]?.[c0]?.setAttribute("aria-selected", "false");
    if (tds[r0]?.[c0]) tds[r0][c0].tabIndex = -1;
    model.set("selected", [r, c]);
    model.save_changes();
    const td = tds[r]?.[c];
    if (td) { td.tabIndex = 0; td.setAttribute("aria-selected", "true"); if (focus) td.focus(); }
    tell();
  }

  table.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [r, c] = at();
    let [line, place] = seen(r, c);
    if (event.key in MOVES) { line += MOVES[event.key][0]; place += MOVES[event.key][1]; }
    else if (event.key === "Home") place = 0;
    else if (event.key === "End") place = Infinity;
    else if (event.key === "PageUp") line = 0;
    else if (event.key === "PageDown") line = Infinity;
    else if (event.key === "Escape" && carried) { carried = null; tell(); event.preventDefault(); event.stopPropagation(); return; }
    else if (event.key === "m" && model.get("movable")) {
      if (carried) { send("move", carried.r, carried.c, [r, c]); carried = null; }
      else if (tds[r][c].textContent) carried = { r, c, name: `${rows()[r]}, ${columns()[c]}` };
      tell();
      event.preventDefault(); event.stopPropagation();
      return;
    } else if (event.key in KEYS) {
      send(KEYS[event.key], r, c);
      event.preventDefault(); event.stopPropagation();
      return;
    } else if (event.key.length === 1 && model.get("letters").includes(event.key)) {
      send("key", r, c, null, event.key);
      event.preventDefault(); event.stopPropagation();
      return;
    } else return;
    event.preventDefault(); event.stopPropagation();
    const [nr, nc] = seen(line, place);
    go(Math.max(0, Math.min(nr, rows().length - 1)), Math.max(0, Math.min(nc, columns().length - 1)));
  });
  const cellOf = (target) => {
    const td = target.closest?.("td");
    return td && table.contains(td) ? [Number(td.dataset.row), Number(td.dataset.column)] : null;
  };
  table.addEventListener("click", (event) => {
    const found = cellOf(event.target);
    if (!found) return;
    go(...found);
    send(event.shiftKey ? "less" : "press", ...found);
  });
  let dragged = null;
  table.addEventListener("dragstart", (event) => {
    dragged = cellOf(event.target);
    if (dragged) event.dataTransfer.setData("text/plain", dragged.join());
  });
  table.addEventListener("dragover", (event) => { if (dragged && cellOf(event.target)) event.preventDefault(); });
  table.addEventListener("drop", (event) => {
    const end = cellOf(event.target);
    if (!dragged || !end) return;
    event.preventDefault();
    event.stopPropagation();
    if (end.join() !== dragged.join()) send("move", ...dragged, end);
    dragged = null;
  });
  for (const name of ["rows", "columns", "cells", "label", "help", "movable"]) model.on("change:" + name, () => soon());
  model.on("change:selected", () => paint(false));
  let due = false;
  function soon() {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; paint(false); });
  }
  const size = new ResizeObserver(fit);
  size.observe(scroller);
  paint(true);
  return () => size.disconnect();
}
export default { render };
