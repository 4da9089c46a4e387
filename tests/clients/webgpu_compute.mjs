// Compute through npm's `webgpu` (Dawn, Tint): each answer must equal the CPU's.
//
// usage: webgpu_compute.mjs DIRECTORY DEVICE
//   DIRECTORY  where `webgpu` is installed; DEVICE  part of the adapter's name

import { createRequire } from "node:module";
import { join } from "node:path";

const [directory, wanted] = process.argv.slice(2);
const require = createRequire(join(directory, "package.json"));
const webgpu = require("webgpu");
Object.assign(globalThis, webgpu.globals);

const gpu = webgpu.create(["backend=vulkan", "enable-dawn-features=allow_unsafe_apis"]);
const adapter = await gpu.requestAdapter();
if (!adapter) throw new Error("Dawn finds no Vulkan adapter");
const name = `${adapter.info.description} ${adapter.info.device} ${adapter.info.vendor}`;
// Dawn writes names in lower case with dashes.
if (!name.includes(wanted.toLowerCase().replaceAll(" ", "-"))) throw new Error(`the adapter is ${name}, not ${wanted}`);
console.log(`adapter: ${wanted}, ${name}`);
const device = await adapter.requestDevice();
device.addEventListener("uncapturederror", (event) => {
  console.log(`WRONG: ${event.error.message}`);
  process.exitCode = 1;
});

/** Runs `main` with storage buffers 0 … n-1 and the result at n; resolves to the result. */
async function run(code, inputs, bytes, groups) {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffers = inputs.map((data) => {
    const buffer = device.createBuffer({ size: data.byteLength, usage });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  });
  const result = device.createBuffer({ size: bytes, usage });
  const pipeline = device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code }) },
  });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [...buffers, result].map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(...groups);
  pass.end();
  const back = device.createBuffer({
    size: bytes,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  encoder.copyBufferToBuffer(result, 0, back, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await back.mapAsync(GPUMapMode.READ);
  return back.getMappedRange().slice(0);
}

/** A small generator of 32-bit integers, the same on each run. */
function* random(state) {
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state;
  }
}

function take(count, seed) {
  const from = random(seed);
  return Uint32Array.from({ length: count }, () => from.next().value);
}

const programs = {
  async sum() {
    const a = take(4096, 1);
    const code = `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> r: array<u32>;
      var<workgroup> part: array<u32, 256>;
      @compute @workgroup_size(256)
      fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_index) l: u32,
              @builtin(workgroup_id) w: vec3u) {
        part[l] = a[g.x];
        for (var step = 128u; step > 0u; step >>= 1u) {
          workgroupBarrier();
          if (l < step) { part[l] += part[l + step]; }
        }
        if (l == 0u) { r[w.x] = part[0]; }
      }`;
    const got = new Uint32Array(await run(code, [a], 64, [16, 1, 1]));
    return got.every((sum, block) => {
      const want = a.slice(block * 256, block * 256 + 256).reduce((s, x) => (s + x) >>> 0, 0);
      return sum === want;
    });
  },

  async matmul() {
    const n = 48;
    const numbers = (seed) => Float32Array.from(take(n * n, seed), (x) => x / 2 ** 31 - 1);
    const [a, b] = [numbers(2), numbers(3)];
    const code = `
      @group(0) @binding(0) var<storage, read> a: array<f32>;
      @group(0) @binding(1) var<storage, read> b: array<f32>;
      @group(0) @binding(2) var<storage, read_write> r: array<f32>;
      @compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) g: vec3u) {
        var sum = 0.0;
        for (var k = 0u; k < ${n}u; k++) { sum += a[g.y * ${n}u + k] * b[k * ${n}u + g.x]; }
        r[g.y * ${n}u + g.x] = sum;
      }`;
    const got = new Float32Array(await run(code, [a, b], a.byteLength, [n / 16, n / 16, 1]));
    return got.every((x, i) => {
      let want = 0;
      for (let k = 0; k < n; k++) want += a[Math.floor(i / n) * n + k] * b[k * n + (i % n)];
      return Math.abs(x - want) < 1e-4;
    });
  },

  async divergence() {
    const a = take(2048, 4);
    const code = `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> r: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3u) {
        var x = a[g.x];
        var turns = 0u;
        for (var i = 0u; i < (a[g.x] & 15u); i++) {
          switch (x & 3u) {
            case 0u: { x = x / 3u; }
            case 1u, 2u: { x = x * 5u + i; }
            default: { x = x ^ (x >> 7u); if ((x & 8u) != 0u) { continue; } }
          }
          turns += 1u;
        }
        r[g.x] = x + turns;
      }`;
    const got = new Uint32Array(await run(code, [a], a.byteLength, [32, 1, 1]));
    return got.every((result, index) => {
      let x = a[index];
      let turns = 0;
      for (let i = 0; i < (a[index] & 15); i++) {
        if ((x & 3) === 0) x = Math.floor(x / 3);
        else if ((x & 3) !== 3) x = (Math.imul(x, 5) + i) >>> 0;
        else {
          x = (x ^ (x >>> 7)) >>> 0;
          if ((x & 8) !== 0) continue;
        }
        turns++;
      }
      return result === (x + turns) >>> 0;
    });
  },

  async atomics() {
    const a = take(4096, 5);
    const code = `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> r: array<atomic<u32>, 3>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3u) {
        atomicAdd(&r[0], a[g.x] & 0xffffu);
        atomicMax(&r[1], a[g.x]);
        atomicXor(&r[2], a[g.x]);
      }`;
    const got = new Uint32Array(await run(code, [a], 12, [64, 1, 1]));
    const want = a.reduce(([s, m, x], v) => [s + (v & 0xffff), Math.max(m, v), (x ^ v) >>> 0], [0, 0, 0]);
    return got.every((x, i) => x === want[i]);
  },
};

for (const [title, program] of Object.entries(programs)) {
  const right = await program();
  if (!right) process.exitCode = 1;
  console.log(`${right ? "ok" : "WRONG"}: ${title}`);
}
device.destroy();
