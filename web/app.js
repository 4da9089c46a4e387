// The page: wires editor, panes and keys, and keeps the state in the address.

import * as compare from "./compare.js";
import * as steps from "./debugger.js";
import { $, make } from "./dom.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import * as findings from "./findings.js";
import { pack, unpack } from "./link.js";
import * as listing from "./listing.js";
import { attempt, begin as load, page, shader } from "./page.js";
import * as resources from "./resources.js";
import { clock, run as runOnce, wire as wireRun } from "./run.js";

const FIELDS = ["stage", "gpu", "width", "height", "vertices", "groups", "words", "fill", "target", "registers", "as", "memory"];
const BOXES = ["robust", "check"];
const TABS = ["asm", "ir", "compare", "run", "debug"];
let tab = "asm";
/** The example to begin with. */
const FIRST = "Mandelbrot";

page.editor = new Editor($("editor"), { changed, hovered: listing.heat, gutter: breakpoint });

/* State and its link. */

function state() {
  const { leaves, ...kept } = resources.save();
  return {
    text: page.editor.text,
    tab,
    ...Object.fromEntries(FIELDS.map((name) => [name, $(name).value])),
    ...Object.fromEntries(BOXES.map((name) => [name, $(name).checked])),
    ...kept,
    time: clock.now,
    base: compare.save(),
    pass: $("pass").value,
    breaks: [...page.editor.marks.breaks],
    at: tab === "debug" ? steps.save() : null,
  };
}

function restore(saved) {
  for (const name of FIELDS) {
    if (saved[name] !== undefined) $(name).value = saved[name];
  }
  for (const name of BOXES) $(name).checked = saved[name] ?? false;
  page.editor.text = saved.text ?? "";
  page.editor.mark({ breaks: new Set(saved.breaks ?? []) });
  clock.seconds = saved.time ?? 0;
  resources.restore(saved);
  compare.restore(saved.base);
  show(TABS.includes(saved.tab) ? saved.tab : "asm", false);
}

let remembering;
/** Puts the state into the address, at once or when nothing has changed for a while. */
function remember(now = false) {
  clearTimeout(remembering);
  const write = async () => history.replaceState(null, "", "#" + (await pack(JSON.stringify(state()))));
  if (now) return write();
  remembering = setTimeout(write, 200);
  return null;
}

/* Compiling. */

let timer;
/** Whether the report is of another text or of other options. */
let stale = true;

function changed() {
  steps.forget();
  stale = true;
  clearTimeout(timer);
  timer = setTimeout(compile, 20);
}

/** Compiles the text; true if there is a listing of it, nothing if a later text was compiled in its place. */
async function compile(pass = "") {
  clearTimeout(timer);
  stale = true;
  const { text } = page.editor;
  const before = performance.now();
  const passes = tab === "ir";
  const report = await attempt(() => page.compiler.call({ op: "compile", ...shader(), passes }, { latest: true }));
  if (report === undefined) return undefined;
  page.report = report;
  stale = page.editor.text !== text;
  $("asm").classList.toggle("stale", !report);
  remember();
  if (!report) {
    if (!$("error").hidden) page.say("Error");
    return false;
  }
  page.say(`Compiled in ${(performance.now() - before).toFixed(0)} ms`);
  listing.drawListing();
  resources.draw(() => {
    remember();
    if (tab === "run") run();
  });
  if (passes) listing.drawPasses(pass);
  if (tab === "compare") await compare.draw();
  return true;
}

/** The listing of what is in the editor, if it compiles. */
async function compiled() {
  let done = page.report && !stale;
  while (!done) {
    done = await compile();
    if (done === false) return false;
  }
  return true;
}

/* Running and debugging. */

async function run() {
  if (!(await compiled())) return false;
  if (tab !== "run") show("run");
  const ran = await runOnce();
  remember();
  return ran;
}

let playing = false;

async function play() {
  if (playing) {
    playing = false;
    return;
  }
  playing = true;
  clock.start();
  $("play").setAttribute("aria-pressed", true);
  while (playing && (await run())) await new Promise(requestAnimationFrame);
  playing = false;
  clock.stop();
  $("play").setAttribute("aria-pressed", false);
}

async function debug(at) {
  if (!(await compiled())) return;
  if (tab !== "debug") show("debug");
  await steps.debug(at);
  remember();
}

