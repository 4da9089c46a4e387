// The core in a worker: requests wait in line, and a request that takes too long can be stopped with its worker.

/** What `call` rejects with when its request was stopped. */
export class Stopped extends Error {}

/** Downloads and compiles the core. */
export const load = () => WebAssembly.compileStreaming(fetch("tepui_web.wasm"));

export class Core {
  /** A worker with an instance of its own; `changed` is told when it starts and ends to work. */
  constructor(module, changed = () => {}) {
    this.module = module;
    this.changed = changed;
    this.line = [];
    this.start();
  }

  start() {
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.postMessage({ module: this.module });
    this.worker.onmessage = ({ data }) => this.answered(data);
    this.worker.onerror = (event) => this.answered({ crash: event.message });
  }

  get busy() {
    return this.line.length > 0;
  }

  /**
   * The answer to a request, with `pixels` of its pictures; throws what is wrong, with `place` where it is known. A request with
   * `latest` takes the place of one of the same kind that has not begun, whose answer is then `undefined`.
   */
  call(request, { latest = false } = {}) {
    return new Promise((resolve, reject) => {
      const entry = { op: request.op, text: JSON.stringify(request), latest, resolve, reject };
      const waits = latest ? this.line.findIndex((e, k) => k > 0 && e.latest && e.op === entry.op) : -1;
      if (waits >= 0) {
        this.line[waits].resolve(undefined);
        this.line[waits] = entry;
        return;
      }
      this.line.push(entry);
      if (this.line.length === 1) this.send();
    });
  }

  send() {
    this.changed(true);
    this.worker.postMessage({ request: this.line[0].text });
  }

  answered({ answer, pixels, crash }) {
    const { resolve, reject } = this.line.shift();
    if (crash !== undefined) {
      reject(new Error(`Tepui crashed (${crash}): please report this shader`));
    } else {
      const { ok, error } = JSON.parse(answer);
      if (error) reject(Object.assign(new Error(error.message), { place: error.place }));
      else resolve(pixels.length ? { ...ok, pixels } : ok);
    }
    if (this.line.length) this.send();
    else this.changed(false);
  }

  /** Ends the worker with all that waits, and begins anew. */
  stop() {
    this.worker.terminate();
    const line = this.line;
    this.line = [];
    this.start();
    this.changed(false);
    for (const { reject } of line) reject(new Stopped("Stopped"));
  }
}
