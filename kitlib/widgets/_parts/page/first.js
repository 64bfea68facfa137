// The still start page: drawn at once from STATE by the start page's own code, over JupyterLab while that loads. What the
// reader does is kept in `window.kitlibKept`; the real page takes it over (start.js), and this layer goes.
function firstPage(layer) {
  const kept = (window.kitlibKept = {}), path = new URL(location.href).searchParams.get("path");
  if (location.hash || path?.split("/").pop() !== START) return;
  const model = {
    get: (name) => STATE[name] ?? {},
    on() {}, off() {}, set() {}, save_changes() {},
    send(message) { if (message.kind === "guess") kept.guess = message.value; if (message.kind === "run") kept.run = true; },
  };
  const page = h("div"), bar = h("div", { class: "kitlib-first-bar" });
  const said = h("span", { role: "status" }, "Python is loading in your browser. You can guess already; your guess is kept.");
  const leave = () => { layer.remove(); watcher.disconnect(); delete window.kitlibFirst; };
  const watcher = new MutationObserver(() => {
    const loads = document.querySelector(".kitlib-wait")?.textContent.trim(); // what is loaded, or why it cannot be
    if (loads && said.textContent !== loads) said.textContent = loads;
    if ([...document.querySelectorAll("." + LETTERS)].some((one) => !layer.contains(one) && one.childElementCount)) leave();
  });
  bar.append(said, h("button", { type: "button", class: "kitlib-first-skip", onclick: leave }, "Show JupyterLab"));
  layer.append(bar, page);
  layer.hidden = false;
  window.kitlibFirst = layer;
  startPage.render({ model, el: page });
  watcher.observe(document.body, { childList: true, subtree: true });
}
firstPage(document.getElementById("kitlib-first"));