async function command(line) {
  await steps.command(line);
  remember();
}

function breakpoint(line) {
  steps.breakpoint(line);
  remember();
}

function stop() {
  playing = false;
  if (!page.machine.busy) return;
  steps.forget();
  page.machine.stop();
}

let shown;
/** Shows that the machine works once that takes a while. */
function working(busy) {
  clearTimeout(shown);
  const change = () => {
    $("stop").disabled = !busy;
    document.body.classList.toggle("busy", busy);
    if (busy && !playing) page.say("Running…");
  };
  if (busy) shown = setTimeout(change, 100);
  else {
    const waited = !$("stop").disabled;
    change();
    if (waited && !playing) page.say("Ready");
  }
}

/* Tabs, keys, start. */

function show(name, compiling = true) {
  tab = name;
  for (const t of TABS) {
    const on = t === name;
    $(`tab-${t}`).setAttribute("aria-selected", on);
    $(`tab-${t}`).tabIndex = on ? 0 : -1;
    $(`pane-${t}`).hidden = !on;
  }
  if (!compiling) return;
  if (name === "ir" || name === "compare") compile();
  else remember();
}

async function choose(name) {
  const example = EXAMPLES[name];
  steps.forget();
  restore({
    stage: "", width: 256, height: 256, vertices: 3, groups: "1", words: 256, fill: "index", target: "", registers: "", as: "auto", memory: "", tab,
    ...example,
  });
  page.report = null;
  await compile();
}

function wire() {
  for (const t of TABS) {
    $(`tab-${t}`).addEventListener("click", () => show(t));
    $(`tab-${t}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      show(TABS[(TABS.indexOf(t) + step + TABS.length) % TABS.length]);
      $(`tab-${tab}`).focus();
    });
  }
  $("example").append(...Object.keys(EXAMPLES).map((name) => make("option", { value: name, textContent: name })));
  $("example").addEventListener("change", () => choose($("example").value));
  for (const name of ["stage", "gpu", "registers", "robust"]) {
    $(name).addEventListener("change", () => {
      steps.forget();
      compile();
    });
  }
  for (const name of ["width", "height", "vertices", "groups", "words", "fill", "target", "check", "pass", "as", "memory"]) {
    $(name).addEventListener("change", () => remember());
  }
  listing.wire();
  wireRun(debug);
  steps.wire(command);
  const clicks = {
    run, play, stop,
    debug: () => debug(),
    keep: async () => {
      await compare.keep();
      remember();
    },
    swap: () => {
      compare.swap();
      changed();
    },
    link: async () => {
      await remember(true);
      const left = resources.save().leaves ? "; it leaves out pictures of more than 48 KB" : "";
      try {
        await navigator.clipboard.writeText(location.href);
        page.say(`Link copied${left}`);
      } catch {
        page.say(`The address bar has the link${left}`);
      }
    },
  };
  for (const [id, handler] of Object.entries(clicks)) $(id).addEventListener("click", () => handler());
  for (const name of ["base", "base-registers", "base-robust"]) {
    $(name).addEventListener("input", () => {
      compare.draw();
      remember();
    });
  }
  document.addEventListener("keydown", (event) => {
    const key = (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.shiftKey ? "Shift+" : "") + event.key;
    const stepping = { F10: "next", F11: "step", "Shift+F11": "back", F5: "continue" };
    if (key === "Ctrl+Enter") run();
    else if (key === "Ctrl+Shift+Enter") debug();
    else if (key === "F9") breakpoint(page.editor.caretLine());
    else if (key === "Ctrl+.") stop();
    else if (tab === "debug" && stepping[key]) command(stepping[key]);
    else return;
    event.preventDefault();
  });
}

async function begin() {
  wire();
  try {
    await load(working);
    await findings.begin();
  } catch (error) {
    page.say(`The core does not load: ${error.message}`);
    return;
  }
  let saved = null;
  if (location.hash.length > 1) {
    try {
      saved = JSON.parse(await unpack(location.hash.slice(1)));
    } catch {
      page.say("The link is damaged; this is an example.");
    }
  }
  if (saved) {
    restore(saved);
    if ((await compile(saved.pass)) && tab === "debug" && saved.at) await debug(saved.at);
  } else await choose(FIRST);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
}

begin();
