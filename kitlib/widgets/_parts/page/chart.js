// Bars and boards of marked cells, from the same description that a plotly figure has: only what the kit's charts use.
// Every bar and row keeps its identity, so that a change is seen as a move. Hues become those of the theme.
const PATTERNS = {
  "/": "repeating-linear-gradient(135deg,#0000 0 5px,var(--tone) 5px 6px)",
  "\\": "repeating-linear-gradient(45deg,#0000 0 5px,var(--tone) 5px 6px)",
  x: "repeating-linear-gradient(45deg,#0000 0 5px,var(--tone) 5px 6px),repeating-linear-gradient(135deg,#0000 0 5px,var(--tone) 5px 6px)",
  ".": "radial-gradient(var(--tone) 1.3px,#0000 1.5px) 0 0/6px 6px",
  "+": "repeating-linear-gradient(90deg,#0000 0 6px,var(--tone) 6px 7px)",
};
const hue = (color) => {
  const name = HUES[String(color ?? "").toLowerCase()];
  return name ? `var(--kit-${name})` : color || "var(--kit-blue)";
};
const pick = (value, i) => (Array.isArray(value) ? value[i] : value);
function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined && text !== "") made.textContent = text;
  return made;
}
function put(node, text) { if (node.textContent !== text) node.textContent = text; }
function keep(map, key, make) {
  let found = map.get(key);
  if (!found) map.set(key, (found = make()));
  return found;
}
function arrange(parent, wanted) {
  for (const old of [...parent.children]) if (!wanted.includes(old)) old.remove();
  wanted.forEach((child, i) => { if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null); });
}
function number(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return +(value / 1e6).toFixed(1) + "M";
  if (size >= 1e4) return +(value / 1e3).toFixed(1) + "k";
  return String(+value.toFixed(3));
}
function nice(least) {
  const tens = 10 ** Math.floor(Math.log10(least || 1));
  return [1, 2, 5, 10].find((factor) => factor * tens >= least * 0.999) * tens;
}
const plain = (text) => String(text ?? "").replace(/<br>/g, "\n").replace(/<[^>]*>/g, "");
function hover(trace, values) {
  const template = trace.hovertemplate;
  if (!template) return "";
  return plain(template.replace(/%\{([^}:]+)(?::([^}]*))?\}/g, (_, name, format) => {
    const [, key, index] = /^(\w+)(?:\[(\d+)\])?$/.exec(name) ?? [];
    let value = values[key];
    if (index !== undefined) value = value?.[Number(index)];
    if (typeof value === "number") return format?.includes(",") ? value.toLocaleString("en") : number(value);
    return value ?? "";
  }));
}
// The index of the most frequent element: the legend shows the look of most bars, not of a killed one.
function usual(values) {
  if (!Array.isArray(values)) return 0;
  const count = (value) => values.filter((other) => other === value).length;
  return values.indexOf(values.reduce((best, value) => (count(value) > count(best) ? value : best), values[0]));
}
const isLimit = (trace) => trace.type === "scatter" && /^line-ns/.test(trace.marker?.symbol ?? "");
function panelsOf({ data, layout }) {
  const found = new Map();
  for (const trace of data) {
    if (trace.type !== "bar" && !isLimit(trace)) continue;
    const key = trace.xaxis ?? "x", flat = trace.orientation === "h" || isLimit(trace);
    const panel = keep(found, key, () => ({ key, traces: [], rows: [], flat }));
    panel.traces.push(trace);
    (flat ? trace.y : trace.x).forEach((name) => { if (!panel.rows.includes(String(name))) panel.rows.push(String(name)); });
  }
  for (const panel of found.values()) {
    const suffix = panel.key.slice(1), amounts = layout[(panel.flat ? "xaxis" : "yaxis") + suffix] ?? {};
    const names = layout[(panel.flat ? "yaxis" : "xaxis") + suffix] ?? {};
    if (names.categoryarray) {
      const order = names.categoryarray.map(String);
      panel.rows.sort((one, other) => order.indexOf(one) - order.indexOf(other));
    }
    if (panel.flat && names.autorange !== "reversed") panel.rows.reverse();
    panel.title = amounts.title?.text ?? "";
    panel.stacked = ["stack", "relative"].includes(layout.barmode);
    panel.range = amounts.range;
    panel.whole = amounts.dtick ?? 0;
    const spans = panel.rows.map((row) => {
      let low = 0, high = 0;
      const sums = [0, 0]; // of what is added, and of what is taken away, which lies on the other side of zero
      for (const trace of panel.traces) {
        const i = (panel.flat ? trace.y : trace.x).map(String).indexOf(row);
        const value = i < 0 ? null : (panel.flat ? trace.x : trace.y)[i];
        if (value === null || value === undefined) continue;
        const end = panel.stacked ? (sums[+(value < 0)] += value) : value;
        low = Math.min(low, end);
        high = Math.max(high, end);
      }
      return [low, high];
    });
    panel.low = Math.min(0, ...spans.map((span) => span[0]));
    panel.high = Math.max(0, ...spans.map((span) => span[1])) || 1;
    if (panel.range) [panel.low, panel.high] = [Math.min(panel.low, panel.range[0]), Math.max(panel.high, panel.range[1])];
    panel.at = (value) => (100 * (value - panel.low)) / (panel.high - panel.low);
  }
  return [...found.values()];
}
export default {
  render({ model, el }) {
    el.classList.add("kitlib-chart");
    const plot = element("div", "kitlib-plot"), title = element("p", "kitlib-chart-title");
    const body = element("div", "kitlib-chart-body"), legend = element("ul", "kitlib-legend");
    plot.setAttribute("role", "img");
    plot.append(title, body, legend);
    el.append(plot);
    const panels = new Map(), rows = new Map(), bars = new Map();
    let table = null, shape = "", drawn = 0, due = 0, last = "";
    let turned = false, wide = 0, cellsDrawn = null; // pixels that a table needs as it comes; what it was drawn from
    function drawBars(spec) {
      const shown = [];
      for (const panel of panelsOf(spec)) {
        const node = keep(panels, panel.key, () => {
          const made = element("div", "kitlib-panel");
          made.append(element("div", "kitlib-bars"), element("div", "kitlib-axis"));
          return made;
        });
        const lines = panel.rows.map((name) => barRow(panel, name));
        arrange(node.children[0], lines);
        node.classList.toggle("kitlib-levels", panel.rows.some((name) => name.startsWith("\u2003")));
        axis(panel, node.children[1]);
        shown.push(node);
      }
      arrange(body, shown);
    }
    function barRow(panel, name) {
      const node = keep(rows, panel.key + " " + name, () => {
        const made = element("div", "kitlib-bar-row");
        made.append(element("span", "kitlib-bar-name"), element("div", "kitlib-tracks"));
        return made;
      });
      put(node.children[0], name);
      node.children[0].title = name;
      node.dataset.name = name;
      let track = null;
      const sums = [0, 0];
      const tracks = [];
      panel.traces.forEach((trace, t) => {
        const i = (panel.flat ? trace.y : trace.x).map(String).indexOf(name);
        const value = i < 0 ? null : (panel.flat ? trace.x : trace.y)[i];
        if (!panel.stacked || !track) {
          track = keep(bars, `${panel.key} ${name} ${panel.stacked || samePlace(panel) ? "" : t} track`, () => element("div", "kitlib-track"));
          if (!tracks.includes(track)) tracks.push(track);
        }
        const key = `${panel.key} ${name} ${t}`;
        if (value === null || value === undefined) {
          bars.get(key)?.remove();
          bars.get(key + " text")?.remove();
          return;
        }
        const bar = keep(bars, key, () => element("div", "kitlib-bar"));
        if (bar.parentNode !== track) {
          track.append(bar);
          if (drawn && !calm()) bar.animate([{ transform: "scaleX(0)" }, { transform: "none" }], { duration: 1400, easing: "linear" });
        }
        const side = +(value < 0), from = panel.stacked ? sums[side] : 0, to = from + value;
        sums[side] = to;
        bar.classList.toggle("kitlib-limit", isLimit(trace));
        bar.style.left = panel.at(Math.min(from, to)) + "%";
        bar.style.width = Math.abs(panel.at(to) - panel.at(from)) + "%";
        const color = hue(pick(trace.marker?.color, i)), pattern = PATTERNS[pick(trace.marker?.pattern?.shape, i)];
        const look = (pattern ? pattern + "," : "") + color;
        if (bar.dataset.look !== look) { bar.dataset.look = look; bar.style.background = pattern ? pattern : color; bar.style.backgroundColor = `color-mix(in srgb,${color} var(--kit-fill),var(--kit-ground))`; bar.style.setProperty("--tone", color); }
        bar.dataset.value = value;
        bar.dataset.series = trace.name ?? "";
        bar.title = hover(trace, { x: panel.flat ? value : name, y: panel.flat ? name : value, customdata: pick(trace.customdata, i) })
          || `${name}${trace.name ? ", " + trace.name : ""}: ${number(value)}`;
        const text = pick(trace.text, i);
        const label = keep(bars, key + " text", () => element("span", "kitlib-bar-text"));
        if (label.parentNode !== track) track.append(label);
        put(label, plain(text ?? "").trim());
        label.style.left = panel.at(panel.stacked ? sums[0] : Math.max(to, 0)) + "%";
      });
      if (panel.stacked) {
        const totals = spec_totals.get(name);
        const label = keep(bars, `${panel.key} ${name} total`, () => element("span", "kitlib-bar-text"));
        if (totals && track) { if (label.parentNode !== track) track.append(label); put(label, totals.trim()); label.style.left = panel.at(sums[0]) + "%"; }
        else label.remove();
      }
      arrange(node.children[1], tracks);
      return node;
    }
    const samePlace = (panel) => panel.traces.every((trace, t) => panel.traces.every((other, o) => {
      if (t === o) return true;
      const mine = panel.flat ? trace.y : trace.x, its = panel.flat ? other.y : other.x;
      return !mine.some((name) => its.includes(name)); // each row belongs to one series: one track is enough
    }));
    let spec_totals = new Map();
    function axis(panel, node) {
      const memory = /\bMi\b/.test(panel.title), least = (panel.high - panel.low) / 5; // ticks of memory: powers of two
      const step = memory ? 2 ** Math.ceil(Math.log2(least || 1)) : Math.max(panel.whole, nice(least)), marks = [];
      for (let i = Math.ceil(panel.low / step - 1e-9); i * step <= panel.high + 1e-9; i++) {
        const value = i * step;
        const mark = element("span", "", memory && value && value % 1024 === 0 ? value / 1024 + "Gi" : number(value));
        mark.style.left = panel.at(i * step) + "%";
        marks.push(mark);
      }
      const name = element("em", "", panel.title);
      node.replaceChildren(...marks, ...(panel.title ? [name] : []));
    }
    function layCells(trace) {
      const [down, across] = turned ? [trace.x, trace.y] : [trace.y, trace.x];
      table = element("table", "kitlib-cells");
      const head = table.createTHead().insertRow();
      head.append(element("th"));
      for (const name of across) { const th = element("th", "", String(name)); th.scope = "col"; head.append(th); }
      const inside = table.createTBody();
      for (const name of down) {
        const line = inside.insertRow(), th = element("th", "", String(name));
        th.scope = "row";
        line.append(th);
        for (const _ of across) line.insertCell();
      }
      arrange(body, [table]);
    }
    function fit() { // rows and columns change places where only so there is room
      const room = body.clientWidth;
      if (!cellsDrawn || !table?.isConnected || !room) return;
      const [trace, layout] = cellsDrawn;
      if (!turned && body.scrollWidth > room + 1 && trace.y.length < trace.x.length) wide = body.scrollWidth;
      if (turned === room < wide) return;
      turned = !turned;
      layCells(trace);
      drawTable(trace, layout);
    }
    function drawTable(trace, layout) {
      const frame = (layout.shapes ?? []).find((one) => one.type === "rect");
      const now = JSON.stringify([trace.x, trace.y]), anew = !table || shape !== now;
      cellsDrawn = [trace, layout];
      if (anew) { shape = now; turned = false; wide = 0; layCells(trace); }
      const high = trace.zmax ?? Math.max(...trace.z.flat().filter((v) => v !== null), 1), low = trace.zmin ?? 0;
      trace.z.forEach((row, r) => row.forEach((value, c) => {
        const cell = turned ? table.tBodies[0].rows[c].cells[r + 1] : table.tBodies[0].rows[r].cells[c + 1];
        const part = (value - low) / ((high - low) || 1);
        const stop = [...(trace.colorscale ?? [])].reverse().find(([at]) => part >= at - 1e-9)?.[1];
        put(cell, plain(trace.text?.[r]?.[c] ?? ""));
        const two = (trace.colorscale ?? []).length === 2;
        const tone = value === null ? "transparent" : two && part > 0
          ? `color-mix(in srgb,var(--kit-blue) ${Math.round(12 + 40 * part)}%,var(--kit-ground))`
          : /^rgba/.test(stop ?? "") || !stop ? "var(--kit-raised)" : `color-mix(in srgb,${hue(stop)} var(--kit-tint),var(--kit-ground))`;
        cell.style.background = tone;
        cell.dataset.value = value ?? "";
        cell.title = hover(trace, { x: trace.x[c], y: trace.y[r], z: value, text: trace.text?.[r]?.[c], customdata: trace.customdata?.[r]?.[c] });
        cell.classList.toggle("kitlib-framed", !!frame && c > frame.x0 && c < frame.x1);
      }));
      if (anew) fit();
    }
    function draw() {
      due = 0;
      const text = model.get("spec");
      if (!text || text === last) return;
      last = text;
      const spec = JSON.parse(text), cells = spec.data.find((one) => one.type === "heatmap");
      const before = new Map([...rows].filter(([, node]) => node.isConnected).map(([key, node]) => [key, node.offsetTop]));
      put(title, plain(spec.layout.title?.text));
      const said = spec.layout.meta?.sentence ?? "";
      plot.setAttribute("role", cells ? "group" : "img");
      plot.setAttribute("aria-label", said || plain(spec.layout.title?.text));
      spec_totals = new Map();
      for (const one of spec.data) if (one.type === "scatter" && one.mode === "text")
        one.y.forEach((name, i) => spec_totals.set(String(name), one.text[i]));
      if (cells) drawTable(cells, spec.layout);
      else { table = cellsDrawn = null; shape = ""; drawBars(spec); }
      const named = spec.data.filter((one) => (one.type === "bar" || isLimit(one)) && one.name && one.showlegend !== false);
      const several = new Set(named.map((one) => one.name)).size > 1 || Array.isArray(named[0]?.marker?.color);
      legend.replaceChildren(...(several ? named : []).map((one) => {
        const line = element("li"), key = element("span", "kitlib-key");
        const most = usual(one.marker?.color);
        const color = hue(pick(one.marker?.color, most)), pattern = PATTERNS[pick(one.marker?.pattern?.shape, most)];
        key.style.background = pattern ?? color;
        key.style.backgroundColor = isLimit(one) ? "transparent" : `color-mix(in srgb,${color} var(--kit-fill),var(--kit-ground))`;
        key.style.setProperty("--tone", color);
        if (isLimit(one)) key.className = "kitlib-key kitlib-limit";
        line.append(key, one.name);
        return line;
      }));
      legend.hidden = !several;
      if (drawn && !calm()) for (const [key, node] of rows) {
        const was = before.get(key);
        if (was === undefined || !node.isConnected || was === node.offsetTop) continue;
        node.animate([{ transform: `translateY(${was - node.offsetTop}px)` }, { transform: "none" }], { duration: 450, easing: "ease" });
      }
      drawn += 1;
      plot.dataset.drawn = drawn;
      plot.dispatchEvent(new CustomEvent("kitlib-drawn", { bubbles: true }));
    }
    let frame = 0; // the first change is drawn at once; more of them before the screen shows it are one
    const soon = () => {
      if (due) return;
      if (frame) { due = requestAnimationFrame(draw); return; }
      frame = requestAnimationFrame(() => { frame = 0; });
      draw();
    };
    const size = new ResizeObserver(fit);
    size.observe(body);
    model.on("change:spec", soon);
    draw();
    return () => { size.disconnect(); cancelAnimationFrame(due); cancelAnimationFrame(frame); model.off("change:spec", soon); };
  },
};
