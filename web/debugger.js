// The pane of the debugger: one SIMD-group, stepped through in its recording.

import { $, make } from "./dom.js";
import { attempt, page, shader } from "./page.js";
import { floats, inputs, isInteger, paint } from "./run.js";

/** The instructions of the recorded program, and the state that is shown. */
let program = null;
let last = null;

/** Leaves the recording of another text. */
export function forget() {
  if (!program) return;
  [program, last] = [null, null];
  page.editor.mark({ now: 0 });
  $("where").textContent = "Press Debug to record one SIMD-group or thread.";
  for (const id of ["lanes", "register-table", "buffers-list"]) $(id).replaceChildren();
  for (const id of ["memory-words", "texture-picture"]) $(id).hidden = true;
  $("answer").textContent = "";
}

/** Where the debugger is, for a link. */
export const save = () => (last ? { step: last.step, lane: last.lane } : null);

/** Records the SIMD-group of the target; `at` says where to go. */
export async function debug(at = null) {
  if (!page.report) return;
  const numbers = $("target").value.split(",").map(Number).filter(Number.isFinite);
  let group = null;
  if ($("target").value && numbers.length) {
    group = page.report.stage === "fragment"
      ? { pixel: [numbers[0], numbers[1] ?? 0] }
      : { thread: [[numbers[0], numbers[1] ?? 0, numbers[2] ?? 0], numbers[3] ?? 0] };
  }
  const got = await attempt(() => page.machine.call({ op: "debug", ...shader(), inputs: inputs(), group }));
  if (!got) return;
  program = got.program;
  const lines = [...page.editor.marks.breaks].map((line) => `break ${line}`);
  if (at) lines.push(`lane ${at.lane}`, `goto ${at.step}`);
  for (const line of lines) await attempt(() => page.machine.call({ op: "command", line }));
  await carryOut("where");
}

async function carryOut(line) {
  const got = await attempt(() => page.machine.call({ op: "command", line }));
  if (!got) return;
  if (got.picture) showPicture(got);
  drawState(got);
  await drawMemory();
}

/** Words of memory from the place that the user names, before the instruction. */
async function drawMemory() {
  const place = $("memory").value.trim();
  $("memory-words").hidden = !place;
  if (!place) return;
  const line = `memory ${/\s/.test(place) ? place : `${place} 16`}`;
  try {
    $("memory-words").textContent = (await page.machine.call({ op: "command", line })).text;
  } catch (error) {
    $("memory-words").textContent = error.message;
  }
}

/** An image that the program reads or writes. */
function showPicture({ text, picture, pixels }) {
  $("texture-picture").hidden = false;
  $("texture-picture").setAttribute("aria-label", text);
  paint($("texture-picture"), pixels, 0, picture);
}

/** Offers the buffers and images of the recording. */
function offer({ buffers, images }) {
  $("buffers-list").replaceChildren(...buffers.map((name) => make("option", { value: `${name}[0]` })));
  if ($("texture").options.length === images.length + 1) return;
  $("texture").replaceChildren(make("option", { value: "", textContent: "none" }),
    ...images.map((what, k) => make("option", { value: k, textContent: what })));
}

/** Carries out a command of the debugger, which begins if there is no recording. */
export const command = (line) => (program ? carryOut(line) : debug());

function drawState({ text, state }) {
  $("answer").textContent = text;
  if (!state) return;
  const now = program.find((i) => i.offset === state.offset);
  $("where").textContent =
    `${state.title} · step ${state.step} of ${state.steps - 1}${state.truncated ? " (the recording is full)" : ""} · line ${state.line}\n` +
    `${state.offset.toString(16)}: ${now?.text ?? ""}`;
  const focused = [...$("lanes").children].indexOf(document.activeElement);
  $("lanes").replaceChildren(...Array.from({ length: lanesOf(state) }, (_, lane) => {
    const on = (state.exec >>> lane) & 1;
    const button = make("button", { textContent: lane, className: on ? "on" : "", disabled: !((state.alive >>> lane) & 1) });
    button.setAttribute("aria-pressed", lane === state.lane);
    button.title = on ? "executes" : "waits";
    button.addEventListener("click", () => command(`lane ${lane}`));
    return button;
  }));
  $("lanes").children[focused]?.focus();
  last = state;
  offer(state);
  drawRegisters();
  page.editor.mark({ now: state.line });
  page.editor.show(state.line);
}

function half(h) {
  const [sign, exponent, fraction] = [h >> 15 ? -1 : 1, (h >> 10) & 31, h & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const WORDS = {
  // Small integers are hardly ever floats: those would be next to zero.
  auto: (w) => (isInteger([w]) ? String(w | 0) : String(Number(floats([w])[0].toPrecision(6)))),
  hex: (w) => w.toString(16).padStart(8, "0"),
  integer: (w) => String(w | 0),
  float: (w) => String(Number(floats([w])[0].toPrecision(6))),
  half: (w) => [w & 0xffff, w >>> 16].map((h) => Number(half(h).toPrecision(4))).join(" "),
};

/** Lanes of a warp or SIMD-group. Registers that lanes share do not tell how many there are. */
const lanesOf = (state) => (state.shared ? 32 : state.registers[0]?.words.length ?? 32);

export function drawRegisters() {
  if (!last) return;
  const state = last;
  const text = WORDS[$("as").value];
  // Registers that lanes share are rows of eight double words; the names are those of the selected lane.
  const columns = state.registers[0]?.words.length ?? 0;
  const head = make("tr", {}, make("th", { textContent: state.shared ? "word" : "lane", scope: "col" }),
    ...Array.from({ length: columns }, (_, n) => make("th", { textContent: n, scope: "col" })));
  const lanes = (lane) => (state.shared ? "" : [(state.exec >>> lane) & 1 ? "" : "off", lane === state.lane ? "now" : ""].join(" "));
  const rows = state.registers.map((r) => make("tr", {}, make("th", { textContent: `${r.register}${r.name ? ` ${r.name}` : ""}`, scope: "row" }),
    ...r.words.map((w, n) => make("td", { textContent: text(w), className: [r.changed ? "changed" : "", lanes(n)].join(" ") }))));
  $("register-table").replaceChildren(head, ...rows);
}

/** Sets or removes the breakpoint of a line. */
export function breakpoint(line) {
  const { breaks } = page.editor.marks;
  if (breaks.has(line)) {
    breaks.delete(line);
    const number = last?.breakpoints.find((b) => b.line === line)?.number;
    if (program && number) command(`delete ${number}`);
  } else {
    breaks.add(line);
    if (program) command(`break ${line}`);
  }
  page.editor.draw();
}

/** Wires the buttons and the line for commands; `carry` carries a command out. */
export function wire(carry) {
  $("as").addEventListener("change", drawRegisters);
  $("memory").addEventListener("change", () => program && drawMemory());
  $("watch").addEventListener("click", () => {
    const place = $("memory").value.trim().split(/\s/)[0];
    if (place) carry(`watch ${place}`);
  });
  $("texture").addEventListener("change", () => {
    const number = $("texture").value;
    if (number) carry(`texture ${number}`);
    else $("texture-picture").hidden = true;
  });
  for (const button of document.querySelectorAll("[data-command]")) {
    button.addEventListener("click", () => carry(button.dataset.command));
  }
  $("prompt").addEventListener("submit", (event) => {
    event.preventDefault();
    carry($("command").value);
  });
}
