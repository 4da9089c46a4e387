// The page: editor, panes, and a link that holds their state.

import { call, load, pixels } from "./core.js";
import { Editor, hue } from "./editor.js";
import { EXAMPLES } from "./examples.js";

const $ = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const FIELDS = ["stage", "width", "height", "vertices", "groups", "words", "fill", "target"];
const TABS = ["asm", "ir", "run", "debug"];
let tab = "asm";
let report = null;
let program = null;
let last = null;
let start = 0;

const editor = new Editor($("editor"), { changed, hovered: heat, gutter: breakpoint });

/* State and its link. */

function state() {
  const fields = Object.fromEntries(FIELDS.map((name) => [name, $(name).value]));
  return { text: editor.text, tab, ...fields };
}

function restore(saved) {
  for (const name of FIELDS) {
    if (saved[name] !== undefined) $(name).value = saved[name];
  }
  editor.text = saved.text ?? "";
  show(TABS.includes(saved.tab) ? saved.tab : "asm");
}

async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

async function unpack(packed) {
  const binary = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

async function remember() {
  history.replaceState(null, "", "#" + (await pack(JSON.stringify(state()))));
}

/* Compiling. */

/** Leaves the recording of another text. */
function forget() {
  [program, last] = [null, null];
  editor.mark({ now: 0 });
  $("where").textContent = "Press Debug to record one SIMD-group.";
  $("lanes").replaceChildren();
  $("registers").replaceChildren();
  $("answer").textContent = "";
}

let timer;
function changed() {
  if (program) forget();
  clearTimeout(timer);
  timer = setTimeout(compile, 30);
}

function shader() {
  return { text: editor.text, stage: $("stage").value || null };
}

/** Carries out what may fail, and shows the error at its place. */
function attempt(what) {
  try {
    const result = what();
    $("error").hidden = true;
    editor.mark({ error: null });
    return result;
  } catch (error) {
    const place = error.place ?? null;
    $("error").textContent = (place ? `Line ${place.line}: ` : "") + error.message;
    $("error").hidden = false;
    editor.mark({ error: place });
    return null;
  }
}

function compile() {
  clearTimeout(timer);
  const before = performance.now();
  const passes = tab === "ir";
  report = attempt(() => call({ op: "compile", ...shader(), passes }));
  const milliseconds = performance.now() - before;
  remember();
  $("asm").classList.toggle("stale", !report);
  if (!report) {
    $("status").textContent = "Error";
    return;
  }
  $("status").textContent = `Compiled in ${milliseconds.toFixed(0)} ms`;
  drawListing();
  if (passes) drawPasses();
}

function drawListing() {
  $("summary").textContent = report.summary;
  $("occupancy").textContent = report.occupancy;
  const lines = new Set();
  const row = (i) => {
    if (i.line) lines.add(i.line);
    const item = make("li", { tabIndex: -1 },
      make("span", { className: "offset", textContent: i.offset.toString(16) }),
      make("span", { className: "place", textContent: i.line || "" }),
      make("span", { className: "text", textContent: i.text }));
    item.dataset.line = i.line ?? 0;
    item.dataset.offset = i.offset;
    if (i.line) {
      item.classList.add("marked");
      item.style.setProperty("--hue", hue(i.line));
    }
    return item;
  };
  const title = (text) => make("li", { className: "title", textContent: text });
  const preamble = report.preamble.map(row);
  preamble.forEach((item) => delete item.dataset.offset);
  const parts = preamble.length ? [title("preamble, once for all threads"), ...preamble, title("main")] : [];
  $("asm").replaceChildren(...parts, ...report.asm.map(row));
  editor.mark({ lines });
}

function drawPasses() {
  const chosen = $("pass").selectedIndex;
  const name = $("pass").value;
  $("pass").replaceChildren(...report.passes.map((p, k) => make("option", { value: `${k} ${p.name}`, textContent: p.name })));
  const same = [...$("pass").options].findIndex((o, k) => o.value === name || (k === chosen && k > 0));
  $("pass").selectedIndex = same >= 0 ? same : report.passes.length - 1;
  drawPass();
}

function drawPass() {
  $("ir").textContent = report?.passes[$("pass").selectedIndex]?.text ?? "";
}

/** Lights up a source line and its instructions. */
function heat(line, from) {
  editor.mark({ hot: line });
  let first = true;
  for (const item of $("asm").children) {
    const hot = line > 0 && Number(item.dataset.line) === line;
    item.classList.toggle("hot", hot);
    if (hot && first && !from) {
      item.scrollIntoView({ block: "nearest" });
      first = false;
    }
  }
}

$("asm").addEventListener("mouseover", (event) => {
  const item = event.target.closest("li");
  if (item) heat(Number(item.dataset.line ?? 0), true);
});
$("asm").addEventListener("mouseleave", () => heat(0, true));
$("asm").addEventListener("click", (event) => {
  const item = event.target.closest("li[data-line]");
  if (!item) return;
  const text = item.querySelector(".text").textContent;
  const entry = attempt(() => call({ op: "manual", name: text.split(" ")[0] }));
  $("manual").hidden = !entry;
  $("manual").textContent = entry?.text ?? "";
  editor.show(Number(item.dataset.line));
});

/* Running. */

function inputs() {
  const number = (id) => Math.max(Number($(id).value) || 0, 1);
  const groups = $("groups").value.split(",").map(Number).concat(1, 1).slice(0, 3);
  const words = number("words");
  const storage = (report?.resources ?? []).filter((r) => r.kind === "storage");
  return {
    size: [Math.min(number("width"), 1024), Math.min(number("height"), 1024)],
    time: start ? (performance.now() - start) / 1000 : 0,
    pointer,
    vertices: number("vertices"),
    groups,
    buffers: storage.map((r) => ({ set: r.set, binding: r.binding, words, fill: $("fill").value })),
  };
}

let pointer = [0, 0];
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

function run() {
  if (!report) compile();
  if (!report) return false;
  if (tab !== "run") show("run");
  const before = performance.now();
  const request = { op: "run", ...shader(), inputs: inputs() };
  const outcome = attempt(() => call(request));
  const milliseconds = performance.now() - before;
  if (!outcome) return false;
  // For tests, which ask another build of the core the same.
  [window.tepuiLastRun, window.tepuiLastBuffers] = [request, outcome.buffers];
  $("figures").textContent =
    `${outcome.threads.toLocaleString("en")} threads, ${(outcome.instructions * 32).toLocaleString("en")} lane-instructions, ` +
    `${milliseconds.toFixed(0)} ms`;
  const [width, height] = outcome.size;
  $("canvas").hidden = width === 0;
  if (width) {
    [$("canvas").width, $("canvas").height] = [width, height];
    $("canvas").getContext("2d").putImageData(new ImageData(pixels(), width, height), 0, 0);
  }
  $("buffers").replaceChildren(...outcome.buffers.flatMap(drawBuffer));
  const finding = (f) => `${f.rule}${f.source ? `, line ${f.source.line}` : ""}: ${f.instruction}: ${f.what}`;
  $("reports").replaceChildren(...outcome.findings.map((f) => make("li", { textContent: finding(f) })));
  return true;
}

const floats = (words) => new Float32Array(Uint32Array.from(words).buffer);

/** Small numbers that floats hardly ever are: then the words are integers. */
function isInteger(words) {
  return words.every((w) => w < 1 << 24 || w > 0xff000000);
}

function drawBuffer(buffer) {
  const integer = isInteger(buffer.words);
  const values = integer ? buffer.words.map((w) => w | 0) : [...floats(buffer.words)];
  const title = make("h2", { textContent: `${buffer.name || "buffer"} (set ${buffer.set}, binding ${buffer.binding})` });
  title.style.fontSize = "1rem";
  const COLUMNS = 8;
  const table = make("table");
  for (let k = 0; k < Math.min(values.length, 32 * COLUMNS); k += COLUMNS) {
    const cells = values.slice(k, k + COLUMNS);
    table.append(make("tr", {}, make("th", { textContent: k, scope: "row" }),
      ...cells.map((v) => make("td", { textContent: integer ? v : Number(v.toPrecision(6)) }))));
  }
  return [title, plot(values), make("div", { className: "scroll" }, table)];
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

let frame = 0;
function play() {
  const on = $("play").getAttribute("aria-pressed") !== "true";
  $("play").setAttribute("aria-pressed", on);
  $("play").textContent = on ? "Pause" : "Play";
  cancelAnimationFrame(frame);
  if (!on) return;
  start ||= performance.now();
  const next = () => {
    if (run()) frame = requestAnimationFrame(next);
    else play();
  };
  next();
}

/* The debugger. */

function debug() {
  if (!report) compile();
  if (!report) return;
  if (tab !== "debug") show("debug");
  const numbers = $("target").value.split(",").map(Number).filter(Number.isFinite);
  let group = null;
  if ($("target").value && numbers.length) {
    group = report.stage === "fragment"
      ? { pixel: [numbers[0], numbers[1] ?? 0] }
      : { thread: [[numbers[0], numbers[1] ?? 0, numbers[2] ?? 0], numbers[3] ?? 0] };
  }
  const got = attempt(() => call({ op: "debug", ...shader(), inputs: inputs(), group }));
  if (!got) return;
  program = got.program;
  for (const line of editor.marks.breaks) attempt(() => call({ op: "command", line: `break ${line}` }));
  drawState(attempt(() => call({ op: "command", line: "where" })));
}

function command(line) {
  if (!program) return debug();
  const got = attempt(() => call({ op: "command", line }));
  if (got) drawState(got);
}

function drawState({ text, state }) {
  $("answer").textContent = text;
  if (!state) return;
  const now = program.find((i) => i.offset === state.offset);
  $("where").textContent =
    `${state.title} · step ${state.step} of ${state.steps - 1}${state.truncated ? " (the recording is full)" : ""} · line ${state.line}\n` +
    `${state.offset.toString(16)}: ${now?.text ?? ""}`;
  $("lanes").replaceChildren(...Array.from({ length: 32 }, (_, lane) => {
    const on = (state.exec >>> lane) & 1;
    const button = make("button", { textContent: lane, className: on ? "on" : "", disabled: !((state.alive >>> lane) & 1) });
    button.setAttribute("aria-pressed", lane === state.lane);
    button.title = on ? "executes" : "waits";
    button.addEventListener("click", () => command(`lane ${lane}`));
    return button;
  }));
  drawRegisters(state);
  editor.mark({ now: state.line });
  editor.show(state.line);
}

function drawRegisters(state) {
  last = state;
  const as = $("as").value;
  const half = (h) => {
    const [sign, exponent, fraction] = [h >> 15 ? -1 : 1, (h >> 10) & 31, h & 1023];
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  };
  const text = {
    // Small integers are hardly ever floats: those would be next to zero.
    auto: (w) => (isInteger([w]) ? String(w | 0) : String(Number(floats([w])[0].toPrecision(6)))),
    hex: (w) => w.toString(16).padStart(8, "0"),
    integer: (w) => String(w | 0),
    float: (w) => String(Number(floats([w])[0].toPrecision(6))),
    half: (w) => [w & 0xffff, w >>> 16].map((h) => Number(half(h).toPrecision(4))).join(" "),
  }[as];
  const head = make("tr", {}, make("th", { textContent: "lane" }),
    ...Array.from({ length: 32 }, (_, lane) => make("th", { textContent: lane, scope: "col" })));
  const rows = state.registers.map((r) => make("tr", {}, make("th", { textContent: `r${r.number}`, scope: "row" }),
    ...r.words.map((w, lane) => make("td", {
      textContent: text(w),
      className: [r.changed ? "changed" : "", (state.exec >>> lane) & 1 ? "" : "off", lane === state.lane ? "now" : ""].join(" "),
    }))));
  $("registers").replaceChildren(head, ...rows);
}

/** Sets or removes the breakpoint of a line. */
function breakpoint(line) {
  const { breaks } = editor.marks;
  if (breaks.has(line)) {
    breaks.delete(line);
    const number = last?.breakpoints.find((b) => b.line === line)?.number;
    if (program && number) command(`delete ${number}`);
  } else {
    breaks.add(line);
    if (program) command(`break ${line}`);
  }
  editor.draw();
}

/* Tabs, keys, start. */

function show(name) {
  tab = name;
  for (const t of TABS) {
    const on = t === name;
    $(`tab-${t}`).setAttribute("aria-selected", on);
    $(`tab-${t}`).tabIndex = on ? 0 : -1;
    $(`pane-${t}`).hidden = !on;
  }
  if (name === "ir") compile();
  else remember();
}

for (const t of TABS) {
  $(`tab-${t}`).addEventListener("click", () => show(t));
  $(`tab-${t}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    show(TABS[(TABS.indexOf(t) + step + TABS.length) % TABS.length]);
    $(`tab-${tab}`).focus();
  });
}

function choose(name) {
  const example = EXAMPLES[name];
  forget();
  restore({
    stage: "", vertices: 3, groups: "1", words: 256, fill: "index", target: "", tab,
    ...example,
  });
  compile();
}

$("example").append(...Object.keys(EXAMPLES).map((name) => make("option", { value: name, textContent: name })));
$("example").addEventListener("change", () => choose($("example").value));
$("stage").addEventListener("change", compile);
$("pass").addEventListener("change", drawPass);
$("as").addEventListener("change", () => last && drawRegisters(last));
$("run").addEventListener("click", run);
$("play").addEventListener("click", play);
$("debug").addEventListener("click", debug);
$("link").addEventListener("click", async () => {
  await remember();
  try {
    await navigator.clipboard.writeText(location.href);
    $("status").textContent = "Link copied";
  } catch {
    $("status").textContent = "The address bar has the link";
  }
});
for (const button of document.querySelectorAll("[data-command]")) {
  button.addEventListener("click", () => command(button.dataset.command));
}
$("prompt").addEventListener("submit", (event) => {
  event.preventDefault();
  command($("command").value);
});
document.addEventListener("keydown", (event) => {
  const key = (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.shiftKey ? "Shift+" : "") + event.key;
  const stepping = { F10: "next", F11: "step", "Shift+F11": "back", F5: "continue" };
  if (key === "Ctrl+Enter") run();
  else if (key === "Ctrl+Shift+Enter") debug();
  else if (tab === "debug" && stepping[key]) command(stepping[key]);
  else return;
  event.preventDefault();
});

async function begin() {
  try {
    await load();
  } catch (error) {
    $("status").textContent = `The core does not load: ${error.message}`;
    return;
  }
  let saved = null;
  if (location.hash.length > 1) {
    try {
      saved = JSON.parse(await unpack(location.hash.slice(1)));
    } catch {
      $("error").textContent = "The link is damaged; this is an example.";
    }
  }
  if (saved) restore(saved);
  else choose("Mandelbrot");
  compile();
  document.documentElement.dataset.ready = "yes";
}

begin();
