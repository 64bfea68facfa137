// The kit in JupyterLab and Notebook 7: the start page runs by itself, launcher tiles, palette, side bar, status bar.
import { addCommands } from "./commands.js";
import { addPanel } from "./panel.js";
import { addStart } from "./start.js";

const TOKENS = {
  tracker: ["@jupyterlab/notebook", "INotebookTracker"],
  palette: ["@jupyterlab/apputils", "ICommandPalette"],
  launcher: ["@jupyterlab/launcher", "ILauncher"],
  status: ["@jupyterlab/statusbar", "IStatusBar"],
  menu: ["@jupyterlab/mainmenu", "IMainMenu"],
  docs: ["@jupyterlab/docmanager", "IDocumentManager"],
};

export async function plugins(shared) {
  const names = [], optional = [];
  for (const [name, [module, token]] of Object.entries(TOKENS)) {
    const found = (await shared(module))?.[token]; // Notebook 7 has no launcher and no status bar
    if (found) {
      names.push(name);
      optional.push(found);
    }
  }
  const modules = {
    notebook: await shared("@jupyterlab/notebook"),
    apputils: await shared("@jupyterlab/apputils"),
    coreutils: await shared("@jupyterlab/coreutils"),
    ui: await shared("@jupyterlab/ui-components"),
    widgets: await shared("@lumino/widgets"),
  };
  return [
    {
      id: "kitlib:plugin",
      description: "The kit's commands, start page and side bar",
      autoStart: true,
      optional,
      activate: (app, ...given) => {
        const services = Object.fromEntries(names.map((name, i) => [name, given[i]]));
        const kit = { app, modules, ...services, isLab: app.name !== "Jupyter Notebook" };
        addStart(kit);
        addCommands(kit);
        addPanel(kit);
      },
    },
  ];
}
