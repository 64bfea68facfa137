const DASHES = [[], [2, 3], [7, 4], [12, 4], [7, 3, 2, 3], [12, 3, 2, 3]];
function short(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "bytes") {
    for (const [name, size] of [["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]])
      if (Math.abs(value) >= size) return (value / size).toFixed(1).replace(/\.0$/, "") + name;
    return value.toFixed(0);
  }
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2);
}
function nice(least, unit) {
  if (unit === "bytes") return 2 ** Math.ceil(Math.log2(Math.max(least, 1)));
  const tens = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((factor) => factor * tens >= least) * tens;
}
export default () => {
  let times = [], columns = [], listeners = new Set(), seq = 0;
  const clear = (model) => { times = []; columns = model.get("names").map(() => []); };
  const add = (time, values) => {
    times.push(time);
    columns.forEach((column, i) => column.push(values[i] ?? null));
    if (times.length > KEPT + 500) {
      times.splice(0, 500);
      columns.forEach((column) => column.splice(0, 500));
    }
  };
  return {
    initialize({ model }) {
      clear(model);
      model.on("msg:custom", (message) => {
        if (message.kind === "reset") { clear(model); seq = 0; }
        if (message.kind === "history") { clear(model); message.samples.forEach(([t, v]) => add(t, v)); }
        if (message.kind === "sample") add(message.time, message.values);
        if (message.seq) seq = message.seq;
        listeners.forEach((draw) => draw());
      });
      model.send({ kind: "history?" });
    },
    render({ model, el }) {
      el.classList.add("kitlib-live");
      el.style.cssText = "width:100%;min-width:0";
      const title = document.createElement("div"), canvas = document.createElement("canvas");
      const legend = document.createElement("ul"), help = document.createElement("div");
      title.style.cssText = "font-weight:600;font-size:15px;margin:.3em 0";
      canvas.className = "kitlib-canvas";
      canvas.tabIndex = 0;
      canvas.dataset.lmSuppressShortcuts = "true";
      canvas.style.cssText = "width:100%;height:300px;display:block";
      legend.style.cssText = "list-style:none;margin:.3em 0;padding:0;display:flex;flex-wrap:wrap;gap:.1em 1.2em;font-size:12px";
      help.textContent = "On the picture: + and − zoom, ← and → move, space pauses, Home goes back to now.";
      help.style.cssText = "font-size:11px;opacity:.75";
      el.append(title, canvas, legend, help);
      let due = 0, acked = 0, ackDue = 0, back = 0, frozen = null, drawn = 0;
      const room = () => model.get("window");
      const end = () => (frozen ?? times[times.length - 1] ?? 0) - back;
      const scene = () => {
        due = 0;
        const names = model.get("names"), unit = model.get("unit"), limits = model.get("limits");
        const dense = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
        if (!width) return;
        if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
          canvas.width = Math.round(width * dense);
          canvas.height = Math.round(height * dense);
        }
        const pen = canvas.getContext("2d"), ink = getComputedStyle(el).color;
        pen.setTransform(dense, 0, 0, dense, 0, 0);
        pen.clearRect(0, 0, width, height);
        pen.font = "11px system-ui, sans-serif";
        const last = end(), first = last - room(), left = 62, right = 10, top = 10, bottom = 26;
        let from = times.findIndex((t) => t >= first);
        if (from > 0) from -= 1;
        if (from < 0) from = Math.max(times.length - 1, 0);
        let to = times.length;
        while (to > from && times[to - 1] > last + 1e-9) to -= 1;
        let high = 0;
        for (const value of Object.values(limits)) high = Math.max(high, value);
        for (const column of columns) for (let i = from; i < to; i++) if (column[i] > high) high = column[i];
        high = high * 1.06 || 1;
        const step = nice(high / 4, unit);
        const x = (t) => left + ((t - first) / room()) * (width - left - right);
        const y = (v) => height - bottom - (v / high) * (height - top - bottom);
        pen.strokeStyle = "rgba(128,128,128,.3)";
        pen.fillStyle = ink;
        pen.lineWidth = 1;
        pen.textAlign = "right";
        for (let value = 0; value <= high; value += step) {
          pen.beginPath();
          pen.moveTo(left, y(value));
          pen.lineTo(width - right, y(value));
          pen.stroke();
          pen.fillText(short(value, unit), left - 6, y(value) + 4);
        }
        pen.textAlign = "center";
        for (let i = 0; i <= 5; i++) {
          const t = first + (room() * i) / 5;
          if (t >= -1e-9) pen.fillText(t.toFixed(room() < 10 ? 1 : 0) + " s", Math.min(x(t), width - right - 14), height - 8);
        }
        pen.save();
        pen.beginPath();
        pen.rect(left, top - 4, width - left - right, height - top - bottom + 8);
        pen.clip();
        pen.textAlign = "left";
        pen.setLineDash([6, 4]);
        const said = new Map(); // a line has the colour of its series, one of several series that of limits
        for (const [name, value] of Object.entries(limits)) said.set(value, [...(said.get(value) || []), name]);
        let above = Infinity;
        for (const [value, whose] of [...said].sort((one, other) => other[0] - one[0])) {
          const at = names.indexOf(whose[0]);
          pen.strokeStyle = pen.fillStyle = whose.length === 1 && at >= 0 ? PALETTE[at % PALETTE.length] : LIMIT;
          pen.beginPath();
          pen.moveTo(left, y(value));
          pen.lineTo(width, y(value));
          pen.stroke();
          let place = left + 4;
          if (Math.abs(above - y(value)) < 14) place += 260; // two lines that lie close together: their names side by side
          above = y(value);
          pen.fillStyle = ink;
          pen.fillText("limit of " + (whose.length > 2 ? whose.length + " series" : whose.join(", ")) + ": " + short(value, unit), place, y(value) - 4);
        }
        pen.lineWidth = 1.8;
        columns.forEach((column, n) => {
          pen.strokeStyle = PALETTE[n % PALETTE.length];
          pen.setLineDash(DASHES[Math.floor(n / PALETTE.length) % DASHES.length]);
          pen.beginPath();
          if (to - from === 1 && column[from] !== null && column[from] !== undefined) { // one sample alone has no line
            pen.fillStyle = pen.strokeStyle;
            pen.arc(Math.min(x(times[from]), width - right - 4), y(column[from]), 4, 0, 2 * Math.PI);
            pen.fill();
            return;
          }
          let down = false;
          for (let i = from; i < to; i++) {
            if (column[i] === null) { down = false; continue; }
            if (down) pen.lineTo(x(times[i]), y(column[i]));
            else pen.moveTo(x(times[i]), y(column[i]));
            down = true;
          }
          pen.stroke();
        });
        pen.restore();
        drawn += 1;
        canvas.dataset.drawn = drawn;
        canvas.dataset.samples = times.length;
        canvas.dataset.paused = String(frozen !== null);
        title.textContent = model.get("heading") + (frozen !== null ? " (paused)" : "");
        const newest = times.length - 1;
        names.forEach((name, n) => {
          let item = legend.children[n];
          if (!item) {
            item = document.createElement("li");
            const key = document.createElement("span"), text = document.createElement("span");
            key.style.cssText = "display:inline-block;width:1.8em;height:0;vertical-align:middle;margin-right:.4em";
            item.append(key, text);
            legend.append(item);
          }
          const style = ["solid", "dotted", "dashed"][Math.floor(n / PALETTE.length) % 3];
          item.firstChild.style.borderTop = "3px " + style + " " + PALETTE[n % PALETTE.length];
          const text = name + " " + short(columns[n]?.[newest], unit);
          if (item.lastChild.textContent !== text) item.lastChild.textContent = text;
        });
        while (legend.children.length > names.length) legend.lastChild.remove();
        if (!ackDue && seq !== acked)
          ackDue = setTimeout(() => { ackDue = 0; acked = seq; model.send({ kind: "drawn", seq: acked }); }, 400);
      };
      const draw = () => { if (!due) due = requestAnimationFrame(scene); };
      const zoom = (factor) => {
        model.set("window", Math.min(600, Math.max(2, room() * factor)));
        model.save_changes();
      };
      canvas.addEventListener("keydown", (event) => {
        const acts = {
          "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
          ArrowLeft: () => { frozen ??= times[times.length - 1] ?? 0; back += room() / 10; },
          ArrowRight: () => { back = Math.max(0, back - room() / 10); },
          " ": () => { frozen = frozen === null ? times[times.length - 1] ?? 0 : null; back = 0; },
          Home: () => { frozen = null; back = 0; },
        };
        if (!acts[event.key]) return;
        acts[event.key]();
        event.preventDefault();
        event.stopPropagation();
        draw();
      });
      canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8);
      }, { passive: false });
      const size = new ResizeObserver(draw);
      size.observe(canvas);
      listeners.add(draw);
      const changes = "change:window change:limits change:names change:heading change:unit";
      model.on(changes, draw);
      draw();
      return () => {
        clearTimeout(ackDue);
        cancelAnimationFrame(due);
        listeners.delete(draw);
        size.disconnect();
        model.off(changes, draw);
      };
    },
  };
};
