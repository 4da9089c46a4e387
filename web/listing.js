// The panes of machine code and IR.

import { $, make } from "./dom.js";
import { hue } from "./editor.js";
import { attempt, page } from "./page.js";

/** An instruction's row: offset, source line, text. */
export function instruction(i) {
  const row = make("li", { tabIndex: -1 },
    make("span", { className: "offset", textContent: i.offset.toString(16) }),
    make("span", { className: "place", textContent: i.line || "" }),
    make("span", { className: "text", textContent: i.text }));
  row.dataset.line = i.line ?? 0;
  row.dataset.name = $("gpu").value === "m1" ? i.text.split(" ")[0] : i.text;
  if (i.line) {
    row.classList.add("marked");
    row.style.setProperty("--hue", hue(i.line));
  }
  return row;
}

export function drawListing() {
  const { report, editor } = page;
  $("summary").textContent = report.summary;
  $("occupancy").textContent = report.occupancy;
  const title = (text) => make("li", { className: "title", textContent: text });
  const preamble = report.preamble.map(instruction);
  const parts = preamble.length ? [title("preamble, once for all threads"), ...preamble, title("main")] : [];
  const main = report.asm.map((i) => {
    const row = instruction(i);
    row.dataset.offset = i.offset;
    return row;
  });
  $("asm").replaceChildren(...parts, ...main);
  const first = $("asm").querySelector("li[data-line]");
  if (first) first.tabIndex = 0;
  editor.mark({ lines: new Set(report.asm.map((i) => i.line).filter(Boolean)) });
}

/** Fills the list of passes; `wanted` names one to show. */
export function drawPasses(wanted) {
  const chosen = $("pass").selectedIndex;
  const name = wanted || $("pass").value;
  const { passes } = page.report;
  $("pass").replaceChildren(...passes.map((p, k) => make("option", { value: `${k} ${p.name}`, textContent: p.name })));
  const same = [...$("pass").options].findIndex((o, k) => o.value === name || (k === chosen && k > 0));
  $("pass").selectedIndex = same >= 0 ? same : passes.length - 1;
  drawPass();
}

export function drawPass() {
  $("ir").textContent = page.report?.passes[$("pass").selectedIndex]?.text ?? "";
}

/** Lights up a source line and its instructions. */
export function heat(line, from) {
  page.editor.mark({ hot: line });
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

/** An instruction's entry of the manual. */
const manual = (item) => attempt(() => page.compiler.call({ op: "manual", name: item.dataset.name, gpu: $("gpu").value }));

/** Gives an instruction its entry of the manual as a tooltip. */
async function hint(item) {
  if (item.title || !item.dataset.name) return;
  const entry = await manual(item);
  if (entry) item.title = entry.text;
}

/** Shows an instruction's entry of the manual and its source line. */
async function explain(item) {
  const entry = await manual(item);
  $("manual").hidden = !entry;
  $("manual").textContent = entry?.text ?? "";
  page.editor.show(Number(item.dataset.line));
}

/** Moves the focus over a listing with the arrow keys. */
function walk(event) {
  const items = [...$("asm").querySelectorAll("li[data-line]")];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (at < 0) return;
  if (event.key === "Enter") explain(items[at]);
  else if (to === undefined) return;
  event.preventDefault();
  const item = items[to];
  if (!item) return;
  items[at].tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
  heat(Number(item.dataset.line), true);
}

export function wire() {
  $("asm").addEventListener("mouseover", (event) => {
    const item = event.target.closest("li");
    if (!item) return;
    heat(Number(item.dataset.line ?? 0), true);
    hint(item);
  });
  $("asm").addEventListener("mouseleave", () => heat(0, true));
  $("asm").addEventListener("click", (event) => {
    const item = event.target.closest("li[data-line]");
    if (item) explain(item);
  });
  $("asm").addEventListener("keydown", walk);
  $("pass").addEventListener("change", drawPass);
}
