// The core in WebAssembly: requests and answers in JSON (crates/web/src/lib.rs).

let module;
let core;

/** Loads the core; `bytes` instead of a download, for tests outside of a browser. */
export async function load(bytes) {
  module = bytes
    ? await WebAssembly.compile(bytes)
    : await WebAssembly.compileStreaming(fetch("tepui_web.wasm"));
  await restart();
}

async function restart() {
  core = (await WebAssembly.instantiate(module, {})).exports;
}

/** The answer to a request; throws what is wrong, with `place` where it is known. */
export function call(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  let text;
  try {
    const at = core.tepui_request(bytes.length);
    new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
    const length = core.tepui_call();
    text = new TextDecoder().decode(new Uint8Array(core.memory.buffer, core.tepui_answer(), length));
  } catch (error) {
    // A panic or an exhausted stack leaves the instance unusable; the next request gets a new one.
    core = undefined;
    restart();
    throw new Error(`Tepui crashed (${error.message}): please report this shader`);
  }
  const answer = JSON.parse(text);
  if (answer.error) {
    throw Object.assign(new Error(answer.error.message), { place: answer.error.place });
  }
  return answer.ok;
}

/** The picture of the last run. */
export function pixels() {
  const at = core.tepui_pixels();
  return new Uint8ClampedArray(core.memory.buffer, at, core.tepui_pixels_size()).slice();
}
