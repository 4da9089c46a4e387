// Runs the core in WebAssembly beside the page: requests and answers in JSON (crates/web/src/lib.rs).

let module;
let core;

/** Carries out a request; returns the answer as text, and the pixels of its pictures. */
function call(request) {
  const bytes = new TextEncoder().encode(request);
  const at = core.tepui_request(bytes.length);
  new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
  const length = core.tepui_call();
  const answer = new TextDecoder().decode(new Uint8Array(core.memory.buffer, core.tepui_answer(), length));
  const size = core.tepui_pixels_size();
  const pixels = new Uint8ClampedArray(core.memory.buffer, core.tepui_pixels(), size).slice();
  return { answer, pixels };
}

onmessage = async ({ data }) => {
  if (data.module) {
    module = data.module;
    return;
  }
  try {
    core ??= (await WebAssembly.instantiate(module, {})).exports;
    const done = call(data.request);
    postMessage(done, [done.pixels.buffer]);
  } catch (error) {
    // A panic or an exhausted stack leaves the instance unusable; the next request gets a new one.
    core = undefined;
    postMessage({ crash: error.message });
  }
};
