// A notebook controller for VS Code: cells run in a kernel that kernel.py starts, in the notebook's folder and without a
// Jupyter server; every message of the kernel goes on to the renderer, where VS Code's own widget manager listens.
// The order of an output's kinds is VS Code's (extensions/ipynb/src/deserializers.ts).
const vscode = require("vscode");
const path = require("node:path");
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");
const { randomUUID } = require("node:crypto");

const ORDER = [/^application\/vnd\./, /^text\/html$/, /^image\//, /^text\/latex$/, /^text\/markdown$/, /json$/, /^text\/plain$/];
const sessions = new Map(); // notebook -> its kernel
const count = { ran: 0, failed: 0, errors: 0 };
let sign;

function tell() {
  sign.text = `${count.ran} cells have run, ${count.failed} failed, ${count.errors} lines of standard error`;
}

function items(data) {
  const rank = (mime) => ORDER.findIndex((pattern) => pattern.test(mime)) >>> 0; // an unknown kind comes last
  return Object.entries(data)
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([mime, value]) => {
      if (/^image\/(?!svg)/.test(mime)) return new vscode.NotebookCellOutputItem(Buffer.from(value, "base64"), mime);
      const text = typeof value === "string" ? value : Array.isArray(value) ? value.join("") : JSON.stringify(value);
      return vscode.NotebookCellOutputItem.text(text, mime);
    });
}

class Kernel {
  constructor(notebook, messaging) {
    this.client = randomUUID();
    this.notebook = notebook;
    this.messaging = messaging;
    this.told = []; // messages, for a renderer that comes later
    this.listening = false;
    this.running = new Map(); // message id -> cell execution
    const folder = path.dirname(notebook.uri.fsPath);
    this.process = spawn(process.env.KITLIB_PYTHON, [path.join(__dirname, "kernel.py")], { cwd: folder });
    this.process.stderr.on("data", (text) => console.error(String(text)));
    createInterface({ input: this.process.stdout }).on("line", (line) => this.heard(JSON.parse(line)));
  }

  tell(message) {
    this.process.stdin.write(JSON.stringify(message) + "\n");
  }

  attach() {
    this.listening = true;
    this.post({ type: "kernel", client: this.client });
    for (const message of this.told) this.post({ type: "message", message });
  }

  post(message) {
    this.messaging.postMessage(message, vscode.window.visibleNotebookEditors.find((one) => one.notebook === this.notebook));
  }

  execute(cell, controller) {
    const execution = controller.createNotebookCellExecution(cell);
    execution.start(Date.now());
    execution.clearOutput();
    const header = { msg_id: randomUUID(), msg_type: "execute_request", session: this.client, username: "", version: "5.3" };
    header.date = new Date().toISOString();
    const content = { code: cell.document.getText(), silent: false, store_history: true, allow_stdin: false };
    Object.assign(content, { user_expressions: {}, stop_on_error: true });
    return new Promise((done) => {
      this.running.set(header.msg_id, { execution, done });
      this.tell({ channel: "shell", header, parent_header: {}, metadata: { cellId: cell.document.uri.toString() }, content });
    });
  }

  heard(message) {
    const { content, header } = message;
    const run = this.running.get(message.parent_header.msg_id);
    this.told.push(message);
    if (this.listening) this.post({ type: "message", message });
    if (!run) return;
    const { execution } = run;
    const out = (...made) => void execution.appendOutput(new vscode.NotebookCellOutput(made));
    if (header.msg_type === "execute_input") execution.executionOrder = content.execution_count;
    if (header.msg_type === "stream" && content.name === "stderr") count.errors += 1;
    if (header.msg_type === "stream") out(vscode.NotebookCellOutputItem[content.name](content.text));
    if (header.msg_type === "display_data" || header.msg_type === "execute_result") out(...items(content.data));
    if (header.msg_type === "error") {
      const { ename: name, evalue, traceback } = content;
      out(vscode.NotebookCellOutputItem.error({ name, message: evalue, stack: traceback.join("\n") }));
    }
    if (header.msg_type === "execute_reply") run.well = content.status === "ok";
    if (header.msg_type === "status" && content.execution_state === "idle") run.idle = true;
    if (run.idle && run.well !== undefined) {
      this.running.delete(message.parent_header.msg_id);
      execution.end(run.well, Date.now());
      count.ran += 1;
      if (!run.well) count.failed += 1;
      tell();
      run.done(run.well);
    }
  }
}

exports.activate = (context) => {
  const messaging = vscode.notebooks.createRendererMessaging("kitlib-widgets");
  const kernelOf = (notebook) => {
    const key = notebook.uri.toString();
    if (!sessions.has(key)) sessions.set(key, new Kernel(notebook, messaging));
    return sessions.get(key);
  };
  const controller = vscode.notebooks.createNotebookController("kitlib", "jupyter-notebook", "Python (kitlib)");
  controller.supportedLanguages = ["python"];
  controller.supportsExecutionOrder = true;
  controller.executeHandler = async (cells, notebook) => {
    for (const cell of cells) if (!(await kernelOf(notebook).execute(cell, controller))) break;
  };
  const prefer = (notebook) => {
    if (notebook.notebookType !== "jupyter-notebook") return;
    controller.updateNotebookAffinity(notebook, vscode.NotebookControllerAffinity.Preferred);
  };
  vscode.workspace.notebookDocuments.forEach(prefer);
  messaging.onDidReceiveMessage(({ editor, message }) => {
    if (message.type === "ready") kernelOf(editor.notebook).attach();
    if (message.type === "message") kernelOf(editor.notebook).tell(message.message);
  });
  sign = vscode.window.createStatusBarItem();
  tell();
  sign.show();
  context.subscriptions.push(
    controller,
    sign,
    vscode.workspace.onDidOpenNotebookDocument(prefer),
    vscode.workspace.onDidCloseNotebookDocument((notebook) => {
      sessions.get(notebook.uri.toString())?.process.stdin.end();
      sessions.delete(notebook.uri.toString());
    }),
  );
};
exports.deactivate = () => sessions.forEach((kernel) => kernel.process.stdin.end());
