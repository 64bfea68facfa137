// Commands, for the palette, the launcher and the Help menu.
import { inBrowser } from "./install.js";
import { folderOf, ready, startName } from "./start.js";

const CATEGORY = "Kubernetes course";
const KERNEL = { kernelspec: { name: "python3", display_name: "Python 3 (ipykernel)", language: "python" }, language_info: { name: "python" } };
const PENDING = `from kitlib.widgets import ExplainBoard

ExplainBoard()`;
const SCENARIO = `from kitlib.widgets import SpreadExplorer

SpreadExplorer(zones=3, nodes=4)`;
const CLUSTER = [
  `from kitlib.cluster import Cluster

cluster = Cluster.simulated(nodes=3)
cluster`,
  `cluster.apply("""
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources:
      requests: {cpu: 250m, memory: 128Mi}
      limits: {cpu: 500m, memory: 256Mi}
""")
cluster.advance(5)
cluster`,
];
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g fill="none" stroke="#326ce5" stroke-width="2">
<rect x="3" y="5" width="18" height="14" rx="2"/><path d="M9 5v14M15 5v14"/></g><path d="M3 9h6v10H3z" fill="#326ce5"/></svg>`;

export function kitIcon(kit) {
  kit.icon ??= kit.modules.ui ? new kit.modules.ui.LabIcon({ name: "kitlib:icon", svgstr: ICON }) : undefined;
  return kit.icon;
}

// The course's folder, from the server's root: where the start page is, or a notebook that is open, or the root.
async function courseFolder(kit) {
  const { contents } = kit.app.serviceManager;
  const open = [];
  kit.tracker?.forEach((panel) => open.push(folderOf(panel.context.path)));
  for (const folder of [...open, "", "kitlib-course/"]) {
    try {
      await contents.get(folder + "labs", { content: false });
      return folder;
    } catch {
      // not here
    }
  }
  return "";
}

async function newNotebook(kit, name, cells, run = false) {
  const { contents } = kit.app.serviceManager;
  const folder = await courseFolder(kit);
  const made = await contents.newUntitled({ path: folder.replace(/\/$/, ""), type: "notebook" });
  const content = {
    nbformat: 4, nbformat_minor: 5, metadata: KERNEL,
    cells: cells.map((source, i) => ({ cell_type: "code", id: `cell-${i}`, metadata: {}, execution_count: null, outputs: [], source })),
  };
  let path = made.path;
  try {
    path = (await contents.rename(made.path, made.path.replace(/[^/]+$/, `${name}.ipynb`))).path;
  } catch {
    // a notebook of that name is there: keep the new one's own
  }
  await contents.save(path, { type: "notebook", format: "json", content });
  const panel = await kit.app.commands.execute("docmanager:open", { path });
  if (run && panel) {
    await panel.context.ready;
    await panel.sessionContext.ready;
    await ready.get(panel);
    await kit.modules.notebook.NotebookActions.runAll(panel.content, panel.sessionContext);
  }
  return panel;
}

async function openLab(kit) {
  const folder = await courseFolder(kit);
  const { content } = await kit.app.serviceManager.contents.get(folder + "labs");
  const items = content.filter((one) => one.type === "directory").map((one) => one.name).sort();
  const chosen = await kit.modules.apputils.InputDialog.getItem({ title: "Open a lab", items });
  if (chosen.button.accept) await kit.app.commands.execute("docmanager:open", { path: `${folder}labs/${chosen.value}/lab.ipynb` });
}

async function openPage(kit, page) {
  const path = `${await courseFolder(kit)}docs/${page}.md`;
  return kit.app.commands.execute("docmanager:open", { path, factory: "Markdown Preview" });
}

const PAGES = [
  ["course", "The course and the labs"], ["widgets", "Widgets"], ["python", "In Python"], ["commands", "The command line"],
  ["real-nodes", "Real nodes"], ["pending", "Why is my pod pending?"], ["kubectl", "With kubectl and helm"], ["limits", "Limits"],
];

// A shared link: its state is letters, digits, - and _ alone; the kit checks what it holds.
function openShared(kit) {
  const found = /^#kitlib=([A-Za-z0-9_-]{1,48000})$/.exec(location.hash);
  if (!found || !inBrowser(kit)) return;
  const line = `from kitlib.lab.share import opened\n\ncluster = opened("${found[1]}")\ncluster`;
  kit.app.restored.then(() => newNotebook(kit, "shared", [line], true));
}

export function addCommands(kit) {
  const { app, palette, launcher, menu } = kit;
  const icon = kitIcon(kit);
  const add = (id, label, caption, execute, tile = 0) => {
    const command = `kitlib:${id}`;
    app.commands.addCommand(command, { label, caption, icon, execute });
    palette?.addItem({ command, category: CATEGORY });
    if (tile) launcher?.add({ command, category: CATEGORY, rank: tile });
    return command;
  };
  add("start", "Start here", "The start page of the course", async () =>
    app.commands.execute("docmanager:open", { path: `${await courseFolder(kit)}notebooks/${startName(kit) || "00-start-here.ipynb"}` }), 1);
  add("open-lab", "Open a lab", "A cluster with something wrong in it", () => openLab(kit), 2);
  add("new-cluster", "New cluster", "A notebook with a simulated cluster of three nodes", () => newNotebook(kit, "cluster", CLUSTER, true), 3);
  add("new-scenario", "New scenario", "Zones, nodes and pods to place by hand", () => newNotebook(kit, "scenario", [SCENARIO], true), 4);
  add("explain", "Explain a pending pod", "Your own cluster, or a dump of it", () => newNotebook(kit, "pending", [PENDING], true), 5);
  openShared(kit);
  if (!menu) return;
  const items = PAGES.map(([page, label]) => {
    const command = `kitlib:page-${page}`;
    app.commands.addCommand(command, { label: `kitlib: ${label}`, execute: () => openPage(kit, page) });
    palette?.addItem({ command, category: CATEGORY });
    return { command };
  });
  menu.helpMenu.addGroup(items, 20);
}
