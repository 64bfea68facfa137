// What happened when: a lane for each pod, a mark for each entry, marks of one moment above each other. A click or Enter
// says what a mark means; arrow keys walk through time; the player shows what had happened until a moment.
// Who said it is the sign, in ink; only an end has a hue, and a sign of its own.
const SIGNS = { event: "●", kernel: "■", kubelet: "◆", cgroup: "▲" };
const ENDS = /Killed process|oom-kill|OOMKilled|exit code 137|Evicted|evicting/;
const MARK = 24;
function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
}
function nice(least) {
  const tens = 10 ** Math.floor(Math.log10(least || 1));
  return [1, 2, 5, 10].find((factor) => factor * tens >= least * 0.999) * tens;
}
export default {
  render({ model, el }) {
    el.classList.add("kitlib-lanes");
    el.setAttribute("data-lm-suppress-shortcuts", "true");
    const body = element("div", "kitlib-lanes-body"), axis = element("div", "kitlib-lanes-axis");
    const legend = element("ul", "kitlib-legend"), status = element("p", "kitlib-board-status");
    const empty = element("p", "kitlib-empty", "Nothing has happened yet. Let time pass.");
    body.setAttribute("role", "group");
    status.setAttribute("role", "status");
    let here = 0, marks = [], width = 0, follows = true;
    const entries = () => model.get("entries");
    let times = [];
    const player = makePlayer({
      count: () => Math.max(times.length, 1), time: (i) => times[i],
      says: (i) => { const n = entries().filter((one) => one.seconds === times[i]).length; return times.length ? `${n} ${n === 1 ? "entry" : "entries"}` : ""; },
      ended: () => true, more: () => {},
      show: (i, told) => { if (told) follows = i === times.length - 1; until(times[i]); },
    });
    el.kitlibPlayer = player;
    el.append(empty, body, axis, player.bar, legend, status);
    for (const [name, sign] of Object.entries({ ...SIGNS, end: "✗" })) {
      const line = element("li"), key = element("i", "", sign);
      key.dataset.sign = sign;
      if (name === "end") key.style.color = "var(--kit-red-text)";
      line.append(key, { end: "killed or evicted", event: "Kubernetes event", kernel: "kernel log", kubelet: "kubelet step", cgroup: "cgroup change" }[name]);
      legend.append(line);
    }
    function until(seconds) {
      for (const [mark, entry] of marks) mark.classList.toggle("kitlib-later", seconds !== undefined && entry.seconds > seconds);
    }
    function draw() {
      const all = entries(), lanes = [...new Set(all.map((one) => one.lane))];
      times = [...new Set(all.map((one) => one.seconds))].sort((one, other) => one - other);
      empty.hidden = all.length > 0;
      body.hidden = axis.hidden = all.length === 0;
      const focused = el.contains(document.activeElement) && document.activeElement.classList.contains("kitlib-mark");
      const first = Math.min(0, times[0] ?? 0), last = Math.max(times[times.length - 1] ?? 1, model.get("now"), first + 1);
      const room = Math.max(60, (body.clientWidth || el.clientWidth) - 150 - MARK);
      const x = (seconds) => ((seconds - first) / (last - first)) * room;
      marks = [];
      body.replaceChildren(...lanes.map((name) => {
        const row = element("div", "kitlib-lane"), track = element("div", "kitlib-lane-track"), ends = [];
        row.append(element("span", "kitlib-lane-name", name), track);
        row.firstChild.title = name;
        for (const entry of all.filter((one) => one.lane === name)) {
          const ends_it = ENDS.test(entry.text), sign = ends_it ? "✗" : SIGNS[entry.source] ?? SIGNS.event;
          const mark = element("button", "kitlib-mark", sign);
          let level = ends.findIndex((end) => end <= x(entry.seconds));
          if (level < 0) level = ends.length < 6 ? ends.length : 5;
          ends[level] = x(entry.seconds) + MARK;
          mark.type = "button";
          mark.style.cssText = `left:${x(entry.seconds)}px;top:${level * (MARK - 2)}px;color:var(--kit-${ends_it ? "red-text" : "ink"})`;
          mark.setAttribute("aria-label", `${entry.seconds} s, ${entry.source}, ${entry.object}: ${entry.text}`);
          mark.title = mark.getAttribute("aria-label");
          track.append(mark);
          marks.push([mark, entry]);
        }
        track.style.height = Math.max(1, ends.length) * (MARK - 2) + 6 + "px";
        return row;
      }));
      marks.sort((one, other) => one[1].seconds - other[1].seconds);
      const step = nice((last - first) / 6), ticks = [];
      for (let at = Math.ceil(first / step) * step; at <= last + 1e-9; at += step) {
        const tick = element("span", "", +at.toFixed(2) + " s");
        tick.style.left = 150 + x(at) + "px";
        ticks.push(tick);
      }
      axis.replaceChildren(...ticks);
      here = Math.min(here, Math.max(marks.length - 1, 0));
      marks.forEach(([mark], i) => { mark.tabIndex = i === here ? 0 : -1; });
      if (focused) marks[here]?.[0].focus();
      player.go(follows ? times.length - 1 : Math.min(player.at, times.length - 1), false);
    }
    function tell(mark) {
      status.textContent = mark?.getAttribute("aria-label") ?? "";
      for (const [one] of marks) one.classList.toggle("kitlib-chosen", one === mark);
    }
    const walk = (to) => {
      marks[here]?.[0].setAttribute("tabindex", -1);
      here = Math.max(0, Math.min(marks.length - 1, to));
      marks[here]?.[0].setAttribute("tabindex", 0);
      marks[here]?.[0].focus();
    };
    body.addEventListener("focusin", (event) => {
      const at = marks.findIndex(([mark]) => mark === event.target);
      if (at >= 0) { marks[here]?.[0].setAttribute("tabindex", -1); here = at; event.target.tabIndex = 0; tell(event.target); }
    });
    body.addEventListener("click", (event) => { const mark = event.target.closest(".kitlib-mark"); if (mark) { mark.focus(); tell(mark); } });
    body.addEventListener("keydown", (event) => {
      const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: marks.length - 1 }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      walk(to);
    });
    const size = new ResizeObserver(() => { if (Math.abs(el.clientWidth - width) > 2) { width = el.clientWidth; draw(); } });
    size.observe(el);
    model.on("change:entries change:now", draw);
    draw();
    return () => { size.disconnect(); player.stop(); model.off("change:entries change:now", draw); };
  },
};
