// Python's files begin to load beside JupyterLab, which would ask for them seconds later.
{
  const root = new URL("../", location.href);
  const ask = (address) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "preload", as: "fetch", crossOrigin: "anonymous", href: address });
    document.head.append(link);
  };
  fetch(new URL("jupyter-lite.json", root)).then((answer) => answer.json()).then((settings) => {
    const place = settings["jupyter-config-data"]?.litePluginSettings?.[PLUGIN]?.pyodideUrl;
    if (place) NAMES.forEach((name) => ask(new URL(name, new URL(place, root))));
    WHEELS.forEach((wheel) => ask(new URL(wheel, location.href)));
  }).catch(() => {}); // without it the page loads too, only later
}
