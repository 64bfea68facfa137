// One player for everything that happens in steps: play, pause, step, scrub, speed. The frames are in the page, so that
// nothing waits for the kernel; where there may be more, `more()` asks for the next one.
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
function makePlayer({ count, time, says, show, more, ended }) {
  const bar = document.createElement("div");
  bar.className = "kitlib-player";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "player");
  const button = (text, name, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.title = name;
    made.setAttribute("aria-label", name);
    made.addEventListener("click", act);
    bar.append(made);
    return made;
  };
  let at = 0, timer = 0, waiting = 0;
  const first = button("|◀", "to the start", () => { stop(); go(0); });
  const back = button("◀", "one step back", () => { stop(); go(at - 1); });
  const play = button("▶ Play", "play", () => (timer || waiting ? stop() : run()));
  const next = button("Step ▶", "one step on", () => { stop(); on(); });
  const slide = document.createElement("input");
  slide.type = "range";
  slide.min = 0;
  slide.setAttribute("aria-label", "moment");
  slide.addEventListener("input", () => { stop(); go(Number(slide.value)); });
  const speed = document.createElement("select");
  speed.setAttribute("aria-label", "speed");
  for (const [name, value] of [["½×", 0.5], ["1×", 1], ["2×", 2], ["4×", 4]]) speed.add(new Option(name, value, value === 1, value === 1));
  const said = document.createElement("output");
  said.setAttribute("aria-live", "polite");
  bar.append(slide, speed, said);
  function stop() {
    clearTimeout(timer);
    timer = waiting = 0;
    paint();
  }
  function run() {
    if (at === count() - 1 && ended()) go(0);
    beat();
  }
  function beat() {
    const gap = Math.abs((time(at + 1) ?? at + 1) - (time(at) ?? at));
    timer = setTimeout(() => {
      timer = 0;
      if (on()) beat();
      else { waiting = ended() ? 0 : 1; paint(); }
    }, Math.min(2200, Math.max(700, 500 + gap * 120)) / Number(speed.value));
    paint();
  }
  function on() {
    if (at < count() - 1) { go(at + 1); return true; }
    if (!ended()) more();
    return false;
  }
  function go(to, told = true) {
    at = Math.max(0, Math.min(count() - 1, to));
    show(at, told);
    paint();
  }
  function paint() {
    const last = count() - 1, over = ended();
    bar.hidden = last < 1 && over;
    slide.max = Math.max(last, 0);
    slide.value = at;
    slide.setAttribute("aria-valuetext", `step ${at + 1} of ${last + 1}`);
    first.disabled = back.disabled = at === 0;
    next.disabled = at >= last && over;
    const runs = !!(timer || waiting);
    play.textContent = runs ? "⏸ Pause" : "▶ Play";
    play.setAttribute("aria-label", runs ? "pause" : "play");
    const clock = time(at), text = says(at);
    said.replaceChildren();
    if (clock !== null && clock !== undefined) {
      const b = document.createElement("b");
      b.textContent = (Math.round(clock * 10) / 10) + " s ";
      said.append(b);
    }
    said.append(text);
  }
  return {
    bar, go, paint, stop, says,
    get at() { return at; },
    get count() { return count(); },
    grown() { if (waiting) { waiting = 0; beat(); } },
  };
}
