// The pane that compares: a version that was kept on the left, the text of the editor on the right.

import { $, make } from "./dom.js";
import { attempt, codeOptions, page, shader } from "./page.js";

/** Statistics in the order of shader-db, with what they count. */
const STATISTICS = {
  instructions: "instructions", alu: "ALU cycles", fscib: "FSCIB cycles", ic: "IC cycles", bytes: "bytes of code", registers: "registers (M1: halves)",
  uniforms: "half-uniforms", scratch: "bytes of scratch", threads: "threads a core", loops: "loops", spills: "spills", fills: "fills",
  preamble_instructions: "instructions of the preamble", width: "channels", sends: "messages", syncs: "waits", cycles: "cycles by Mesa's model",
  long_bytes: "bytes without compaction",
};
/** Statistics of which more is better. */
const MORE = new Set(["threads", "width"]);
const MARKS = { same: " ", operands: "~", removed: "−", added: "+" };
const NAMES = { same: "the same", operands: "other operands", removed: "only on the left", added: "only on the right" };

/** Language of the kept version, and its GPU. */
let stage = null;
let gpu = "m1";

/** Keeps the editor's text as the left side. */
export function keep() {
  $("base").value = page.editor.text;
  stage = $("stage").value || null;
  gpu = $("gpu").value;
  $("base-registers").value = $("registers").value;
  $("base-robust").checked = $("robust").checked;
  return draw();
}

export const save = () => ({ text: $("base").value, stage, gpu, ...codeOptions("base-") });

export function restore(saved) {
  $("base").value = saved?.text ?? "";
  stage = saved?.stage ?? null;
  gpu = saved?.gpu ?? "m1";
  $("base-registers").value = saved?.registers || "";
  $("base-robust").checked = saved?.robust ?? false;
}

/** Compiles both sides and shows them. */
export async function draw() {
  if (!page.report) return;
  if (!$("base").value) {
    await keep();
    return;
  }
  const left = { text: $("base").value, stage, gpu, code: codeOptions("base-") };
  const got = await attempt(() => page.compiler.call({ op: "compare", left, right: shader() }, { latest: true }));
  if (got) show(got);
}

function show({ left, right, preamble, main }) {
  $("differences").replaceChildren(
    make("caption", { textContent: "Statistics" }),
    make("tr", {}, ...["Statistic", "Kept", "Now", "Difference"].map((h) => make("th", { textContent: h, scope: "col" }))),
    ...Object.entries(STATISTICS).filter(([name]) => left.stats[name] || right.stats[name])
      .map(([name, words]) => statistic(name, words, left.stats[name] ?? 0, right.stats[name] ?? 0)));
  const row = (a, b) => (r) => aligned(r, a[r.left], b[r.right]);
  const all = [...preamble, ...main];
  const count = (change) => all.filter((r) => r.change === change).length;
  $("alignment").textContent =
    `${count("same")} instructions are the same, ${count("operands")} have other operands, ` +
    `${count("removed")} are only in the kept version, ${count("added")} only in this one.`;
  const part = (text) => make("tr", {}, make("th", { textContent: text, colSpan: 5, scope: "colgroup", className: "title" }));
  $("aligned").replaceChildren(
    make("caption", { textContent: "Instructions: kept version, this version" }),
    make("colgroup", {}, ...["place", "", "mark", "", "place"].map((className) => make("col", { className }))),
    ...(preamble.length ? [part("preamble"), ...preamble.map(row(left.preamble, right.preamble)), part("main")] : []),
    ...main.map(row(left.asm, right.asm)));
}

function statistic(name, words, a, b) {
  const difference = b - a;
  const better = difference > 0 === MORE.has(name);
  const share = a ? ` (${difference > 0 ? "+" : "−"}${((Math.abs(difference) / a) * 100).toFixed(1)} %)` : "";
  const text = difference ? `${difference > 0 ? "+" : "−"}${Math.abs(difference)}${share}` : "0";
  return make("tr", {}, make("th", { textContent: words, scope: "row" }),
    make("td", { textContent: a }), make("td", { textContent: b }),
    make("td", { textContent: text, className: difference ? (better ? "better" : "worse") : "" }));
}

function aligned(row, left, right) {
  const mark = make("td", { textContent: MARKS[row.change], title: NAMES[row.change], className: "mark" });
  const place = make("td", { className: "place" });
  if (right?.line) {
    const button = make("button", { textContent: right.line, title: `Source line ${right.line}` });
    button.addEventListener("click", () => page.editor.goTo(right.line));
    place.append(button);
  }
  const side = (i) => make("td", { className: "text", textContent: i?.text.replace(/ +/g, " ") ?? "" });
  return make("tr", { className: row.change },
    make("td", { className: "place", textContent: left?.line || "" }), side(left), mark, side(right), place);
}

/** Puts the kept version into the editor and the editor's in its place. */
export function swap() {
  const [text, kept] = [page.editor.text, $("base").value];
  const [language, chip, options, base] = [$("stage").value, $("gpu").value, codeOptions(""), codeOptions("base-")];
  page.editor.text = kept;
  $("stage").value = stage ?? "";
  $("gpu").value = gpu;
  $("registers").value = base.registers || "";
  $("robust").checked = base.robust;
  restore({ text, stage: language || null, gpu: chip, ...options });
}
