// What is seen, as an SVG of rectangles, lines, patterns and text alone: no style sheet, no font, no HTML inside, so that
// every program draws and prints it alike. Positions, colours and line breaks are those of the page.
const SPACE = "http://www.w3.org/2000/svg";
const LEFT_OUT = ".kitlib-player, .kitlib-board-help, .kitlib-board-status, .kitlib-help, select, input, textarea, [hidden]";
const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const round = (value) => +value.toFixed(2);
const dot = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
const known = new Map(), ascents = new Map();
function colour(text) {
  if (known.has(text)) return known.get(text);
  dot.clearRect(0, 0, 1, 1);
  dot.fillStyle = "#000";
  dot.fillStyle = text;
  dot.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = dot.getImageData(0, 0, 1, 1).data;
  const found = { rgb: "#" + [red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join(""), alpha: round(alpha / 255) };
  known.set(text, found);
  return found;
}
function fill(text, name = "fill") {
  const { rgb, alpha } = colour(text);
  return `${name}="${rgb}"` + (alpha < 1 ? ` ${name}-opacity="${alpha}"` : "");
}
function ascent(style) {
  const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  if (!ascents.has(font)) {
    dot.font = font;
    const size = dot.measureText("Hg");
    ascents.set(font, size.fontBoundingBoxAscent / (size.fontBoundingBoxAscent + size.fontBoundingBoxDescent));
  }
  return ascents.get(font);
}
function layers(image) { // the layers of a background, split at commas outside brackets
  const found = [];
  let depth = 0, last = "";
  for (const sign of image) {
    depth += sign === "(" ? 1 : sign === ")" ? -1 : 0;
    if (sign === "," && !depth) { found.push(last.trim()); last = ""; } else last += sign;
  }
  return [...found, last.trim()];
}
function length(text, whole) {
  const part = /(-?[\d.]+)%/.exec(text), more = /(?:^|[\s(])([+-])?\s*(-?[\d.]+)px/.exec(text);
  return (part ? (whole * part[1]) / 100 : 0) + (more ? (more[1] === "-" ? -1 : 1) * more[2] : 0);
}
class Drawing {
  constructor() { this.parts = []; this.patterns = new Map(); this.right = this.bottom = 0; this.x = this.y = 0; }
  reach(right, bottom) { this.right = Math.max(this.right, right + this.x); this.bottom = Math.max(this.bottom, bottom + this.y); }
  add(text) { this.parts.push(text); }
  pattern(layer, box, size) {
    const [, kind, inside] = /^(repeating-linear|linear|radial)-gradient\((.*)\)$/.exec(layer) ?? [];
    if (!kind || kind === "linear") return null;
    const stops = layers(inside);
    let body, width, height, turn = 0;
    if (kind === "radial") {
      const first = stops.find((one) => /px/.test(one)), radius = length(first.split(/\)\s*/).pop(), 0) || 1.2;
      [width, height] = size.split(" ").map(parseFloat);
      height = height || width;
      if (!width) return null;
      body = `<circle cx="${width / 2}" cy="${height / 2}" r="${radius}" ${fill(first.replace(/\s[\d.]+px$/, ""))}/>`;
    } else {
      turn = (/^(-?[\d.]+)deg$/.test(stops[0]) ? parseFloat(stops.shift()) : 180) - 90;
      const places = stops.flatMap((stop) => { // computed values hold one or two places behind a colour
        const found = /^((?:rgba?|color|oklab|oklch)\([^)]*\)|#\w+|\w+)\s*(.*)$/.exec(stop);
        const at = found[2].match(/calc\([^)]*\)|-?[\d.]+(?:px|%)/g) ?? [];
        return at.map((one) => [found[1], length(one, box.width)]);
      });
      width = height = places.length ? places[places.length - 1][1] : 0;
      if (!width) return null;
      body = places.slice(1).map(([paint, to], i) => places[i][0] === paint && to > places[i][1] && colour(paint).alpha
        ? `<rect x="${round(places[i][1])}" width="${round(to - places[i][1])}" height="${round(height)}" ${fill(paint)}/>` : "").join("");
      if (!body) return null;
    }
    const from = turn % 180 ? `translate(${round(box.x + this.x)} ${round(box.y + this.y)}) rotate(${turn})` : `translate(${round(box.x + this.x)} ${round(box.y + this.y)})`;
    const made = `width="${round(width)}" height="${round(height)}" patternUnits="userSpaceOnUse" patternTransform="${from}">${body}`;
    if (!this.patterns.has(made)) this.patterns.set(made, "p" + this.patterns.size);
    return this.patterns.get(made);
  }
  rect(box, attributes, radius = 0) {
    this.add(`<rect x="${round(box.x + this.x)}" y="${round(box.y + this.y)}" width="${round(box.width)}" height="${round(box.height)}"${radius ? ` rx="${round(radius)}"` : ""} ${attributes}/>`);
  }
  surface(box, style) {
    const radius = Math.min(parseFloat(style.borderTopRightRadius) || 0, box.width / 2, box.height / 2);
    if (colour(style.backgroundColor).alpha) this.rect(box, fill(style.backgroundColor), radius);
    if (style.backgroundImage !== "none") for (const layer of layers(style.backgroundImage).reverse()) {
      const name = this.pattern(layer, box, style.backgroundSize.split(",")[0]);
      if (name) this.rect(box, `fill="url(#${name})"`, radius);
    }
    for (const shadow of style.boxShadow === "none" ? [] : layers(style.boxShadow)) {
      const [paint] = /^(?:rgba?|color)\([^)]*\)/.exec(shadow) ?? [], wide = parseFloat(shadow.match(/-?[\d.]+px/g)?.[3] ?? 0);
      if (!paint || !wide) continue;
      const out = shadow.includes("inset") ? -wide / 2 : wide / 2;
      this.rect({ x: box.x - out, y: box.y - out, width: box.width + 2 * out, height: box.height + 2 * out }, `fill="none" ${fill(paint, "stroke")} stroke-width="${wide}"`, radius);
    }
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
      wide: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]), paint: style[`border${side}Color`], dash: style[`border${side}Style`],
    }));
    const dashes = (side) => (side.dash === "dashed" ? ` stroke-dasharray="${side.wide * 3} ${side.wide * 2}"` : side.dash === "dotted" ? ` stroke-dasharray="${side.wide}"` : "");
    const [top] = sides, thin = Math.min(...sides.map((side) => side.wide));
    const whole = thin && sides.every((side) => side.paint === top.paint && side.dash === top.dash) ? top : null;
    if (whole && colour(whole.paint).alpha)
      this.rect({ x: box.x + thin / 2, y: box.y + thin / 2, width: Math.max(box.width - thin, 0), height: Math.max(box.height - thin, 0) },
        `fill="none" ${fill(whole.paint, "stroke")} stroke-width="${thin}"${dashes({ ...whole, wide: thin })}`, radius);
    sides.forEach((side, i) => {
      if (!side.wide || !colour(side.paint).alpha || (whole && side.wide === thin)) return;
      const half = side.wide / 2, flat = i % 2 === 0;
      const at = flat ? (i ? box.bottom - half : box.top + half) : i === 1 ? box.right - half : box.left + half;
      const ends = flat ? [box.left, at, box.right, at] : [at, box.top, at, box.bottom];
      const [x1, y1, x2, y2] = ends.map((one, n) => round(one + (n % 2 ? this.y : this.x)));
      this.add(`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${fill(side.paint, "stroke")} stroke-width="${side.wide}"${dashes(side)}/>`);
    });
  }
  line(text, box, style, fit = true) {
    const words = text.replace(/\s+/g, " ").trim();
    if (!words || !box.width) return;
    const size = parseFloat(style.fontSize), y = box.y + box.height * ascent(style);
    const more = [style.fontWeight > 450 ? ` font-weight="${style.fontWeight}"` : "", style.fontStyle === "italic" ? ' font-style="italic"' : "",
      style.textDecorationLine.includes("line-through") ? ' text-decoration="line-through"' : "", fit ? ` textLength="${round(box.width)}" lengthAdjust="spacingAndGlyphs"` : ""];
    this.add(`<text x="${round(box.x + this.x)}" y="${round(y + this.y)}" font-family="${escaped(style.fontFamily)}" font-size="${size}"${more.join("")} ${fill(style.color)}>${escaped(words)}</text>`);
    this.reach(box.x + box.width, box.y + box.height);
  }
  words(node, style) {
    const range = document.createRange(), text = node.data;
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0.2);
    if (!boxes.length) return;
    const clip = clipOf(node.parentElement), cut = clip && boxes[0].right > clip.right + 1;
    if (cut) { // as the page does it: as many letters as fit, and three dots
      let end = text.length;
      do { range.setEnd(node, --end); } while (end > 1 && range.getBoundingClientRect().right > clip.right - 8);
      return this.line(text.slice(0, end).trimEnd() + "…", { ...plainBox(range.getBoundingClientRect()), width: Math.max(range.getBoundingClientRect().width + 8, 4) }, style);
    }
    if (boxes.length === 1) return this.line(text, boxes[0], style);
    let from = 0, top = null;
    const flush = (to) => {
      range.setStart(node, from);
      range.setEnd(node, to);
      const box = range.getBoundingClientRect();
      if (text.slice(from, to).trim()) this.line(text.slice(from, to), box, style);
      from = to;
    };
    for (const word of text.matchAll(/\S+\s*/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].trimEnd().length);
      const box = range.getClientRects()[0];
      if (box && top !== null && box.top > top + 3) flush(word.index);
      if (box) top = box.top;
    }
    flush(text.length);
  }
  walk(node, shown = 1) {
    if (node.matches(LEFT_OUT)) return;
    const style = getComputedStyle(node), box = node.getBoundingClientRect(), opacity = shown * style.opacity;
    if (style.display === "none" || style.visibility === "hidden" || opacity < 0.02) return;
    const faded = style.opacity < 1;
    if (faded) this.add(`<g opacity="${round(+style.opacity)}">`);
    if (node instanceof HTMLCanvasElement) {
      this.add(`<image x="${round(box.x + this.x)}" y="${round(box.y + this.y)}" width="${round(box.width)}" height="${round(box.height)}" href="${node.toDataURL()}"/>`);
      this.reach(box.right, box.bottom);
    } else if (node instanceof SVGSVGElement) { // drawn already: only the page's colours are put in
      const paint = (_, name) => colour(style.getPropertyValue("--kit-" + name).trim()).rgb;
      const inside = node.innerHTML.replace(/var\(--kit-([\w-]+)(?:,[^)]*)?\)/g, paint).replace(/currentColor/g, colour(style.color).rgb)
        .replace(/<rect class="kitlib-hit"[^>]*>(<\/rect>)?/g, "").replace(/ (?:data-|aria-)[\w-]+="[^"]*"| (?:role|tabindex|class|style)="[^"]*"/g, "");
      this.add(`<svg x="${round(box.x + this.x)}" y="${round(box.y + this.y)}" width="${round(box.width)}" height="${round(box.height)}" viewBox="${node.getAttribute("viewBox")}" font-family="${escaped(style.fontFamily)}" font-size="12">${inside}</svg>`);
      this.reach(box.right, box.bottom);
      if (faded) this.add("</g>");
      return;
    } else if (style.display !== "contents" && box.width && (box.height || node.matches(".kitlib-board-mark"))) {
      this.surface(box, style);
      if (style.position !== "absolute") this.reach(box.right, box.bottom);
    }
    const before = getComputedStyle(node, "::before").content;
    if (/^"[^"]+"$/.test(before)) this.line(before.slice(1, -1), { x: box.x, y: box.y, width: 12, height: parseFloat(style.lineHeight) || box.height }, style, false);
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) this.words(child, style);
      else if (child.nodeType === Node.ELEMENT_NODE) this.walk(child, opacity);
    }
    if (faded) this.add("</g>");
  }
}
const plainBox = (box) => ({ x: box.x, y: box.y, width: box.width, height: box.height });
function clipOf(node) {
  for (let above = node, i = 0; above && i < 3; above = above.parentElement, i++)
    if (getComputedStyle(above).textOverflow === "ellipsis") return above.getBoundingClientRect();
  return null;
}
// The page in light colours while something is drawn: nothing is painted meanwhile.
function inLight(light, draw) {
  const body = document.body, was = body.getAttribute("data-jp-theme-light"), code = body.getAttribute("data-vscode-theme-kind"), sheet = document.createElement("style");
  if (!light || (was !== "false" && !/dark|contrast/.test(code ?? ""))) return draw();
  sheet.textContent = "body{--jp-layout-color0:#fff!important}.kitlib-widget,.kitlib-widget *{transition:none!important}body{--kit-ground:#fff!important;--jp-ui-font-color1:#1f2328!important;--jp-content-font-color1:#1f2328!important}";
  document.head.append(sheet);
  if (was) body.setAttribute("data-jp-theme-light", "true");
  if (code) body.setAttribute("data-vscode-theme-kind", "vscode-light");
  try { return draw(); } finally {
    if (was) body.setAttribute("data-jp-theme-light", was);
    if (code) body.setAttribute("data-vscode-theme-kind", code);
    sheet.remove();
  }
}
export function pictureSvg(parts, { title, sentence = "", light = false, room = 16 }) {
  return inLight(light, () => {
    const drawing = new Drawing(), ground = colour(getComputedStyle(parts[0]).getPropertyValue("--kit-ground").trim() || "#fff");
    const inner = [];
    let y = room;
    for (const part of parts) {
      const box = part.getBoundingClientRect();
      drawing.x = room - box.x;
      drawing.y = y - box.y;
      drawing.bottom = y;
      drawing.walk(part);
      y = drawing.bottom + 10;
    }
    inner.push(...drawing.parts);
    const width = Math.ceil(drawing.right + room), height = Math.ceil(drawing.bottom + room);
    const patterns = [...drawing.patterns].map(([text, id]) => `<pattern id="${id}" ${text}</pattern>`).join("");
    const svg = `<svg xmlns="${SPACE}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"><title>${escaped(title)}</title>`
      + (sentence ? `<desc>${escaped(sentence)}</desc>` : "") + (patterns ? `<defs>${patterns}</defs>` : "")
      + `<rect width="${width}" height="${height}" fill="${ground.rgb}"/>${inner.join("")}</svg>`;
    return { svg, width, height };
  });
}
export const svgText = escaped;
