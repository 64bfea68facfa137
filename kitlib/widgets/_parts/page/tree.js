// The rows come as HTML, escaped by the kernel's side; here what was open stays open, and what has changed flashes.
function flash(node) {
  node.classList.remove("kitlib-flash");
  void node.offsetWidth;
  node.classList.add("kitlib-flash");
  setTimeout(() => node.classList.remove("kitlib-flash"), 1700);
}
const rowsOf = (holder) => new Map([...holder.querySelectorAll("details[data-path]")].map((row) => [row.dataset.path, row]));
const cellsOf = (row) => new Map([...row.querySelectorAll(":scope>summary [data-file]")].map((cell) => [cell.dataset.file, cell]));
export default {
  render({ model, el }) {
    const sheet = document.createElement("style"), place = document.createElement("div");
    sheet.textContent = STYLE;
    place.className = "kit-tree";
    place.style.cssText = "max-height:80em;overflow:auto";
    place.tabIndex = 0;
    place.setAttribute("role", "region");
    place.setAttribute("aria-label", "cgroup tree, scrolls");
    place.dataset.lmSuppressShortcuts = "true";
    el.append(sheet, place);
    const chosen = new Map(); // path -> whether the reader has opened or closed it
    place.addEventListener("toggle", (event) => {
      const path = event.target.dataset?.path;
      if (path && event.target.dataset.by !== "page") chosen.set(path, event.target.open);
      delete event.target.dataset?.by;
    }, true);
    let first = true;
    const draw = () => {
      const before = rowsOf(place), top = place.scrollTop, held = document.activeElement?.closest?.("[data-path]")?.dataset.path;
      const next = document.createElement("template");
      next.innerHTML = model.get("body");
      const rows = rowsOf(next.content);
      if (!rows.size) {
        next.innerHTML = "<p class=\"kitlib-empty\">Nothing to show here: no file differs, or the filters leave nothing over.</p>";
      }
      const changed = [];
      for (const [path, row] of rows) {
        const old = before.get(path), cells = old && cellsOf(old);
        if (chosen.has(path) && row.open !== chosen.get(path)) row.open = chosen.get(path);
        if (row.open) row.dataset.by = "page";
        if (!old) { if (!first) changed.push(row.firstElementChild); continue; }
        for (const [file, cell] of cellsOf(row)) {
          const was = cells.get(file);
          if (was && was.textContent !== cell.textContent) changed.push(cell);
        }
      }
      place.replaceChildren(next.content);
      place.scrollTop = top;
      if (held) rowsOf(place).get(held)?.firstElementChild.focus({ preventScroll: true });
      changed.forEach(flash);
      first = false;
    };
    draw();
    model.on("change:body", draw);
    return () => model.off("change:body", draw);
  },
};
