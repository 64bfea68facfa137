const CLOUD = ["sendChartToCloud", "sendDataToCloud"]; // nothing leaves the machine
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: [...CLOUD, "lasso2d", "select2d"],
};
const WAIT = 5000;
const LATE = "The kernel is busy, or has gone: the picture is drawn when it answers. Its table is below.";
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
function ask(model, waiting) {
  const heard = (message, buffers) => {
    if (message.kind !== "library") return;
    model.off("msg:custom", heard);
    if (waiting.answered) return;
    waiting.answered = true;
    evaluated(new TextDecoder().decode(buffers[0])).then(waiting.give, waiting.fail);
  };
  model.on("msg:custom", heard);
  model.send({ kind: "library?" });
}
async function library(model, late) { // one for the page; a busy kernel answers after the cells that wait in its queue
  const asks = !window.kitlibPlotly;
  if (asks) {
    const waiting = {};
    const loaded = new Promise((give, refuse) => {
      waiting.give = give;
      waiting.fail = (error) => {
        delete window.kitlibPlotly;
        refuse(error);
      };
    });
    window.kitlibPlotly = Object.assign(loaded, { waiting });
    ask(model, waiting);
  }
  const loaded = window.kitlibPlotly;
  const patience = setTimeout(() => {
    late();
    if (!asks) ask(model, loaded.waiting); // who asked before may have been closed since
  }, WAIT);
  return loaded.finally(() => clearTimeout(patience));
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
          Plotly ??= await library(model, () => {
            if (!stopped) plot.textContent = LATE;
          });
          if (stopped) return;
          if (!plot.data) plot.textContent = "";
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
