// Draws application/vnd.jupyter.widget-view+json in a notebook of VS Code with the manager that its Jupyter extension
// uses (@vscode/jupyter-ipywidgets8), over a kernel connection whose socket is the extension.
// Modules of widgets come from the environment's nbextensions, as they do there for a local kernel
// (vscode-jupyter localIPyWidgetScriptManager.node.ts); nothing is fetched from a network.
import { KernelConnection } from "@jupyterlab/services/lib/kernel/default";
import { ServerConnection } from "@jupyterlab/services/lib/serverconnection";
import { deserialize, serialize } from "@jupyterlab/services/lib/kernel/serialize";
import { activate as widgets } from "@vscode/jupyter-ipywidgets8";
import STYLE from "./theme.css";

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const text = (data) => {
  const view = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
  let made = "";
  for (let at = 0; at < view.length; at += 32768) made += String.fromCharCode(...view.subarray(at, at + 32768));
  return btoa(made);
};

function connection(client, post) {
  let socket;
  class Socket {
    constructor() {
      socket = this;
      this.protocol = "";
      setTimeout(() => this.onopen?.());
    }
    send(data) {
      const { buffers = [], ...message } = deserialize(data, "");
      post({ type: "message", message: { ...message, buffers: buffers.map(text) } });
    }
    close() {}
  }
  const kernel = new KernelConnection({
    serverSettings: ServerConnection.makeSettings({ WebSocket: Socket, wsUrl: "wss://no.server.invalid/" }),
    clientId: client,
    handleComms: true,
    username: "",
    model: { id: client, name: "python3" },
  });
  kernel.commsOverSubshells = "disabled"; // comm messages wait for the cell that runs, as everywhere before JupyterLab 4.4
  const hear = (message) => {
    const whole = { ...message, buffers: message.buffers.map(bytes) };
    socket.onmessage({ data: serialize(whole, "") });
  };
  return { kernel, hear };
}

async function source(module) {
  const place = new URL(`nbextensions/${module}/extension.js`, import.meta.url);
  const entry = await (await fetch(place)).text();
  const [, path] = new RegExp(`${module}["']?\\s*:\\s*["'](nbextensions/[^"']+)`).exec(entry) ?? [];
  if (!path) throw new Error(`${place} does not say where ${module} is`);
  window.requirejs.config({ paths: { [module]: new URL(path, import.meta.url).href } });
}

export const activate = async (context) => {
  const sheet = document.createElement("style");
  sheet.textContent = STYLE;
  document.head.append(sheet);
  (0, eval)(await (await fetch(new URL("require.js", import.meta.url))).text());
  widgets();
  window.vscIPyWidgets8.load();
  const scripts = {
    widgetsRegisteredInRequireJs: new Set(),
    loadWidgetScript: async (module) => {
      await source(module);
      scripts.widgetsRegisteredInRequireJs.add(module);
    },
    errorHandler: (name, module, version, error) => console.error(`${module}.${name}: ${error?.message ?? error}`),
    successHandler: () => {},
  };
  let hear, manager;
  const started = new Promise((resolve) => {
    context.onDidReceiveMessage((said) => {
      if (said.type === "kernel") {
        const { kernel, hear: listen } = connection(said.client, context.postMessage);
        manager = new window.vscIPyWidgets.WidgetManager(kernel, null, scripts, () => {});
        hear = listen;
        resolve();
      }
      if (said.type === "message") hear(said.message);
    });
  });
  context.postMessage({ type: "ready" });
  const model = async (id) => {
    await started;
    for (let tries = 0; !manager.has_model(id) && tries < 300; tries++) await new Promise((next) => setTimeout(next, 50));
    return manager.get_model(id);
  };
  return {
    async renderOutputItem(item, element) {
      element.replaceChildren();
      element.classList.add("cell-output-ipywidget-background");
      const found = await model(item.json().model_id);
      const view = await manager.create_view(found, { el: element });
      await manager.display_view(item.json(), view, { node: element });
    },
  };
};
