// Draws through npm's `webgpu` (Dawn, Tint).
//
// usage: webgpu_draw.mjs INSTALLED DEVICE DIRECTORY
//   INSTALLED  where `webgpu` is installed
//   DEVICE     part of the adapter's name
//   DIRECTORY  where the pictures go, as PNG

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

const [installed, name, directory] = process.argv.slice(2);
const require = createRequire(join(installed, "package.json"));
const webgpu = require("webgpu");
Object.assign(globalThis, webgpu.globals);

const [WIDTH, HEIGHT, RINGS] = [640, 480, 25];
const [HDR, SRGB] = ["rgba16float", "rgba8unorm-srgb"];
const code = readFileSync(new URL("scene.wgsl", import.meta.url), "utf8");

/** A torus: position, normal, texture coordinates; triangles. */
function ring(around = 48, across = 24) {
  const vertices = [];
  const indices = [];
  for (let i = 0; i <= around; i++) {
    for (let j = 0; j <= across; j++) {
      const [a, b] = [(2 * Math.PI * i) / around, (2 * Math.PI * j) / across];
      const n = [Math.cos(a) * Math.cos(b), Math.sin(b), Math.sin(a) * Math.cos(b)];
      vertices.push(Math.cos(a) + 0.4 * n[0], 0.4 * n[1], Math.sin(a) + 0.4 * n[2], ...n);
      vertices.push((6 * i) / around, (2 * j) / across);
      if (i === around || j === across) continue;
      const at = i * (across + 1) + j;
      const right = at + across + 1;
      indices.push(at, at + 1, right, right, at + 1, right + 1);
    }
  }
  return [new Float32Array(vertices), new Uint16Array(indices)];
}

function floor() {
  const corners = [[-9, -9], [9, -9], [-9, 9], [9, 9]];
  const vertices = corners.flatMap(([x, z]) => [x, 0, z, 0, 1, 0, x / 2, z / 2]);
  return [new Float32Array(vertices), new Uint16Array([0, 2, 1, 1, 2, 3])];
}

/** The floor's one instance, then the rings': place and size, turn, tint. */
function instances() {
  const data = new DataView(new ArrayBuffer(36 * (1 + RINGS)));
  const put = (index, floats, tint) => {
    floats.forEach((v, k) => data.setFloat32(36 * index + 4 * k, v, true));
    tint.forEach((v, k) => data.setUint8(36 * index + 32 + k, v));
  };
  put(0, [0, -1.6, 0, 1, 0, 0, 0, 1], [160, 170, 190, 255]);
  for (let i = 0; i < RINGS; i++) {
    const [x, z, angle] = [(i % 5) - 2, Math.floor(i / 5) - 2, 0.55 * i];
    const axis = [Math.sin(i), 0.6, Math.cos(2 * i)];
    const turn = axis.map((v) => (v / Math.hypot(...axis)) * Math.sin(angle));
    const tint = [0, 2, 4].map((k) => Math.trunc(140 + 115 * Math.sin(0.7 * i + k)));
    const place = [2.6 * x, 0.5 * Math.sin(1.3 * i), 2.6 * z, 0.8];
    put(1 + i, [...place, ...turn, Math.cos(angle)], [...tint, 255]);
  }
  return data;
}

/** Texels of a wall. */
function bricks(size = 256) {
  const texels = new Uint8Array(size * size * 4);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const row = y >> 5;
      const shifted = (x + 32 * (row % 2)) % size;
      const mortar = y % 32 < 4 || shifted % 64 < 4;
      const grain = (x * 37 + y * 101 + x * y) % 29;
      const green = 120 + (((shifted >> 6) * 17 + row * 29) % 60);
      const texel = mortar ? [225, 225, 225] : [200 + grain, green, 90 + grain];
      texels.set([...texel, 255], 4 * (y * size + x));
    }
  }
  return [texels, size];
}

