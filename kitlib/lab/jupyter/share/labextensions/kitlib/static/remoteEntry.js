// A module federation container, written by hand: JupyterLab and Notebook 7 give it their shared modules (init), and ask
// it for the plugins (get). The plugins stand beside this file as ordinary modules; nothing is bundled.
(() => {
  const here = document.currentScript.src;
  let scope = {};
  const shared = async (name) => {
    const versions = Object.values(scope[name] ?? {});
    const found = versions.find((version) => version.loaded) ?? versions[0];
    return found ? (await found.get())() : null;
  };
  window._JUPYTERLAB = Object.assign(window._JUPYTERLAB ?? {}, {
    kitlib: {
      init: (given) => {
        scope = given;
      },
      get: async () => {
        const { plugins } = await import(new URL("index.js", here).href);
        const made = await plugins(shared);
        return () => ({ __esModule: true, default: made });
      },
    },
  });
})();
