// In the browser site there is no server: Python runs in the page. Before a notebook's first cell the kit and what it needs
// are loaded from the site's own wheels, a progress bar says so, and a plain message where Python cannot be had.
const NEEDED = [
  ["the object library", ["msgspec", "pyyaml"], "msgspec, yaml"],
  ["widgets", ["comm", "typing-extensions", "jupyterlab_widgets", "ipywidgets", "psygnal", "anywidget"], "anywidget"],
  ["text", ["pygments", "mdurl", "markdown-it-py", "rich"], "rich.console"],
  ["kitlib", ["kitlib"], "kitlib"],
];
const OPTIONAL = [
  ["numpy", ["numpy"], "numpy", "the scheduler"],
  ["pandas", ["pandas"], "pandas", "tables"],
  ["plotly", ["narwhals", "plotly"], "plotly", "charts"],
];
const PLAIN_WORD = 4500, PATIENCE = 60_000; // milliseconds: after the page was opened, and of the question itself
const PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel";
const code = (names, modules, deps) => `import piplite as _p
await _p.install(${JSON.stringify(names)}, deps=${deps ? "True" : "False"})
import ${modules}
del _p
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

// Resolves to true when the kit can be imported; says on `place` how far it is, or what is wrong.
export async function install(kit, panel, place, all) {
  const word = document.createElement("span"), bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Loading Python");
  bar.style.cssText = "display:block;width:100%;height:8px;margin-top:6px";
  word.textContent = "Loading Python …";
  place.replaceChildren(word, bar);
  if (!(await pythonIsThere(kit, place))) return false;
  place.setAttribute("role", "status");
  place.replaceChildren(word, bar);
  await panel.sessionContext.ready;
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) return false;
  const steps = [...NEEDED.map((step) => [...step, ""]), ...(all ? OPTIONAL : [])];
  bar.max = steps.length + 1;
  bar.value = 0;
  const missing = [];
  const send = ([, names, modules], deps) =>
    kernel.requestExecute({ code: code(names, modules, deps), silent: true, store_history: false }).done;
  // What is needed at once: a cell that is run meanwhile waits behind it. An error would drop the requests behind it, so
  // what may be missing is asked for one by one.
  const replies = NEEDED.map((step) => send(step, false));
  for (const [i, [name, , , without]] of steps.entries()) {
    word.textContent = `Loading Python: ${name} …`;
    const reply = await (replies[i] ?? send(steps[i], steps[i][1].length === 1));
    bar.value = i + 1;
    if (reply.content.status === "ok") continue;
    if (!without) {
      place.setAttribute("role", "alert");
      place.textContent = `Python runs, but ${name} could not be loaded (${reply.content.evalue ?? "no reason was given"}). Reload the page.`;
      return false;
    }
    missing.push(`${name}, so ${without} will not work`);
  }
  if (missing.length) {
    place.textContent = `Not available here: ${missing.join("; ")}. Everything else runs.`;
  } else place.remove();
  return true;
}
