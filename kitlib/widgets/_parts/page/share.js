// What the panel "Share or export" does: links and lines to copy, and the scene as SVG, PNG, GIF, WebM and a page for
// slides. All of it is made here in the page; nothing is sent anywhere. Goes with picture_svg.js and gif.js.
const SCENES = ".kitlib-chart, .kitlib-drawn, .kitlib-board, .kitlib-live, .kitlib-grid, .kit-tree";
const STEP = 80, HOLD = 1300, WATCHED = 6000;
function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) name.startsWith("on") ? made.addEventListener(name.slice(2), value) : made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const drawn = () => new Promise((done) => requestAnimationFrame(() => done()));
function picturesOf(root) {
  const all = [...root.querySelectorAll(SCENES)].filter((one) => one.closest(".kitlib-widget") === root && one.getBoundingClientRect().height > 4);
  return all.filter((one) => !all.some((other) => other !== one && other.contains(one)));
}
async function imageOf(svg) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await image.decode();
  return image;
}
function canvasOf(width, height) { return Object.assign(document.createElement("canvas"), { width, height }); }
function download(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link); // outside of the widget: a click is no key of the notebook's
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
export function shareMenu(panel, { root, model }) {
  const title = model.get("title"), name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const light = h("input", { type: "checkbox" }), said = h("p", { class: "kitlib-share-said", role: "status" });
  const caption = () => root.querySelector(".kitlib-sentence [role=status]")?.innerText ?? model.get("sentence");
  const parts = () => [...[root.querySelector(".kitlib-title")].filter(Boolean), ...picturesOf(root)];
  const shot = () => { // buttons and help below a picture make room for the moment; nothing is painted meanwhile
    root.classList.add("kitlib-drawing");
    try { return pictureSvg(parts(), { title, sentence: caption(), light: light.checked }); } finally { root.classList.remove("kitlib-drawing"); }
  };
  const player = () => root.querySelector(".kitlib-board")?.kitlibPlayer;

  const settled = () => { for (const one of root.getAnimations({ subtree: true })) one.finish(); return drawn(); };
  // The scenes from the first to the last, motion included: [svg, milliseconds that it stands, the scene's words] each.
  async function scenes({ motion = true } = {}) {
    const played = player(), found = [];
    if (!played || played.count < 2) {
      if (!motion) return [[shot(), HOLD, caption()]];
      said.textContent = `Recording for ${WATCHED / 1000} s: move a control.`;
      for (const began = performance.now(); performance.now() - began < WATCHED; ) {
        const at = performance.now();
        found.push([shot(), 0, ""]);
        await wait(Math.max(20, 2 * STEP - (performance.now() - at)));
        found[found.length - 1][1] = performance.now() - at;
      }
      return found;
    }
    const stood = played.at;
    played.stop();
    played.go(0);
    await settled();
    found.push([shot(), HOLD, played.says(0)]);
    for (let i = 1; i < played.count; i++) {
      played.go(i);
      const moves = motion ? root.getAnimations({ subtree: true }) : [];
      const lasts = Math.max(0, ...moves.map((one) => { one.pause(); return one.effect.getComputedTiming().endTime; }));
      for (let at = 0; at < lasts; at += STEP) {
        for (const one of moves) one.currentTime = Math.min(at, one.effect.getComputedTiming().endTime - 1);
        found.push([shot(), STEP, played.says(i)]);
      }
      await settled();
      found.push([shot(), HOLD, played.says(i)]);
      said.textContent = `Scene ${i + 1} of ${played.count} …`;
    }
    played.go(stood);
    return found;
  }
  async function painted(found, scale) {
    const width = 2 * Math.ceil((scale * Math.max(...found.map(([one]) => one.width))) / 2);
    const words = found.some(([, , text]) => text), line = words ? 34 * scale : 0;
    const height = 2 * Math.ceil((scale * Math.max(...found.map(([one]) => one.height)) + line) / 2);
    const canvas = canvasOf(width, height), pen = canvas.getContext("2d", { willReadFrequently: true });
    const ground = /fill="(#\w+)"\/>/.exec(found[0][0].svg)[1], dark = parseInt(ground.slice(1, 3), 16) < 128;
    const draw = (image, text) => {
      pen.fillStyle = ground;
      pen.fillRect(0, 0, width, height);
      pen.drawImage(image, 0, 0, image.width * scale, image.height * scale);
      pen.fillStyle = dark ? "#e8eaed" : "#1f2328";
      pen.font = `${14 * scale}px system-ui, sans-serif`;
      if (text) pen.fillText(text, 16 * scale, height - 14 * scale, width - 32 * scale);
    };
    return { canvas, pen, draw, width, height };
  }
  const kinds = {
    async svg() { return new Blob([shot().svg], { type: "image/svg+xml" }); },
    async png() {
      const made = shot(), canvas = canvasOf(2 * made.width, 2 * made.height);
      canvas.getContext("2d").drawImage(await imageOf(made.svg), 0, 0, canvas.width, canvas.height);
      return new Promise((done) => canvas.toBlob(done, "image/png"));
    },
    async gif() {
      const found = await scenes(), { pen, draw, width, height } = await painted(found, 1), frames = [];
      let last = "";
      for (const [one, ms, text] of found) {
        if (one.svg + text === last) { frames[frames.length - 1][1] += Math.round(ms / 10); continue; }
        last = one.svg + text;
        draw(await imageOf(one.svg), text);
        frames.push([pen.getImageData(0, 0, width, height), Math.round(ms / 10)]);
      }
      return gifOf(frames, width, height);
    },
    async webm() {
      const found = await scenes(), { canvas, draw } = await painted(found, 1);
      const images = [];
      for (const [one] of found) images.push(await imageOf(one.svg));
      const type = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"].find((one) => MediaRecorder.isTypeSupported(one));
      if (!type) throw new Error("this browser records no WebM: take the GIF");
      draw(images[0], found[0][2]);
      const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: type, videoBitsPerSecond: 4_000_000 }), chunks = [];
      recorder.addEventListener("dataavailable", (event) => chunks.push(event.data));
      const ended = new Promise((done) => recorder.addEventListener("stop", done));
      recorder.start();
      for (let i = 0; i < found.length; i++) {
        said.textContent = `Recording: ${i + 1} of ${found.length} …`;
        for (let rest = found[i][1]; rest > 0; rest -= STEP) { // a still canvas gives no frames
          draw(images[i], found[i][2]);
          await wait(Math.min(rest, STEP));
        }
      }
      recorder.stop();
      await ended;
      return new Blob(chunks, { type: "video/webm" });
    },
    async html() {
      const found = await scenes({ motion: false });
      return new Blob([page(title, found.map(([one, , text]) => ({ svg: one.svg, text })))], { type: "text/html" });
    },
  };
  let busy = false;
  const make = async (kind) => {
    if (busy) return;
    busy = true;
    panel.setAttribute("aria-busy", "true");
    said.textContent = "Drawing …";
    try {
      const blob = await kinds[kind]();
      download(blob, `${name}.${kind}`);
      said.textContent = `${name}.${kind}: ${Math.max(1, Math.round(blob.size / 1024))} KiB.`;
      if (kind === "html") frame.value = `<iframe src="${name}.html" title="${title}" width="960" height="540" style="border:0"></iframe>`;
    } catch (error) {
      said.textContent = `This could not be drawn: ${error.message}`;
    }
    busy = false;
    panel.removeAttribute("aria-busy");
  };
  const button = (text, words, act) => h("button", { type: "button", class: "kitlib-share-button", title: words, onclick: act }, text);
  const row = (label, help) => {
    const box = h("input", { type: "text", readonly: "", "aria-label": label, placeholder: help });
    box.addEventListener("focus", () => box.select());
    const copy = button("Copy", `copy: ${label}`, async () => {
      box.select();
      try { await navigator.clipboard.writeText(box.value); } catch { document.execCommand("copy"); }
      said.textContent = `Copied: ${label}.`;
    });
    copy.setAttribute("aria-label", `copy: ${label}`);
    rows.append(h("div", { class: "kitlib-share-row" }, h("span", {}, label), box, copy));
    return box;
  };
  const rows = h("div", {});
  const link = row("Link", ""), shell = row("Command", ""), line = row("Python", ""), frame = row("Frame for slides", "");
  panel.append(rows,
    h("div", { class: "kitlib-share-row" }, h("span", {}, "Picture"), button("SVG", "lines and text alone, for documents and print", () => make("svg")),
      button("PNG", "twice as dense as the screen", () => make("png")), button("GIF", "the scenes one after the other", () => make("gif")),
      button("WebM", "the scenes as a video", () => make("webm")), button("Page (HTML)", "one file with all scenes, for slides", () => make("html")),
      h("label", {}, light, " light colours, for print")), said);
  const told = (message) => {
    if (message.kind !== "shared") return;
    const site = message.site || siteOf(); // without one the link is its fragment: it goes behind any site's address
    for (const one of [link, shell, line]) one.parentElement.hidden = !message.fragment;
    const label = site ? "Link" : "End of a link (put it behind the address of a site of the kit)";
    link.setAttribute("aria-label", label);
    link.parentElement.firstElementChild.textContent = site ? "Link" : "End of a link";
    link.parentElement.firstElementChild.title = site ? "" : label;
    link.value = message.fragment ? `${site}#${message.fragment}` : "";
    shell.value = message.fragment ? `kitlib lab '#${message.fragment}'` : "";
    line.value = message.code;
    frame.value = message.fragment && site ? `<iframe src="${link.value}" title="${title}" width="960" height="720" style="border:0"></iframe>` : "";
    frame.placeholder = "press Page (HTML): one file that needs no server";
    said.textContent = message.problem;
  };
  model.on("msg:custom", told);
  const ask = () => model.send({ kind: "share" });
  ask();
  return ask;
}
// The address of the browser site where this page is one; "" elsewhere.
function siteOf() {
  const lite = /^(.*\/)(?:lab|notebooks|tree|repl)\/(?:index\.html)?(?:[?#]|$)/.exec(location.href);
  return document.querySelector("script[data-jupyter-lite-root]") && lite ? lite[1] + "lab/index.html" : "";
}
// All scenes in one file, walked with the arrow keys or the buttons; it asks for nothing.
function page(title, scenes) {
  const safe = (text) => svgText(text), many = scenes.length > 1;
  const unique = ({ svg, text }, i) => `<figure${i ? " hidden" : ""}>${svg.replace(/id="p(\d+)"/g, `id="s${i}p$1"`).replace(/url\(#p(\d+)\)/g, `url(#s${i}p$1)`)}<figcaption>${safe(text)}</figcaption></figure>`;
  const script = `const all=[...document.querySelectorAll("figure")],to=(i)=>{at=Math.max(0,Math.min(all.length-1,i));all.forEach((one,n)=>{one.hidden=n!==at});
document.querySelector("output").textContent=(at+1)+" of "+all.length};let at=0;document.querySelector("#back").onclick=()=>to(at-1);document.querySelector("#on").onclick=()=>to(at+1);
addEventListener("keydown",(event)=>{if(event.key==="ArrowRight")to(at+1);if(event.key==="ArrowLeft")to(at-1)});to(0)`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width"><title>${safe(title)}</title><style>body{margin:0;font:16px system-ui,sans-serif;background:#fff;color:#1f2328}figure{margin:0}svg{width:100%;height:auto;max-height:82vh}
figcaption{padding:0 16px;min-height:1.5em}nav{padding:8px 16px;display:flex;gap:8px;align-items:center}button{font:inherit;padding:4px 12px}</style>
${scenes.map(unique).join("\n")}${many ? `<nav><button id="back">◀ Back</button><button id="on">Next ▶</button><output></output></nav><script>${script}</script>` : ""}</html>`;
}
