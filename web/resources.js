// The images and samplers that a shader runs with: what it asks for, and what the user chooses.

import { $, make } from "./dom.js";
import { base64 } from "./link.js";
import { page } from "./page.js";

const PATTERNS = ["checkerboard", "gradient", "noise"];
const SIZES = { "1d": "256", "2d": "256x256", "3d": "32x32x32", cube: "64x64", buffer: "256" };
const FILTERS = ["nearest", "linear"];
const ADDRESSES = ["clamp", "repeat", "mirror", "border"];
const COMPARISONS = ["", "less", "lequal", "greater", "gequal", "equal", "not-equal"];
/** Base64 of pictures beyond which a link leaves them out. */
const MAX_LINK = 1 << 16;

/** Choices by `set.binding`: `{ what, file }` of an image, the words of a sampler. */
let images = {};
let samplers = {};
let drawn = "";
let changed = () => {};

const key = (r) => `${r.set}.${r.binding}`;
const isImage = (r) => r.dim !== "";
const list = () => page.report?.resources ?? [];

/** The choice for an image: as made, or as its kind suggests. */
function imageOf(r) {
  const size = SIZES[r.dim] ?? "256x256";
  const storage = r.kind.startsWith("storage");
  return (images[key(r)] ??= { what: storage ? size : `checkerboard,size=${size}`, file: null });
}

const samplerOf = (r) => (samplers[key(r)] ??= "linear,clamp");

/** Images and samplers for a request. */
export function inputs() {
  return {
    images: list().filter(isImage).map((r) => ({ set: r.set, binding: r.binding, ...imageOf(r) })),
    samplers: list().filter((r) => r.sampler)
      .map((r) => ({ set: r.set, binding: r.binding, what: samplerOf(r) })),
  };
}

/** What a link holds of them, and whether it leaves a picture out. */
export function save() {
  const size = Object.values(images).reduce((sum, i) => sum + (i.file?.length ?? 0), 0);
  const leaves = size > MAX_LINK;
  const kept = Object.fromEntries(Object.entries(images).map(([k, i]) => [k, { what: i.what, file: leaves ? null : i.file }]));
  return { images: kept, samplers, leaves };
}

export function restore(saved) {
  images = structuredClone(saved.images ?? {});
  samplers = structuredClone(saved.samplers ?? {});
  drawn = "";
}

const select = (options, value, names = {}) => {
  const element = make("select", {},
    ...options.map((o) => make("option", { value: o, textContent: names[o] ?? o })));
  element.value = value;
  return element;
};

/** A picture as a PNG in base64: other kinds of files are converted by the browser. */
async function read(file) {
  let blob = file;
  if (file.type !== "image/png") {
    const bitmap = await createImageBitmap(file);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    blob = await canvas.convertToBlob({ type: "image/png" });
  }
  return base64(new Uint8Array(await blob.arrayBuffer()));
}

function imageRow(r) {
  const own = imageOf(r);
  const [head, ...rest] = own.what.split(",");
  const size = rest.find((w) => w.startsWith("size="))?.slice(5);
  const kind = own.file !== null || head === "picture" ? "picture" : PATTERNS.includes(head) ? head : "zeros";
  const content = select([...PATTERNS, "zeros", "picture"], kind, { picture: "a picture" });
  const extent = make("input", { value: size ?? (kind === "zeros" ? head : SIZES[r.dim]), size: 9, pattern: "\\d+(x\\d+){0,2}" });
  const file = make("input", { type: "file", accept: "image/*" });
  const sizeLabel = make("label", {}, "Size ", extent);
  const fileLabel = make("label", {}, "File ", file);
  const update = () => {
    const picture = content.value === "picture";
    sizeLabel.hidden = picture;
    fileLabel.hidden = !picture;
    if (picture) own.what = "picture";
    else {
      own.file = null;
      own.what = content.value === "zeros" ? extent.value : `${content.value},size=${extent.value}`;
    }
  };
  content.addEventListener("change", () => {
    update();
    if (content.value !== "picture") changed();
  });
  extent.addEventListener("change", () => {
    update();
    changed();
  });
  file.addEventListener("change", async () => {
    if (!file.files[0]) return;
    try {
      own.file = await read(file.files[0]);
      update();
      changed();
    } catch (error) {
      page.say(`The picture cannot be read: ${error.message}`);
    }
  });
  update();
  return [make("label", {}, "Image ", content), sizeLabel, fileLabel];
}

function samplerRow(r) {
  const words = samplerOf(r).split(",");
  const pick = (options) => options.find((o) => words.includes(o)) ?? options[0];
  const filter = select(FILTERS, pick(FILTERS));
  const address = select(ADDRESSES, pick(ADDRESSES));
  const comparison = select(COMPARISONS, pick(COMPARISONS), { "": "none" });
  for (const element of [filter, address, comparison]) {
    element.addEventListener("change", () => {
      samplers[key(r)] = [filter, address, comparison].map((e) => e.value).filter(Boolean).join(",");
      changed();
    });
  }
  return [make("label", {}, "Filter ", filter), make("label", {}, "Address mode ", address), make("label", {}, "Comparison ", comparison)];
}

/** Shows a row for each image and sampler of the report; `then` is called when the user has changed one. */
export function draw(then) {
  changed = then;
  const shown = list().filter((r) => isImage(r) || r.sampler);
  const now = JSON.stringify(shown);
  // What is as it was keeps the focus.
  if (now === drawn) return;
  drawn = now;
  $("resources").replaceChildren(...shown.map((r) => make("fieldset", { className: "inputs" },
    make("legend", { textContent: `${r.name || "resource"} (set ${r.set}, binding ${r.binding})` }),
    ...(isImage(r) ? imageRow(r) : []), ...(r.sampler ? samplerRow(r) : []))));
}
