const SVG = "http://www.w3.org/2000/svg";
const LETTERS = "kitlib-start";
function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const signed = (number) => String(number).replace("-", "−");
const memory = (mib) => (mib ? mib + " MiB" : "nothing");

// A notebook of the course: the kit's JupyterLab extension opens it beside this one, else the address of the front end does.
function href(path) {
  const here = location.pathname + location.search;
  const found = /^(.*?\/)(lab\/tree|notebooks|doc\/tree|voila\/render)\/(.*)$/.exec(location.pathname);
  if (found) {
    const folder = decodeURIComponent(found[3]).split("/").slice(0, -2);
    return found[1] + found[2] + "/" + [...folder, path].map(encodeURI).join("/");
  }
  const lite = /^(.*\/)(?:lab|notebooks|tree|repl)\/(?:index\.html)?\?/.exec(here);
  if (lite) return lite[1] + "lab/index.html?path=" + encodeURIComponent(path);
  const lab = /^(.*?\/)lab(?:\/|$)/.exec(location.pathname);
  return lab ? lab[1] + "lab/tree/" + encodeURI(path) : null;
}
function link(path, ...children) {
  const open = (event) => {
    const asked = new CustomEvent("kitlib:open", { bubbles: true, cancelable: true, detail: { path } });
    if (!event.currentTarget.dispatchEvent(asked)) event.preventDefault();
  };
  return h("a", { href: href(path) ?? "#", onclick: open, title: path }, ...children);
}

// Width of a scene in its own units: on a phone half as many, so that letters keep their size.
const units = () => (matchMedia("(max-width: 480px)").matches ? 380 : 760);

