// The side bar (the clusters of the kernel that is open: nodes, pods, events; the learner's progress) and the status bar.
// The kernel is asked after each of its turns, and every two seconds while the bar is seen; never while it works.
import { kitIcon } from "./commands.js";

const QUESTION = "__import__('kitlib.lab.sidebar', fromlist=['state']).state() if 'kitlib' in __import__('sys').modules else ''";
const EVERY = 2000, REST = 250;
const STYLE = `
.kitlib-panel{overflow:auto;padding:8px 12px;font-size:13px;line-height:1.45;color:var(--jp-ui-font-color1);background:var(--jp-layout-color1)}
.kitlib-panel h3{font-size:12px;margin:14px 0 4px;font-weight:600;color:var(--jp-ui-font-color1)}
.kitlib-panel ul{list-style:none;margin:0;padding:0}
.kitlib-panel li{padding:2px 0;border-bottom:1px solid var(--jp-border-color2);overflow-wrap:anywhere}
.kitlib-panel .state{float:right;margin-left:8px;color:var(--jp-ui-font-color2)}
.kitlib-panel .bad{color:var(--jp-error-color1);font-weight:600}
.kitlib-panel small{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden;color:var(--jp-ui-font-color2)}
.kitlib-panel button{font:inherit;margin-top:8px;padding:4px 10px;border:1px solid var(--jp-border-color1);border-radius:4px;
background:var(--jp-layout-color2);color:inherit;cursor:pointer;text-align:left}
.kitlib-line{line-height:24px;padding:0 4px;font-size:var(--jp-ui-font-size1);color:var(--jp-ui-font-color1)}
.kitlib-panel progress{width:100%;height:8px}`;
const GOOD = new Set(["Running", "Succeeded", "Ready"]);

function element(tag, text = "", kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}
function row(name, state, note) {
  const made = element("li");
  made.append(element("span", state, !state || GOOD.has(state) ? "state" : "state bad"), element("span", name));
  if (note) made.append(element("small", note));
  made.title = note ?? ""; // a long one is cut after two lines
  return made;
}
function list(title, rows) {
  const made = element("ul");
  made.append(...rows);
  made.setAttribute("aria-label", title);
  return rows.length ? [element("h3", title), made] : [];
}

export function addPanel(kit) {
  const { app, modules, tracker, status } = kit;
  if (!tracker || !modules.widgets) return;
  const sheet = element("style", STYLE);
  document.head.append(sheet);
  const { Widget } = modules.widgets;
  const panel = new Widget();
  panel.id = "kitlib-panel";
  panel.addClass("kitlib-panel");
  panel.title.caption = "Cluster and progress";
  panel.title.icon = kitIcon(kit);
  panel.node.setAttribute("role", "region");
  panel.node.setAttribute("aria-label", "Cluster and progress");
  panel.node.tabIndex = 0;
  app.shell.add(panel, "left", { rank: 250 });
  const line = new Widget();
  line.node.textContent = "";
  status?.registerStatusItem("kitlib:kernel", { item: line, align: "left", rank: 90 });
  line.addClass("kitlib-line");

  const draw = (state) => {
    line.node.textContent = state ? `Kubernetes: ${state.kernel}` : "";
    line.node.title = state ? state.why : "";
    const parts = [];
    if (!state) parts.push(element("p", "No cluster yet. Open a notebook of the course and run it; its cluster appears here."));
    for (const cluster of state?.clusters ?? []) {
      parts.push(element("h3", `${cluster.name}: ${cluster.kind}`));
      parts.push(...list("Nodes", cluster.nodes.map((one) => row(one.name, one.state, one.note))));
      parts.push(...list("Pods", cluster.pods.map((one) => row(one.name, one.state, one.note))));
      if (cluster.more) parts.push(element("small", `and ${cluster.more} more pods`));
      parts.push(...list("Events", cluster.events.map((one) => row(one.name, one.state, one.note))));
    }
    if (state?.progress) {
      const { done, of, next, path } = state.progress, bar = element("progress");
      bar.max = of;
      bar.value = done;
      bar.setAttribute("aria-label", "Progress of the course");
      parts.push(element("h3", `Progress: ${done} of ${of} done`), bar);
      if (path) {
        const go = element("button", `Continue: ${next}`);
        go.addEventListener("click", () => app.commands.execute("docmanager:open", { path: folder() + path }));
        parts.push(go);
      }
    }
    panel.node.replaceChildren(...parts);
  };
  const folder = () => {
    const path = tracker.currentWidget?.context.path ?? "";
    const found = /^(.*?)(?:notebooks|labs)\//.exec(path);
    return found ? found[1] : "";
  };
  let shown = "none", asking = false, due = 0;
  const show = (text) => {
    if (text === shown) return;
    shown = text;
    draw(text ? JSON.parse(text) : null);
  };
  const ask = async () => {
    const kernel = tracker.currentWidget?.sessionContext.session?.kernel;
    if (!kernel) return show("");
    if (asking || kernel.status !== "idle") return;
    asking = true;
    try {
      const future = kernel.requestExecute({ code: "", silent: true, store_history: false, user_expressions: { kitlib: QUESTION } });
      const reply = await future.done;
      const told = reply.content.user_expressions?.kitlib;
      const text = told?.status === "ok" ? told.data["text/plain"] : "''";
      show(decode(text));
    } catch {
      // the kernel went: the next one is asked
    } finally {
      setTimeout(() => { asking = false; }, REST); // its own turn changes nothing
    }
  };
  const soon = () => {
    if (asking) return;
    clearTimeout(due);
    due = setTimeout(ask, REST);
  };
  const heard = new WeakSet(); // of a notebook that comes to the front again and again one listener is enough
  tracker.currentChanged.connect((_, current) => {
    soon();
    if (!current || heard.has(current)) return;
    heard.add(current);
    current.sessionContext.statusChanged.connect((_context, now) => now === "idle" && soon());
  });
  setInterval(() => { if (panel.isVisible && document.visibilityState === "visible") ask(); }, EVERY);
  draw(null);
}

// The text of a Python string literal that holds hexadecimal digits: nothing in it needs an escape.
function decode(literal) {
  const digits = literal.replace(/[^0-9a-f]/g, "");
  return new TextDecoder().decode(Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16)));
}
