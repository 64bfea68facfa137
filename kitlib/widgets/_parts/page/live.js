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
  let times = [], columns = [], cells = [], listeners = new Set(), seq = 0;
  const clear = (model) => { times = []; cells = []; columns = model.get("names").map(() => []); };
  const add = (time, values, parts) => {
    times.push(time);
    cells.push(parts ?? null);
    columns.forEach((column, i) => column.push(values[i] ?? null));
    if (times.length > KEPT + 500) {
      times.splice(0, 500);
      cells.splice(0, 500);
      columns.forEach((column) => column.splice(0, 500));
    }
  };
  return {
    initialize({ model }) {
      clear(model);
      model.on("msg:custom", (message) => {
        if (message.kind === "reset") { clear(model); seq = 0; }
        if (message.kind === "history") { clear(model); message.samples.forEach(([t, v, p]) => add(t, v, p)); }
        if (message.kind === "sample") add(message.time, message.values, message.parts);
        if (message.seq) seq = message.seq;
        listeners.forEach((draw) => draw());
      });
      model.send({ kind: "history?" });
    },
    render({ model, el }) {
      el.classList.add("kitlib-live");
      el.style.cssText = "width:100%;min-width:0";
      const title = document.createElement("div"), canvas = document.createElement("canvas");
      const help = document.createElement("div");
      title.style.cssText = "font-weight:600;font-size:15px;margin:.3em 0";
      canvas.className = "kitlib-canvas";
      canvas.tabIndex = 0;
      canvas.dataset.lmSuppressShortcuts = "true";
      canvas.style.cssText = "width:100%;display:block";
      help.textContent = "On the picture: + and − zoom, ← and → move, space pauses, Home goes back to now.";
      help.style.cssText = "font-size:12px;color:var(--kit-soft)";
      el.append(title, canvas, help);
      let due = 0, acked = 0, ackDue = 0, back = 0, frozen = null, drawn = 0;
      const room = () => model.get("window");
      const end = () => (frozen ?? times[times.length - 1] ?? 0) - back;
      const scene = () => {
        due = 0;
        const names = model.get("names"), unit = model.get("unit"), limits = model.get("limits"), requests = model.get("requests");
        const marks = model.get("marks"), comb = unit.startsWith("%"), lane = comb ? LANE - 16 : LANE, head = 26;
        const height = Math.max(1, names.length) * (lane + head) + 26;
        canvas.style.height = height + "px";
        const dense = window.devicePixelRatio || 1, width = canvas.clientWidth;
        if (!width) return;
        if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
          canvas.width = Math.round(width * dense);
          canvas.height = Math.round(height * dense);
        }
        const pen = canvas.getContext("2d"), page = getComputedStyle(el), tone = (name) => page.getPropertyValue("--kit-" + name).trim();
        const ink = tone("ink"), soft = tone("soft"), blue = tone("blue"), line = tone("line"), ground = tone("ground");
        pen.setTransform(dense, 0, 0, dense, 0, 0);
        pen.clearRect(0, 0, width, height);
        const left = 58, right = width - 118, room = model.get("window"), last = end(), now = left + (right - left) * NOW;
        const first = last - room, x = (t) => left + ((t - first) / room) * (now - left);
        let from = times.findIndex((t) => t >= first);
        if (from > 0) from -= 1;
        if (from < 0) from = Math.max(times.length - 1, 0);
        let to = times.length;
        while (to > from && times[to - 1] > last + 1e-9) to -= 1;
        const say = (text, at, y, colour = ink, align = "left", bold = false) => {
          pen.font = (bold ? "600 " : "") + "12px system-ui, sans-serif";
          pen.textAlign = align;
          pen.strokeStyle = ground;
          pen.lineWidth = 3;
          pen.strokeText(text, at, y); // legible over marks
          pen.fillStyle = colour;
          pen.fillText(text, at, y);
        };
        const rule = (x1, y1, x2, y2, colour, weight = 1, dash = []) => {
          pen.strokeStyle = colour;
          pen.lineWidth = weight;
          pen.setLineDash(dash);
          pen.beginPath();
          pen.moveTo(x1, y1);
          pen.lineTo(x2, y2);
          pen.stroke();
          pen.setLineDash([]);
        };
        if (!names.length) say("No cgroup of this kind runs here.", left, 40, soft);
        names.forEach((name, n) => {
          const column = columns[n] ?? [], limit = limits[name], request = requests[name], top = n * (lane + head) + head, floor = top + lane;
          const newest = column[times.length - 1], value = column[to - 1];
          say(name, left, top - 5, ink, "left", true);
          rule(left, floor, right, floor, line);
          if (comb) {
            const high = lane - 4;
            for (let i = Math.max(from, 1); i < to; i++) {
              const part = cells[i]?.[n];
              if (!part) continue;
              const x1 = Math.max(left, x(times[i - 1])), wide = Math.max(1, x(times[i]) - x1 - (x(times[i]) - x1 > 4 ? 1 : 0));
              if (part[1] > 0) {
                pen.fillStyle = tone("orange");
                pen.globalAlpha = 0.3;
                pen.fillRect(x1, floor - high * (part[0] + part[1]), wide, high * part[1]);
                pen.globalAlpha = 1;
                if (wide > 3) rule(x1, floor - high * part[0], x1 + wide, floor - high * (part[0] + part[1]), tone("orange-mark"));
              }
              pen.fillStyle = blue;
              if (part[0] > 0) pen.fillRect(x1, floor - Math.max(2, high * part[0]), wide, Math.max(2, high * part[0]));
            }
            const seen = cells.slice(0, to).filter((_, i) => i && times[i - 1] >= first - 1e-6).map((part) => part?.[n]).filter(Boolean);
            const stopped = seen.filter((part) => part[1] > 0).length, tint = stopped ? tone("orange-text") : ink;
            say(!seen.length ? "–" : stopped ? `stopped in ${stopped}` : "never stopped", right + 6, floor - lane / 2, tint);
            if (stopped) say(`of ${seen.length} readings`, right + 6, floor - lane / 2 + 15, tint);
            return;
          }
          let high = Math.max(limit ?? 0, request ?? 0);
          for (let i = from; i < to; i++) if (column[i] > high) high = column[i];
          high = high * 1.1 || 1;
          const y = (v) => floor - (v / high) * lane, step = nice(high / 2, unit);
          for (let tick = step; tick < high; tick += step) {
            rule(left, y(tick), right, y(tick), line);
            say(short(tick, unit), left - 6, y(tick) + 4, soft, "right");
          }
          let run = [];
          const finish = () => {
            if (!run.length) return;
            if (run.length === 1) run.push([run[0][0] + 2, run[0][1]]);
            const area = () => {
              pen.beginPath();
              run.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)));
              pen.lineTo(run[run.length - 1][0], floor);
              pen.lineTo(run[0][0], floor);
              pen.closePath();
            };
            pen.save();
            area();
            pen.clip();
            pen.globalAlpha = 0.4;
            pen.fillStyle = blue;
            pen.fillRect(left, request ? y(request) : top, right - left, lane + 2);
            if (request && y(request) > top) {
              pen.globalAlpha = 0.16;
              pen.fillRect(left, top, right - left, y(request) - top);
              pen.globalAlpha = 1;
              for (let at = left - lane; at < right; at += 7) rule(at, y(request), at + y(request) - top, top, blue, 1.5);
            }
            pen.restore();
            pen.globalAlpha = 1;
            pen.strokeStyle = blue;
            pen.lineWidth = 1.8;
            pen.beginPath();
            run.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)));
            pen.stroke();
            run = [];
          };
          for (let i = from; i < to; i++) {
            const died = marks.some((one) => one.name === name && one.sign === "end" && one.time > (times[i - 1] ?? -1) && one.time <= times[i]);
            if (column[i] === null || column[i] === undefined || died) finish();
            if (column[i] === null || column[i] === undefined) continue;
            const px = Math.max(left, x(times[i])), py = y(column[i]);
            if (unit !== "bytes" && run.length) run.push([run[run.length - 1][0], py]); // a rate holds over its interval
            run.push([px, py]);
          }
          finish();
          const reached = limit && value >= 0.995 * limit;
          if (limit) {
            rule(left, y(limit), right, y(limit), reached ? tone("orange-mark") : ink, reached ? 3.5 : 2);
            say("limit " + short(limit, unit), right + 6, y(limit) + 4, ink, "left", true);
          }
          if (newest !== null && newest !== undefined) {
            const at = Math.max(top + 10, Math.min(floor, y(value ?? newest) + 4));
            say(short(value ?? newest, unit), right + 6, limit && at < y(limit) + 18 ? y(limit) + 19 : at, reached ? tone("orange-text") : ink);
          }
          let free = left;
          for (const one of marks.filter((mark) => mark.name === name && mark.time >= first && mark.time <= last)) {
            const px = x(one.time), py = limit ? y(limit) : top + 8;
            rule(px - 6, py - 6, px + 6, py + 6, tone("red"), 3);
            rule(px - 6, py + 6, px + 6, py - 6, tone("red"), 3);
            if (px > free) { say(one.words, px + 8, py + 15, tone("red-text")); free = px + 76; }
          }
        });
        for (let i = 0; i <= 5; i++) {
          const t = first + (room * i) / 5;
          if (t >= -1e-9) say(t.toFixed(room < 10 ? 1 : 0) + " s", Math.max(x(t), left), height - 8, soft, i === 5 ? "center" : "center");
        }
        rule(now, head - 4, now, height - 26, ink, 1, [2, 3]);
        say("now", now, 11, soft, "center");
        drawn += 1;
        canvas.dataset.drawn = drawn;
        canvas.dataset.samples = times.length;
        canvas.dataset.paused = String(frozen !== null);
        title.textContent = model.get("heading") + (frozen !== null ? " (paused)" : "");
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
      const changes = "change:window change:limits change:requests change:marks change:names change:heading change:unit";
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