class Painter {
  static async on(name) {
    const gpu = webgpu.create(["backend=vulkan", `adapter=${name}`]);
    const adapter = await gpu.requestAdapter();
    if (!adapter) throw new Error(`Dawn finds no Vulkan adapter named ${name}`);
    const painter = new Painter();
    painter.gpu = gpu; // Dawn's instance ends with this object.
    const info = `${adapter.info.description} ${adapter.info.device} ${adapter.info.vendor}`;
    // Dawn writes names in lower case with dashes.
    const dashed = name.toLowerCase().replaceAll(" ", "-");
    if (!info.includes(dashed)) throw new Error(`the adapter is ${info}, not ${name}`);
    console.log(`adapter: ${name}, ${info}`);
    painter.device = await adapter.requestDevice();
    painter.device.addEventListener("uncapturederror", (event) => {
      console.log(`WRONG: ${event.error.message}`);
      process.exitCode = 1;
    });
    painter.module = painter.device.createShaderModule({ code });
    return painter;
  }

  texture(size, format, usage, more = {}) {
    return this.device.createTexture({ size, format, usage, ...more });
  }

  upload(data, usage) {
    const size = (data.byteLength + 3) & ~3;
    const buffer = this.device.createBuffer({ size, usage, mappedAtCreation: true });
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    new Uint8Array(buffer.getMappedRange()).set(bytes);
    buffer.unmap();
    return buffer;
  }

  pipeline(vertex, fragment, format, { depth, count = 1, buffers = [] } = {}) {
    const { module } = this;
    return this.device.createRenderPipeline({
      layout: "auto",
      vertex: { module, entryPoint: vertex, buffers },
      fragment: fragment && { module, entryPoint: fragment, targets: [{ format }] },
      depthStencil: depth && { format: depth, depthWriteEnabled: true, depthCompare: "less" },
      multisample: { count },
    });
  }

