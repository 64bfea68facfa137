// The start page shows itself: its notebook is run when it is opened, and only where the server says which one it is.
import { askAtOnce, askForPython, inBrowser, install, runWhenReady } from "./install.js";

const STYLE = `
.kitlib-start-notebook .jp-InputPrompt,.kitlib-start-notebook .jp-OutputPrompt,.kitlib-start-notebook .jp-Collapser,
.kitlib-start-notebook .jp-CodeCell .jp-Cell-inputWrapper,.kitlib-start-notebook .jp-MarkdownCell:first-child,
.kitlib-start-notebook .jp-Notebook-footer,.kitlib-start-notebook .jp-Toolbar,
.kitlib-start-notebook .jp-cell-toolbar{display:none!important}
.kitlib-start-notebook .jp-Cell{border:0!important;padding-left:0;padding-right:0}
.kitlib-start-notebook .jp-OutputArea-child .jp-OutputArea-output{padding-left:0}
.kitlib-wait{max-width:960px;margin:24px auto;padding:0 16px;
font-family:var(--jp-ui-font-family);font-size:15px;color:var(--jp-ui-font-color1)}
`;
const PATIENCE = 60_000;
export const ready = new WeakMap(); // notebook -> when the kit can be imported there

export function startName(kit) {
  return kit.modules.coreutils?.PageConfig.getOption("kitlibStart") ?? "";
}

export function folderOf(path) {
  return path.split("/").slice(0, -2).map((part) => part + "/").join("");
}

export function addStart(kit) {
  const { app, tracker } = kit;
  const name = startName(kit);
  if (!tracker) return;
  const sheet = document.createElement("style");
  sheet.textContent = STYLE;
  document.head.append(sheet);
  document.addEventListener("kitlib:open", (event) => {
    const panel = tracker.find((one) => one.node.contains(event.target));
    if (!panel || !kit.isLab) return;
    event.preventDefault();
    app.commands.execute("docmanager:open", { path: folderOf(panel.context.path) + event.detail.path });
  });
  if (inBrowser(kit)) {
    askForPython(kit);
    runWhenReady(kit.modules.notebook?.NotebookActions);
  }
  if (name && kit.isLab) openAtOnce(kit, name);
  const consider = (panel) => {
    if (inBrowser(kit)) askAtOnce(panel, panel.context.path.split("/").pop() !== name);
    if (name && panel.context.path.split("/").pop() === name) run(kit, panel);
    else if (inBrowser(kit)) ready.set(panel, prepare(kit, panel));
  };
  tracker.widgetAdded.connect((_, panel) => consider(panel));
  tracker.forEach(consider);
}

// The start page that the address names is opened as soon as the layout is there. JupyterLab itself would bring it to the
// front when its file browser has been restored: seconds later, and over what has been opened meanwhile.
function openAtOnce(kit, name) {
  const { app, docs, modules } = kit, { PageConfig } = modules.coreutils, here = new URL(location.href);
  const path = PageConfig.getOption("treePath") || here.searchParams.get("path") || ""; // JupyterLite has it in the address
  if (!docs || path.split("/").pop() !== name) return;
  PageConfig.setOption("treePath", "");
  here.searchParams.delete("path");
  history.replaceState(history.state, "", here);
  app.restored.then(() => {
    app.shell.collapseLeft?.();
    docs.openOrReveal(path);
  });
}

function waiting(panel) {
  const wait = document.createElement("p");
  wait.className = "kitlib-wait";
  wait.setAttribute("role", "status");
  wait.textContent = "Python starts …";
  panel.content.node.prepend(wait);
  return wait;
}

async function prepare(kit, panel) {
  await panel.context.ready;
  await install(kit, panel, waiting(panel));
}

async function run(kit, panel) {
  if (panel.hasClass("kitlib-start-notebook")) return;
  panel.addClass("kitlib-start-notebook");
  const wait = waiting(panel);
  const slow = setTimeout(() => {
    wait.textContent = "Python has not started within a minute. Reload the page; or show the notebook's code, and run it.";
    panel.removeClass("kitlib-start-notebook");
  }, PATIENCE);
  await panel.context.ready;
  panel.content.node.prepend(wait);
  if (inBrowser(kit)) {
    clearTimeout(slow);
    if (!(await install(kit, panel, wait))) return;
  }
  await panel.sessionContext.ready;
  await panel.sessionContext.session?.kernel?.info;
  const running = kit.modules.notebook.NotebookActions.runAll(panel.content, panel.sessionContext);
  panel.content.activeCellIndex = 0; // not seen, so it takes no focus; a cell that is drawn late would
  const ran = await running;
  clearTimeout(slow);
  wait.remove();
  if (!ran) panel.removeClass("kitlib-start-notebook"); // the error is shown with its code
  panel.content.node.scrollTop = 0;
}
