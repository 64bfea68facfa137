function cell(tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}
const LONG = /[0-9a-f]{20,}/;
const short = (name) => name.replace(/[0-9a-f]{20,}/g, (id) => id.slice(0, 8) + "…")
  .replace(/([0-9a-f]{8})[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}/g, "$1…");
function copier(path) {
  const made = cell("button", "copy", "kitlib-copy");
  made.type = "button";
  made.title = "copy the path " + path;
  made.setAttribute("aria-label", made.title);
  made.addEventListener("click", (event) => {
    event.preventDefault();
    navigator.clipboard?.writeText(path).then(() => { made.textContent = "copied"; setTimeout(() => { made.textContent = "copy"; }, 1500); });
  });
  return made;
}
function flash(node) {
  node.classList.remove("kitlib-flash");
  void node.offsetWidth;
  node.classList.add("kitlib-flash");
  setTimeout(() => node.classList.remove("kitlib-flash"), 1700);
}
function build(rows, compared, open, known) {
  const holder = document.createElement("div");
  holder.className = "kit-tree";
  const cells = new Map(), stack = [{ depth: -1, body: holder, table: null }];
  for (const row of rows) {
    while (stack.length && stack[stack.length - 1].depth >= row.depth) stack.pop();
    const above = stack[stack.length - 1];
    if (!row.file) {
      const branch = document.createElement("details");
      branch.open = open.has(row.path) ? open.get(row.path) : true;
      branch.addEventListener("toggle", () => open.set(row.path, branch.open));
      const head = cell("summary", short(row.name) + " ");
      head.title = row.path;
      if (row.qos) head.append(cell("span", row.qos, "q"), " ");
      const mark = cell("b", row.differs ? (row.observed === null ? "≠ missing " : "≠ not desired ") : "");
      head.append(mark, cell("span", row.comment, "c"));
      branch.append(head);
      if (LONG.test(row.name)) branch.append(copier(row.path));
      above.body.append(branch);
      above.table = null;
      stack.push({ depth: row.depth, body: branch, table: null, path: row.path });
      if (known && !known.has(row.path + "/")) flash(head);
      cells.set(row.path + "/", { mark, row });
      continue;
    }
    if (!above.table) {
      const table = document.createElement("table"), head = document.createElement("tr");
      for (const name of compared ? ["file", "desired", "observed", "why"] : ["file", "value", "why"]) {
        const th = cell("th", name);
        th.scope = "col";
        head.append(th);
      }
      const caption = cell("caption", row.path), top = document.createElement("thead");
      top.append(head);
      above.table = document.createElement("tbody");
      table.append(caption, top, above.table);
      above.body.append(table);
    }
    const line = document.createElement("tr");
    const desired = cell("td", "", "v"), observed = compared ? cell("td", "", "v") : null, why = cell("td", "", "c");
    line.append(cell("td", row.file), desired, ...(compared ? [observed] : []), why);
    above.table.append(line);
    const entry = { line, desired, observed, why, row: null };
    const key = row.path + "//" + row.file;
    cells.set(key, entry);
    fill(entry, row, false);
    if (known && !known.has(key)) flash(line);
  }
  return { holder, cells };
}
function put(node, text, may) {
  if (!node || node.textContent === text) return;
  node.textContent = text;
  if (may) flash(node);
}
function fill(entry, row, may) {
  entry.line.className = row.differs ? "d" : row.written ? "" : "u";
  entry.line.dataset.path = row.path;
  entry.line.dataset.file = row.file;
  put(entry.desired, row.desired ?? "–", may);
  put(entry.observed, (row.differs ? "≠ " : "") + (row.observed ?? "missing"), may);
  put(entry.why, row.comment, false);
  entry.row = row;
}
const keyOf = (row) => row.path + (row.file ? "//" + row.file : "/");
export default {
  render({ model, el }) {
    const sheet = document.createElement("style");
    sheet.textContent = STYLE;
    const place = document.createElement("div");
    place.style.overflow = "auto";
    place.style.maxHeight = "80em";
    place.style.borderBottom = "1px solid var(--kit-line)";
    place.tabIndex = 0;
    place.setAttribute("role", "region");
    place.setAttribute("aria-label", "cgroup tree, scrolls");
    place.dataset.lmSuppressShortcuts = "true";
    el.append(sheet, place);
    const open = new Map();
    let shown = null, order = "";
    const draw = () => {
      const rows = model.get("rows"), compared = model.get("compared");
      const now = compared + rows.map((row) => keyOf(row) + (row.file ? "" : row.differs)).join("\n");
      if (shown && now === order) {
        for (const row of rows) if (row.file) fill(shown.cells.get(keyOf(row)), row, true);
        return;
      }
      const known = shown ? new Set(shown.cells.keys()) : null, top = place.scrollTop;
      shown = build(rows, compared, open, known);
      if (!rows.length) shown.holder.append(cell("p", "Nothing to show here: no file differs, or the filters leave nothing over.", "kitlib-empty"));
      order = now;
      place.replaceChildren(shown.holder);
      place.scrollTop = top;
    };
    draw();
    model.on("change:rows", draw);
    return () => model.off("change:rows", draw);
  },
};
