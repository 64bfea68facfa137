const CONFIG = { displaylogo: false, modeBarButtonsToRemove: ["sendDataToCloud", "lasso2d", "select2d"] };
const WAIT = 30000;
async function evaluated(text) {
  const alone = "const define = undefined, module = undefined, exports = undefined;\n"; // no other loader takes it
  const parts = [alone, text, "\nexport default window.Plotly;"];
  const url = URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
  try {
    return (await import(/* webpackIgnore: true */ url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}
function asked(model) {
  return new Promise((resolve, reject) => {
    const given = setTimeout(() => reject(new Error("the kernel does not answer")), WAIT);
    const heard = (message, buffers) => {
      if (message.kind !== "library") return;
      clearTimeout(given);
      model.off("msg:custom", heard);
      evaluated(new TextDecoder().decode(buffers[0])).then(resolve, reject);
    };
    model.on("msg:custom", heard);
    model.send({ kind: "library?" });
  });
}
function library(model) {
  window.kitlibPlotly ??= asked(model).catch((error) => {
    delete window.kitlibPlotly;
    throw error;
  });
  return window.kitlibPlotly;
}
export default {
  render({ model, el }) {
    const plot = document.createElement("div");
    el.style.cssText = "width:100%;min-width:0;overflow:visible";
    el.append(plot);
    let busy = false, again = false, stopped = false, Plotly = null, width = 0;
    const held = new Map(); // axis -> the range that the reader has zoomed into; plotly's uirevision holds too much
    const hold = (change) => {
      for (const name of Object.keys(change)) {
        const [, axis, what] = /^([xy]axis\d*)\.(range|autorange)/.exec(name) ?? [];
        if (what === "range") held.set(axis, plot.layout[axis].range);
        else if (what === "autorange") held.delete(axis);
      }
    };
    const draw = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      try {
        do {
          again = false;
          const text = model.get("spec");
          if (!text) break;
          Plotly ??= await library(model);
          if (stopped) return;
          const { data, layout } = JSON.parse(text);
          const first = !plot.data;
          plot.setAttribute("role", "img");
          plot.setAttribute("aria-label", layout.meta?.sentence ?? "");
          for (const [axis, range] of held) layout[axis] = { ...layout[axis], range: [...range], autorange: false };
          await Plotly.react(plot, data, { ...layout, autosize: true }, CONFIG);
          if (first) plot.on("plotly_relayout", hold);
        } while (again);
      } catch (error) {
        if (!plot.data) plot.textContent = "The picture cannot be drawn (" + error.message + "); its table is below.";
        else throw error;
      } finally {
        busy = false;
      }
    };
    const size = new ResizeObserver(() => {
      if (Math.abs(el.clientWidth - width) < 2) return;
      width = el.clientWidth;
      if (width && plot.data) Plotly.Plots.resize(plot);
    });
    size.observe(el);
    model.on("change:spec", draw);
    draw();
    return () => {
      stopped = true;
      size.disconnect();
      model.off("change:spec", draw);
      if (Plotly && plot.data) Plotly.purge(plot);
    };
  },
};
