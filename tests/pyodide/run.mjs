// Real Pyodide under node.js: node run.mjs PYODIDE KIT PYTHON_FILES WHEEL... then one line of Python on standard input.
// PYODIDE: folder of the npm package. KIT: the checkout. PYTHON_FILES: folder of pure Python packages. WHEEL: built for
// Pyodide. What Python prints goes to standard output; an error is printed in a few lines and ends with code 1.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideFolder, kit, pureFolder, ...wheels] = process.argv.slice(2);
const bytes = (file) => new Uint8Array(fs.readFileSync(file));

try {
  const { loadPyodide } = await import(pathToFileURL(path.join(pyodideFolder, "pyodide.mjs")));
  const python = await loadPyodide({ indexURL: pyodideFolder });
  for (const wheel of wheels) python.unpackArchive(bytes(wheel), "wheel");
  for (const [inside, outside] of [["/kit", kit], ["/pure", pureFolder]]) {
    python.FS.mkdirTree(inside);
    python.FS.mount(python.FS.filesystems.NODEFS, { root: outside }, inside);
  }
  python.runPython(`
import sys
sys.dont_write_bytecode = True
sys.path[:0] = ["/kit", "/kit/tests/pyodide", "/pure"]
`);
  python.runPython(fs.readFileSync(0, "utf8"));
} catch (error) {
  console.error(String(error.message ?? error).slice(0, 4000));
  process.exit(1);
}
