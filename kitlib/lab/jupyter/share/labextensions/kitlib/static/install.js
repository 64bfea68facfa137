// In the browser site there is no server: Python runs in the page. Before a notebook's first cell the kit and what it needs
// are loaded from the site's own wheels, a progress bar says so, and a plain message where Python cannot be had.
const NEEDED = [
  ["the object library", ["msgspec", "pyyaml"], "msgspec, yaml"],
  ["widgets", ["comm", "typing-extensions", "jupyterlab_widgets", "ipywidgets", "psygnal", "anywidget"], "anywidget"],
  ["text", ["pygments", "mdurl", "markdown-it-py", "rich"], "rich.console"],
  ["kitlib", ["kitlib"], "kitlib"],
];
const OPTIONAL = [
  ["numpy", ["numpy"], "numpy", "the scheduler, and the widgets that show it,"],
  ["plotly", ["narwhals", "plotly"], "plotly", "figures of plotly"],
  ["pandas", ["pandas"], "pandas", "data frames (notebooks 12, 12b, 24 and 25)"],
];
const PLAIN_WORD = 4500, PATIENCE = 60_000; // milliseconds: after the page was opened, and of the question itself
const PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel";
const MISSING = "kitlib cannot load "; // printed in place of an error: an error would drop the learner's cells behind it
const code = (name, names, modules, deps) => `try:
    import piplite as _p
    await _p.install(${JSON.stringify(names)}, deps=${deps ? "True" : "False"})
    import ${modules}
except BaseException as _e:
    print("${MISSING}${name}: " + (str(_e).strip().splitlines() or [type(_e).__name__])[-1])
`; // the import says what piplite does not: that a wheel could not be fetched

export const inBrowser = (kit) => kit.modules.coreutils?.PageConfig.getOption("kitlibSite") === "yes";

// "" where Python can be had, else the server that does not answer. Asked when the page opens, long before a notebook is there, and only once.
let asked = null;
export function askForPython(kit) {
  asked ??= pythonAnswers(kit);
  return asked;
}

async function pythonAnswers(kit) {
  let settings = {};
  try {
    settings = JSON.parse(kit.modules.coreutils.PageConfig.getOption("litePluginSettings") || "{}");
  } catch {
    // no settings: Pyodide's own place
  }
  const address = settings[PLUGIN]?.pyodideUrl;
  if (!address) return "";
  const base = kit.modules.coreutils.PageConfig.getBaseUrl();
  const url = new URL(address, new URL(base, location.href));
  try {
    const answer = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(PATIENCE) });
    return answer.ok ? "" : url.host;
  } catch {
    return url.host;
  }
}

// A plain word at the latest 5 s after the page was opened; a slow network may still bring Python afterwards.
async function pythonIsThere(kit, place) {
  const answer = askForPython(kit);
  const late = new Promise((done) => setTimeout(() => done(null), Math.max(0, PLAIN_WORD - performance.now())));
  let away = await Promise.race([answer, late]);
  if (away === null) {
    place.setAttribute("role", "alert");
    place.textContent = "Python cannot be loaded so far: its server does not answer. Check the network; this page goes on trying for a minute.";
    away = await answer;
  }
  if (!away) return true;
  place.setAttribute("role", "alert");
  place.textContent =
    `Python cannot be loaded: ${away} does not answer. Check the network and reload the page. ` +
    "The person who built this site can put Python into it: kitlib site --pyodide FILE.";
  return false;
}

// What a notebook needs is asked for in the moment in which its kernel is there, all at once: cells that are run meanwhile,
// even by "Run All" at the first possible moment, stand behind it in the kernel's queue. A restarted kernel is asked again.
const asks = new WeakMap(); // notebook -> its requests
export function askAtOnce(panel, all) {
  const steps = [...NEEDED.map((step) => [...step, ""]), ...(all ? OPTIONAL : [])], context = panel.sessionContext;
  const mine = { steps, replies: null, asked: null };
  asks.set(panel, mine);
  let told;
  mine.asked = new Promise((done) => { told = done; });
  const ask = (kernel) => {
    mine.replies = steps.map(([name, names, modules]) => {
      const future = kernel.requestExecute({ code: code(name, names, modules, names.length === 1 && name !== "kitlib"), silent: true, store_history: false });
      let problem = "";
      future.onIOPub = (message) => {
        const text = message.header.msg_type === "stream" ? message.content.text : "";
        if (text.includes(MISSING)) problem = text.slice(text.indexOf(MISSING)).trim();
      };
      return future.done.then((reply) => problem || (reply.content.status === "ok" ? "" : `${MISSING}${name}: ${reply.content.evalue ?? "no reason was given"}`));
    });
    told();
  };
  const known = new WeakSet();
  const meet = (kernel) => {
    if (!kernel || known.has(kernel)) return;
    known.add(kernel);
    ask(kernel);
    kernel.statusChanged?.connect((_, status) => /restarting$/.test(status) && ask(kernel));
  };
  context.kernelChanged.connect((_, change) => meet(change.newValue));
  meet(context.session?.kernel);
}

// What is run before a notebook has a kernel would be dropped without a word; it waits for the kernel instead.
export function runWhenReady(actions) {
  for (const name of ["run", "runAndAdvance", "runAndInsert", "runCells", "runAll", "runAllAbove", "runAllBelow"]) {
    const plain = actions?.[name];
    if (!plain) continue;
    actions[name] = (...given) => {
      const context = given.find((one) => one?.kernelChanged && one.ready);
      const go = () => plain.apply(actions, given);
      return !context || context.session?.kernel ? go() : context.ready.then(go);
    };
  }
}

// Resolves to true when the kit can be imported; says on `place` how far it is, or what is wrong.
export async function install(kit, panel, place) {
  const word = document.createElement("span"), bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Loading Python");
  bar.style.cssText = "display:block;width:100%;height:8px;margin-top:6px";
  word.textContent = "Loading Python …";
  place.replaceChildren(word, bar);
  if (!(await pythonIsThere(kit, place))) return false;
  place.setAttribute("role", "status");
  place.replaceChildren(word, bar);
  await panel.sessionContext.ready;
  const mine = asks.get(panel);
  await mine.asked;
  const { steps, replies } = mine;
  bar.max = steps.length + 1;
  bar.value = 0;
  const missing = [];
  for (const [i, [name, , , without]] of steps.entries()) {
    word.textContent = `Loading Python: ${name} …`;
    const problem = await replies[i];
    bar.value = i + 1;
    if (!problem) continue;
    if (!without) {
      place.setAttribute("role", "alert");
      place.textContent = `Python runs, but ${problem.replace(MISSING, "").replace(/^([^:]*): /, "$1 could not be loaded (")}). Reload the page.`;
      return false;
    }
    missing.push(`${name}, so ${without} will not work`);
  }
  if (missing.length) {
    place.textContent = `Not available here: ${missing.join("; ")}. Everything else runs.`;
  } else place.remove();
  return true;
}
