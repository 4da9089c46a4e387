// What the panes share: the editor, the cores, the report of the last compilation, and how errors are shown.

import { Core, Stopped, load } from "./core.js";
import { $ } from "./dom.js";

export const page = {
  /** The editor. */
  editor: null,
  /** Compiles. */
  compiler: null,
  /** Runs and debugs, in a worker of its own: the listing follows the source while a shader runs. */
  machine: null,
  /** What the compiler said of the text, or null. */
  report: null,
  /** Changes the line of the status. */
  say(text) {
    $("status").textContent = text;
  },
};

/** Loads the cores; `working` is told when the machine starts and ends to work. */
export async function begin(working) {
  const module = await load();
  page.compiler = new Core(module);
  page.machine = new Core(module, working);
}

/** The compiler's options of a side of the comparison, or of the text alone. */
export const codeOptions = (prefix) => ({
  registers: Number($(`${prefix}registers`).value) || 0,
  robust: $(`${prefix}robust`).checked,
});

/** The text as requests take it. */
export function shader() {
  return { text: page.editor.text, stage: $("stage").value || null, gpu: $("gpu").value, code: codeOptions("") };
}

/** Carries out what may fail, and shows the error at its place. Nothing comes of it if it failed or was stopped. */
export async function attempt(what) {
  try {
    const result = await what();
    if (result !== undefined) {
      $("error").hidden = true;
      page.editor.mark({ error: null });
    }
    return result;
  } catch (error) {
    if (error instanceof Stopped) {
      page.say("Stopped");
      return null;
    }
    const place = error.place ?? null;
    $("error").textContent = (place ? `Line ${place.line}: ` : "") + error.message;
    $("error").hidden = false;
    page.editor.mark({ error: place });
    return null;
  }
}