  group(pipeline, index, ...resources) {
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    return this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(index), entries });
  }

  /** One triangle over all of a target. */
  whole(encoder, pipeline, group, view) {
    const target = { view, loadOp: "clear", storeOp: "store" };
    const shading = encoder.beginRenderPass({ colorAttachments: [target] });
    shading.setPipeline(pipeline);
    if (group) shading.setBindGroup(0, group);
    shading.draw(3);
    shading.end();
  }

  target() {
    const usage = GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC;
    return this.texture([WIDTH, HEIGHT], SRGB, usage);
  }

  /** Submits, and reads a target's texels. */
  async read(encoder, texture) {
    const bytesPerRow = WIDTH * 4;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const buffer = this.device.createBuffer({ size: bytesPerRow * HEIGHT, usage });
    encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow }, [WIDTH, HEIGHT]);
    this.device.queue.submit([encoder.finish()]);
    await buffer.mapAsync(GPUMapMode.READ);
    return new Uint8Array(buffer.getMappedRange().slice(0));
  }

  triangle() {
    const target = this.target();
    const encoder = this.device.createCommandEncoder();
    this.whole(encoder, this.pipeline("corner", "shade", SRGB), null, target.createView());
    return this.read(encoder, target);
  }

  /** The texture, its smaller levels drawn from the larger ones. */
  wall(encoder) {
    const [texels, size] = bricks();
    const mipLevelCount = Math.log2(size) + 1;
    const use = GPUTextureUsage;
    const usage = use.TEXTURE_BINDING | use.COPY_DST | use.RENDER_ATTACHMENT;
    const texture = this.texture([size, size], SRGB, usage, { mipLevelCount });
    const layout = { bytesPerRow: size * 4 };
    this.device.queue.writeTexture({ texture }, texels, layout, [size, size]);
    const halve = this.pipeline("screen", "halve", SRGB);
    const soft = this.device.createSampler({ minFilter: "linear", magFilter: "linear" });
    const level = (baseMipLevel) => texture.createView({ baseMipLevel, mipLevelCount: 1 });
    for (let i = 1; i < mipLevelCount; i++) {
      this.whole(encoder, halve, this.group(halve, 0, level(i - 1), soft), level(i));
    }
    return texture;
  }

  scene() {
    const { device } = this;
    const use = GPUTextureUsage;
    const attributes = (...list) =>
      list.map(([shaderLocation, offset, format]) => ({ shaderLocation, offset, format }));
    const buffers = [
      {
        arrayStride: 32,
        attributes: attributes([0, 0, "float32x3"], [1, 12, "float32x3"], [2, 24, "float32x2"]),
      },
      {
        arrayStride: 36,
        stepMode: "instance",
        attributes: attributes([3, 0, "float32x4"], [4, 16, "float32x4"], [5, 32, "unorm8x4"]),
      },
    ];
    const meshes = [floor(), ring()].map(([vertices, indices]) => [
      this.upload(vertices, GPUBufferUsage.VERTEX),
      this.upload(indices, GPUBufferUsage.INDEX),
      indices.length,
    ]);
    const placed = this.upload(instances(), GPUBufferUsage.VERTEX);
    const numbers = [7, 5.5, 9, 0, 0, -0.4, 0, 0, 0.45, 0.8, 0.4, 0, WIDTH, HEIGHT, 0, 0];
    const frame = { buffer: this.upload(new Float32Array(numbers), GPUBufferUsage.UNIFORM) };

    const encoder = device.createCommandEncoder();
    const wall = this.wall(encoder);
    const draw = (shading) => {
      shading.setVertexBuffer(1, placed);
      meshes.forEach(([vertices, indices, count], number) => {
        shading.setVertexBuffer(0, vertices);
        shading.setIndexBuffer(indices, "uint16");
        shading.drawIndexed(count, number ? RINGS : 1, 0, 0, number);
      });
      shading.end();
    };
    const depth = (view, depthStoreOp) => ({
      view,
      depthClearValue: 1,
      depthLoadOp: "clear",
      depthStoreOp,
    });

    const usage = use.RENDER_ATTACHMENT | use.TEXTURE_BINDING;
    const shadow = this.texture([512, 512], "depth32float", usage).createView();
    const umbra = this.pipeline("umbra", undefined, undefined, { depth: "depth32float", buffers });
    const dark = encoder.beginRenderPass({
      colorAttachments: [],
      depthStencilAttachment: depth(shadow, "store"),
    });
    dark.setPipeline(umbra);
    dark.setBindGroup(0, this.group(umbra, 0, frame));
    draw(dark);

    const size = [WIDTH, HEIGHT];
    const four = { sampleCount: 4 };
    const many = this.texture(size, HDR, use.RENDER_ATTACHMENT, four).createView();
    const single = this.texture(size, HDR, usage).createView();
    const buried = this.texture(size, "depth24plus", use.RENDER_ATTACHMENT, four).createView();
    const lit = this.pipeline("surface", "lit", HDR, { depth: "depth24plus", count: 4, buffers });
    const linear = { minFilter: "linear", magFilter: "linear" };
    const repeat = { addressModeU: "repeat", addressModeV: "repeat" };
    const fine = device.createSampler({ ...linear, ...repeat, mipmapFilter: "linear" });
    const nearer = device.createSampler({ ...linear, compare: "less" });
    const colour = {
      view: many,
      resolveTarget: single,
      clearValue: [0.25, 0.4, 0.7, 1],
      loadOp: "clear",
      storeOp: "discard",
    };
    const bright = encoder.beginRenderPass({
      colorAttachments: [colour],
      depthStencilAttachment: depth(buried, "discard"),
    });
    bright.setPipeline(lit);
    bright.setBindGroup(0, this.group(lit, 0, frame));
    bright.setBindGroup(1, this.group(lit, 1, wall.createView(), fine, shadow, nearer));
    draw(bright);

    const develop = this.pipeline("screen", "develop", SRGB);
    const target = this.target();
    const group = this.group(develop, 0, single, device.createSampler(linear));
    this.whole(encoder, develop, group, target.createView());
    return this.read(encoder, target);
  }
}

function save(path, texels) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const rows = Buffer.alloc(HEIGHT * (1 + 3 * WIDTH));
  for (let y = 0, at = 0; y < HEIGHT; y++) {
    at++; // no filter
    for (let x = 0; x < WIDTH; x++, at += 3) {
      const pixel = 4 * (y * WIDTH + x);
      rows.set(texels.subarray(pixel, pixel + 3), at);
    }
  }
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(WIDTH);
  header.writeUInt32BE(HEIGHT, 4);
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows))];
  writeFileSync(path, Buffer.concat([magic, ...parts, chunk("IEND", Buffer.alloc(0))]));
}

const painter = await Painter.on(name);
for (const title of ["triangle", "scene"]) {
  save(join(directory, `${title}.png`), await painter[title]());
}
painter.device.destroy();
