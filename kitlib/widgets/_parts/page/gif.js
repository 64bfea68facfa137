// A moving picture as a GIF: one palette of the colours that are seen most, and LZW as GIF89a wants it.
// Source: CompuServe, Graphics Interchange Format, version 89a, appendix F.
const key = (red, green, blue) => ((red >> 3) << 10) | ((green >> 3) << 5) | (blue >> 3);
function paletteOf(frames) {
  const sums = new Map();
  for (const { data } of frames) for (let i = 0; i < data.length; i += 4) {
    const name = key(data[i], data[i + 1], data[i + 2]);
    let sum = sums.get(name);
    if (!sum) sums.set(name, (sum = [0, 0, 0, 0]));
    sum[0] += data[i]; sum[1] += data[i + 1]; sum[2] += data[i + 2]; sum[3] += 1;
  }
  return [...sums.values()].sort((one, other) => other[3] - one[3]).slice(0, 256).map(([r, g, b, n]) => [r / n, g / n, b / n].map(Math.round));
}
function indexed({ data }, palette, near) {
  const found = new Uint8Array(data.length / 4);
  for (let i = 0, p = 0; i < data.length; i += 4, p++) {
    const name = key(data[i], data[i + 1], data[i + 2]);
    let best = near.get(name);
    if (best === undefined) {
      let least = Infinity;
      palette.forEach(([r, g, b], n) => {
        const far = (r - data[i]) ** 2 + (g - data[i + 1]) ** 2 + (b - data[i + 2]) ** 2;
        if (far < least) { least = far; best = n; }
      });
      near.set(name, best);
    }
    found[p] = best;
  }
  return found;
}
function lzw(pixels, out) {
  const CLEAR = 256, END = 257;
  let codes = new Map(), next = 258, wide = 9, held = 0, bits = 0, block = [];
  const byte = (value) => { block.push(value); if (block.length === 255) { out.push(255, ...block); block = []; } };
  const emit = (code) => {
    held |= code << bits;
    bits += wide;
    while (bits >= 8) { byte(held & 255); held >>>= 8; bits -= 8; }
  };
  emit(CLEAR);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const name = prefix * 256 + pixels[i], code = codes.get(name);
    if (code !== undefined) { prefix = code; continue; }
    emit(prefix);
    if (next === 4096) { emit(CLEAR); codes = new Map(); next = 258; wide = 9; }
    else { codes.set(name, next); if (next === 1 << wide) wide += 1; next += 1; }
    prefix = pixels[i];
  }
  emit(prefix);
  emit(END);
  if (bits) byte(held & 255);
  if (block.length) out.push(block.length, ...block);
  out.push(0);
}
// frames: [ImageData, hundredths of a second each]
export function gifOf(frames, width, height) {
  const images = frames.map(([image]) => image), palette = paletteOf(images), near = new Map();
  while (palette.length < 256) palette.push([0, 0, 0]);
  const short = (value) => [value & 255, value >> 8];
  const out = [..."GIF89a"].map((sign) => sign.charCodeAt(0));
  out.push(...short(width), ...short(height), 0xf7, 0, 0, ...palette.flat());
  out.push(0x21, 0xff, 11, ...[..."NETSCAPE2.0"].map((sign) => sign.charCodeAt(0)), 3, 1, 0, 0, 0);
  for (const [image, hundredths] of frames) {
    out.push(0x21, 0xf9, 4, 0, ...short(hundredths), 0, 0, 0x2c, 0, 0, 0, 0, ...short(width), ...short(height), 0, 8);
    lzw(indexed(image, palette, near), out);
  }
  out.push(0x3b);
  return new Blob([new Uint8Array(out)], { type: "image/gif" });
}
