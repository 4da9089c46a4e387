// The pane that runs shaders: pictures, buffers, findings.

import { $, make } from "./dom.js";
import * as findings from "./findings.js";
import { attempt, page, shader } from "./page.js";
import * as resources from "./resources.js";

/** The last run, which tests ask another build of the core for. */
export const last = { request: null, outcome: null };

/** Seconds that the clock of the shader shows. */
export const clock = {
  seconds: 0,
  began: 0,
  get now() {
    return this.seconds + (this.began ? (performance.now() - this.began) / 1000 : 0);
  },
  start() {
    this.began = performance.now();
  },
  stop() {
    [this.seconds, this.began] = [this.now, 0];
  },
};

let pointer = [0, 0];

export function inputs() {
  const number = (id) => Math.max(Number($(id).value) || 0, 1);
  const groups = $("groups").value.split(",").map((n) => Math.max(Math.trunc(Number(n)) || 1, 1)).concat(1, 1).slice(0, 3);
  const words = number("words");
  const storage = (page.report?.resources ?? []).filter((r) => r.kind === "storage_buffer");
  return {
    size: [Math.min(number("width"), 1024), Math.min(number("height"), 1024)],
    time: clock.now,
    pointer,
    vertices: number("vertices"),
    groups,
    buffers: storage.map((r) => ({ set: r.set, binding: r.binding, words, fill: $("fill").value })),
    ...resources.inputs(),
  };
}

/** Draws pixels of an answer from a byte on. */
export function paint(canvas, pixels, offset, [width, height]) {
  [canvas.width, canvas.height] = [width, height];
  const data = pixels.subarray(offset, offset + 4 * width * height);
  canvas.getContext("2d").putImageData(new ImageData(data, width, height), 0, 0);
}

/** The instructions of a run: those of the M1 for each lane. */
function work(instructions) {
  const isLanes = $("gpu").value === "m1";
  return `${(isLanes ? instructions * 32 : instructions).toLocaleString("en")} ${isLanes ? "lane-instructions" : "instructions"}`;
}

/** Runs the shader; true if it ran to its end. */
export async function run() {
  if (!page.report) return false;
  const before = performance.now();
  const checked = $("check").checked;
  const request = { op: "run", ...shader(), inputs: inputs(), check: checked };
  const outcome = await attempt(() => page.machine.call(request));
  const milliseconds = performance.now() - before;
  if (!outcome) return false;
  Object.assign(last, { request, outcome });
  $("figures").textContent =
    `${outcome.threads.toLocaleString("en")} threads, ${work(outcome.instructions)}, ` +
    `${milliseconds.toFixed(0)} ms`;
  const drawn = outcome.size[0] > 0;
  $("canvas").hidden = !drawn;
  if (drawn) paint($("canvas"), outcome.pixels, 0, outcome.size);
  $("pictures").replaceChildren(...outcome.pictures.map((p) => drawPicture(p, outcome.pixels)));
  $("buffers").replaceChildren(...outcome.buffers.flatMap(drawBuffer));
  findings.draw(checked ? outcome.findings : null);
  return true;
}

const title = (r, rest = "") => make("h2", { textContent: `${r.name || "resource"} (set ${r.set}, binding ${r.binding})${rest}` });

/** A storage image. */
function drawPicture(picture, pixels) {
  const canvas = make("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Storage image ${picture.name}`);
  const layers = picture.layers > 1 ? `, ${picture.layers} layers` : "";
  const [width, height] = picture.size;
  paint(canvas, pixels, picture.offset, picture.size);
  return make("figure", {}, title(picture), canvas, make("figcaption", {
    textContent: `${width} × ${height}, ${picture.format}${layers}; hash of the texels ${picture.fingerprint}`,
  }));
}

export const floats = (words) => new Float32Array(Uint32Array.from(words).buffer);

/** Small numbers that floats hardly ever are: then the words are integers. */
export function isInteger(words) {
  return words.every((w) => w < 1 << 24 || w > 0xff000000);
}

function drawBuffer(buffer) {
  const integer = isInteger(buffer.words);
  const values = integer ? buffer.words.map((w) => w | 0) : [...floats(buffer.words)];
  const COLUMNS = 8;
  const table = make("table");
  for (let k = 0; k < Math.min(values.length, 32 * COLUMNS); k += COLUMNS) {
    const cells = values.slice(k, k + COLUMNS);
    table.append(make("tr", {}, make("th", { textContent: k, scope: "row" }),
      ...cells.map((v) => make("td", { textContent: integer ? v : Number(v.toPrecision(6)) }))));
  }
  const scroll = make("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", `Words of ${buffer.name || "the buffer"} at set ${buffer.set}, binding ${buffer.binding}`);
  return [title(buffer), plot(values), scroll];
}

/** Values over their index. */
function plot(values) {
  const [width, height] = [512, 120];
  const canvas = make("canvas", { width, height });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Plot of the values");
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), 0);
  const high = finite.reduce((a, b) => Math.max(a, b), low + 1e-9);
  const context = canvas.getContext("2d");
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  context.beginPath();
  values.forEach((v, k) => {
    const x = ((k + 0.5) / values.length) * width;
    const y = height - 4 - ((v - low) / (high - low)) * (height - 8);
    if (k) context.lineTo(x, y);
    else context.moveTo(x, y);
  });
  context.stroke();
  return canvas;
}

/** Wires the picture: `debug` is called for a pixel that was clicked. */
export function wire(debug) {
  $("canvas").addEventListener("pointermove", (event) => {
    const box = $("canvas").getBoundingClientRect();
    pointer = [
      ((event.clientX - box.left) / box.width) * $("canvas").width,
      ((event.clientY - box.top) / box.height) * $("canvas").height,
    ];
  });
  $("canvas").addEventListener("click", () => {
    $("target").value = pointer.map(Math.floor).join(",");
    debug();
  });
}