// The node: its memory from left to right, one bar a pod, to scale.
function nodeBar(scene) {
  const width = units(), height = 108, left = 2, room = width - 4;
  const x = (mib) => (mib / scene.capacity) * room;
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: LETTERS + "-node", role: "img" });
  const defs = s("defs");
  defs.append(
    s("pattern", { id: LETTERS + "-more", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect", { width: 3.5, height: 7, class: "more" })),
  );
  svg.append(defs, s("rect", { x: left, y: 30, width: room, height: 58, rx: 6, class: "frame" }));
  const groups = new Map();
  let at = left;
  for (const pod of scene.pods) {
    const wide = x(pod.uses), group = s("g", { class: "pod " + pod.name });
    group.style.transform = `translate(${at}px, 30px)`;
    group.append(s("rect", { x: 1, y: 1, width: Math.max(wide - 2, 4), height: 56, rx: 4 }));
    const name = s("text", wide > 60 ? { x: 10, y: 25 } : { x: wide / 2, y: -8, "text-anchor": "middle" });
    name.textContent = pod.name;
    const uses = s("text", wide > 60 ? { x: 10, y: 44, class: "small" } : { x: wide / 2, y: 34, class: "small", "text-anchor": "middle" });
    uses.textContent = wide > 60 ? pod.uses + " MiB" : wide > 12 ? pod.uses : "";
    group.append(name, uses);
    if (pod.name === scene.grows) {
      const more = s("rect", { x: wide - 1, y: 1, width: x(scene.more), height: 56, class: "growth" });
      more.style.fill = `url(#${LETTERS}-more)`;
      group.append(more);
    }
    svg.append(group);
    groups.set(pod.name, { group, at, wide });
    at += wide;
  }
  const axis = s("text", { x: left, y: 104, class: "small soft" }), end = s("text", { x: width - 2, y: 104, class: "small soft", "text-anchor": "end" });
  axis.textContent = "0";
  end.textContent = `${scene.capacity} MiB for pods`;
  svg.append(axis, end);
  const still = (text) => svg.setAttribute("aria-label", text);
  still(`The node's ${scene.capacity} MiB for pods, to scale: ` + scene.pods.map((p) => `${p.name} uses ${p.uses} MiB`).join(", ") + ".");
  return {
    svg,
    grow() { svg.classList.add("grows"); },
    kill(name) {
      const dead = groups.get(name);
      if (!dead) return;
      dead.group.classList.add("dead");
      for (const one of groups.values())
        if (one.at > dead.at) one.group.style.transform = `translate(${one.at - dead.wide}px, 30px)`;
      still(`${name} was killed. Its memory is free, and ${scene.grows} has grown by ${scene.more} MiB.`);
    },
    reset() {
      svg.classList.remove("grows");
      for (const one of groups.values()) {
        one.group.classList.remove("dead");
        one.group.style.transform = `translate(${one.at}px, 30px)`;
      }
    },
  };
}

function ranking(outcome) {
  const high = Math.max(...outcome.ranking.map((rank) => rank.points));
  const body = h("tbody");
  for (const rank of outcome.ranking) {
    const bar = h("div", { class: "points" });
    bar.style.width = (Math.max(0, rank.points) / high) * 75 + "%";
    body.append(
      h("tr", { class: rank.name === outcome.killed ? "killed" : "" },
        h("th", { scope: "row" }, rank.name),
        h("td", { class: "figure" }, rank.uses + " MiB"),
        h("td", { class: "figure" }, signed(rank.adj) + " ‰"),
        h("td", { class: "figure" }, signed(rank.points) + " MiB"),
        h("td", { class: "bar" }, bar, rank.name === outcome.killed ? h("b", {}, "killed") : null)),
    );
  }
  const head = ["pod", "uses", "oom_score_adj", "points", ""].map((name) => h("th", { scope: "col" }, name));
  return h("table", {}, h("caption", {}, "What the kernel compares"), h("thead", {}, h("tr", {}, ...head)), body);
}

function killScene(model) {
  const scene = model.get("scene"), bar = nodeBar(scene);
  let guess = "";
  const cards = scene.pods.map((pod) =>
    h("button", { type: "button", class: "pod " + pod.name, "aria-pressed": "false", onclick: () => choose(pod.name) },
      h("b", {}, pod.name), h("span", {}, pod.qos),
      h("span", {}, "requests " + memory(pod.requests)), h("span", {}, "uses " + memory(pod.uses))));
  const run = h("button", { type: "button", class: "go", disabled: true, onclick: go }, `Let ${scene.grows} grow`);
  const hint = h("span", { class: "hint" }, "Click the pod that you expect to be killed.");
  const result = h("div", { class: "result", role: "status" });
  function choose(name) {
    guess = name;
    cards.forEach((card, i) => card.setAttribute("aria-pressed", String(scene.pods[i].name === name)));
    run.disabled = false;
    hint.textContent = `Your guess: ${name}.`;
    model.send({ kind: "guess", value: name });
    if (result.childElementCount) { result.replaceChildren(); bar.reset(); }
  }
  function go() {
    run.disabled = true;
    bar.reset();
    result.replaceChildren();
    hint.textContent = "The pods start, and " + scene.grows + " grows …";
    bar.grow();
    model.send({ kind: "run" });
  }
  function show() {
    const outcome = model.get("outcome");
    if (!outcome.ranking) return;
    const tell = () => {
      bar.kill(outcome.killed);
      run.disabled = false;
      hint.textContent = "";
      const [verdict, ...why] = outcome.why;
      const log = outcome.log
        ? h("details", {}, h("summary", {}, "The kernel's own line"), h("pre", { tabindex: "0" }, outcome.log)) : null;
      result.replaceChildren(
        h("p", { class: "verdict " + (outcome.right ? "right" : "wrong") }, verdict),
        ...why.map((sentence) => h("p", {}, sentence)), ranking(outcome), log ?? "",
        h("p", { class: "soft" }, outcome.kernel + ". Try another guess, or go on: ", link(scene.lesson.path, scene.lesson.title), "."));
    };
    calm() ? tell() : setTimeout(tell, 1100);
  }
  const meter = h("progress", { max: 1, "aria-label": "Progress" }), step = h("span", {});
  const wait = h("div", { class: "wait", role: "status", hidden: true }, meter, step);
  model.on("change:progress", () => {
    const { text, part } = model.get("progress");
    wait.hidden = !text;
    step.textContent = text ?? "";
    if (part === null || part === undefined) meter.removeAttribute("value"); // no figure is known: it moves
    else meter.value = part;
  });
  model.on("change:outcome", show);
  const box = h("section", { "aria-labelledby": LETTERS + "-kill" },
    h("h2", { id: LETTERS + "-kill" }, "Four pods, one full node"),
    h("p", {}, scene.question.replace(/ Whom.*/, ""), " ", h("b", {}, "Whom does the kernel kill?")),
    bar.svg, h("div", { class: "pods", role: "group", "aria-label": "Your guess" }, ...cards),
    h("div", { class: "act" }, run, hint), wait, result);
  const resume = (kept) => { if (kept.guess) choose(kept.guess); if (kept.guess && kept.run) go(); };
  return { box, resume, failed: () => { run.disabled = !guess; hint.textContent = ""; bar.reset(); } };
}

function throttleScene(model) {
  const scene = model.get("scene"), periods = 4, width = units(), lane = 30;
  const svg = s("svg", { viewBox: `0 0 ${width} ${scene.processors * (lane + 8) + 26}`, class: LETTERS + "-ribbon", role: "img" });
  const said = h("p", { role: "status" }, "Move the slider: the kernel answers.");
  const shown = h("output", {}, scene.first + "m");
  const slider = h("input", { type: "range", min: 100, max: scene.processors * 1000, step: 100, value: scene.first, "aria-label": "CPU limit in milli-CPU" });
  let waiting = false, wanted = null;
  function draw(runs, stale) {
    svg.replaceChildren();
    const one = width / periods;
    svg.classList.toggle("stale", stale);
    for (let cpu = 0; cpu < scene.processors; cpu++) {
      for (let period = 0; period < periods; period++) {
        const y = cpu * (lane + 8), at = period * one, part = Math.min(1, runs / 100) * one;
        svg.append(s("rect", { x: at + 1, y, width: Math.max(one - 2, 0), height: lane, rx: 3, class: "stopped" }));
        svg.append(s("rect", { x: at + 1, y, width: Math.max(part - 2, 1), height: lane, rx: 3, class: "runs" }));
      }
      const name = s("text", { x: 8, y: cpu * (lane + 8) + 20, class: "cpu" });
      name.textContent = "CPU " + cpu;
      svg.append(name);
    }
    for (let period = 0; period <= periods; period++) {
      const tick = s("text", { x: Math.min(period * one + 2, width - 2), y: scene.processors * (lane + 8) + 14, class: "small soft", "text-anchor": period === periods ? "end" : "start" });
      tick.textContent = period * 100 + (period === periods || width > 400 ? " ms" : "");
      svg.append(tick);
    }
  }
  function send() {
    if (waiting) return;
    waiting = true;
    model.send({ kind: "limit", value: wanted });
  }
  slider.addEventListener("input", () => {
    wanted = +slider.value;
    shown.textContent = wanted + "m";
    slider.setAttribute("aria-valuetext", wanted + " milli-CPU");
    draw(Math.min(100, wanted / 10 / scene.processors), true); // the rule's answer at once, the kernel's follows
    send();
  });
  model.on("change:reading", () => {
    const reading = model.get("reading");
    waiting = false;
    if (wanted !== null && wanted !== reading.limit) return send();
    draw(reading.runs_ms, false);
    svg.setAttribute("aria-label", reading.sentence);
    said.textContent = reading.sentence;
  });
  draw(scene.first / 10 / scene.processors, true);
  svg.setAttribute("aria-label", "Four periods of 100 ms on each CPU: filled where the pod runs.");
  const box = h("section", { "aria-labelledby": LETTERS + "-throttle" },
    h("h2", { id: LETTERS + "-throttle" }, "Slow on an idle node"),
    h("p", {}, "One pod, two busy threads, nothing else on the node. Drag its CPU limit."),
    h("label", { class: "limit" }, h("span", {}, "resources.limits.cpu"), slider, shown), svg,
    h("p", { class: "legend" }, h("span", { class: "key runs" }), "runs", h("span", { class: "key stopped" }), "stands still until the next period"),
    said);
  return { box, failed: () => { waiting = false; } };
}

function courseMap(model) {
  const box = h("section", { "aria-labelledby": LETTERS + "-map" });
  const STATE = { new: "", begun: "begun", done: "done ✓" };
  const card = (one) => {
    const reached = one.of && one.state !== "new" ? `${+one.done.toFixed(1)} of ${one.of} ${one.kind === "lab" ? "points" : "right"}` : "";
    const meter = h("div", { class: "meter", "aria-hidden": "true" }, h("i", {}));
    meter.firstChild.style.width = (one.of ? Math.min(1, one.done / one.of) * 100 : 0) + "%";
    const facts = [one.stars ? "★".repeat(one.stars) : "", one.minutes + " min", STATE[one.state], reached].filter(Boolean).join(" · ");
    const made = link(one.path, h("b", {}, name(one)), h("span", {}, one.question), h("small", {}, facts), meter);
    made.className = "card " + one.state;
    return made;
  };
  const name = (one) => (one.kind === "lab" ? "Lab " : "") + one.number + " · " + one.title;
  const step = (stop, one) => h("li", {}, link(stop.path, name(one)),
    h("small", {}, [stop.minutes + " min", `until “${stop.until}”`, STATE[stop.state]].filter(Boolean).join(" · ")));
  const group = (title, before, cards) => {
    const notebooks = cards.filter((one) => one.kind === "notebook"), labs = cards.filter((one) => one.kind === "lab");
    const hours = (some) => { // to the next half hour
      const half = Math.max(1, Math.round(some.reduce((sum, one) => sum + one.minutes, 0) / 30));
      return (half > 1 ? Math.floor(half / 2) : "") + (half % 2 ? "½" : "") + " h";
    };
    const done = cards.filter((one) => one.state === "done").length;
    return [h("h3", {}, title),
      h("p", { class: "soft" }, [notebooks.length ? "Notebooks " + hours(notebooks) : "", "labs " + hours(labs), "before it: " + before,
        done ? `${done} of ${cards.length} done` : ""].filter(Boolean).join(" · ")),
      h("div", { class: "cards" }, ...cards.map(card))];
  };
  const draw = () => {
    const { cards, groups, path, continue: on } = model.get("course");
    const at = new Map(cards.map((one) => [one.path, one]));
    const next = cards.find((one) => one.path === on);
    const begun = cards.some((one) => one.state !== "new");
    const done = cards.filter((one) => one.state === "done").length;
    const walked = path.every((stop) => stop.state === "done");
    const go = next ? link(next.path, (begun ? "Continue: " : "Begin: ") + name(next)) : null;
    if (go) go.className = "go";
    box.replaceChildren(
      h("h2", { id: LETTERS + "-map" }, "The course"),
      h("p", { class: "act" }, go ?? h("b", {}, "Everything is done."), h("span", { class: "hint" }, `${done} of ${cards.length} done`)),
      h("h3", {}, "Ninety minutes"),
      h("p", { class: "soft" }, `${path.length} stops, ${path.reduce((sum, stop) => sum + stop.minutes, 0)} minutes: each notebook from its beginning to the named section`),
      walked ? h("p", {}, h("b", {}, "The ninety minutes are done. "), "Go on with a group that suits your work.") : "",
      h("ol", { class: "path" }, ...path.map((stop) => step(stop, at.get(stop.path)))),
      ...groups.flatMap(({ title, before, paths }) => group(title, before, paths.map((one) => at.get(one)))));
  };
  model.on("change:course", draw);
  draw();
  return box;
}

function kernelBox(model) {
  const chip = h("p", { class: "kernel" });
  const draw = () => {
    const kernel = model.get("kernel"), get = h("span", {});
    get.innerHTML = kernel.get; // the kit's own sentence
    chip.replaceChildren(h("b", { class: kernel.real ? "real" : "" }, kernel.title), " answers here. ", kernel.how, " ", get);
  };
  model.on("change:kernel", draw);
  draw();
  return chip;
}

const startPage = {
  render({ model, el }) {
    if (!document.getElementById(LETTERS + "-style")) {
      const sheet = h("style", { id: LETTERS + "-style" });
      sheet.textContent = STYLE;
      document.head.append(sheet);
    }
    el.classList.add(LETTERS);
    // Keys of the page are the page's; Jupyter's command mode would take arrows and letters. See access.js.
    const guard = (event) => {
      const theirs = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && event.key === "Enter");
      if (el.contains(event.target)) event.target.toggleAttribute("data-lm-suppress-shortcuts", !theirs);
    };
    window.addEventListener("keydown", guard, true);
    const problem = h("p", { class: "problem", role: "alert" });
    const kill = killScene(model), throttle = throttleScene(model);
    const failed = () => {
      problem.textContent = model.get("problem");
      if (model.get("problem")) { kill.failed(); throttle.failed(); }
    };
    model.on("change:problem", failed);
    el.append(h("h1", {}, "What happens to a pod?"), kernelBox(model), kill.box, problem, throttle.box, courseMap(model));
    const seen = () => { if (document.visibilityState === "visible") model.send({ kind: "map" }); };
    document.addEventListener("visibilitychange", seen);
    const shown = new IntersectionObserver((entries) => { if (entries.some((one) => one.isIntersecting)) seen(); });
    shown.observe(el.lastChild);
    model.send({ kind: "hello" });
    if (window.kitlibFirst && !window.kitlibFirst.contains(el)) kill.resume(window.kitlibKept ?? {}); // guessed before Python was there
    return () => {
      shown.disconnect();
      window.removeEventListener("keydown", guard, true);
      document.removeEventListener("visibilitychange", seen);
    };
  },
};
export default startPage;
