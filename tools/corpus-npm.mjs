// GLSL of npm packages as files that glslangValidator takes: includes resolved, loops unrolled, with the declarations that the engines put in front.
//
// usage: node tools/corpus-npm.mjs PACKAGES OUT
// PACKAGES holds the unpacked packages `three` and `babylon`; OUT/three and OUT/babylon take the files.

import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, out] = process.argv.slice(2);
const load = (...p) => import(pathToFileURL(path.resolve(packages, ...p)));

function write(dir, name, stage, text) {
  fs.mkdirSync(path.join(out, dir), { recursive: true });
  fs.writeFileSync(path.join(out, dir, `${name}.${stage}`), text);
}

const defines = (list) => Object.entries(list).map(([k, v]) => `#define ${k} ${v}\n`).join('');

// What both engines' shaders of WebGL 1 style need.
const common = `#version 450
#define texture2D texture
#define textureCube texture
#define texture2DProj textureProj
#define texture2DLodEXT textureLod
#define textureCubeLodEXT textureLod
#define texture2DGradEXT textureGrad
#define gl_InstanceID gl_InstanceIndex
#define gl_VertexID gl_VertexIndex
`;
const vertex = '#define attribute in\n#define varying out\n';
const fragment = `#define varying in
layout(location = 0) out highp vec4 glFragColor;
#define gl_FragColor glFragColor
#define gl_FragDepthEXT gl_FragDepth
`;

async function three() {
  const { ShaderChunk } = await load('three/src/renderers/shaders/ShaderChunk.js');
  const { ShaderLib } = await load('three/src/renderers/shaders/ShaderLib.js');
  const include = (text) =>
    text.replace(/^[ \t]*#include +<([\w\d./]+)>/gm, (_, name) => include(ShaderChunk[name] ?? ''));
  const lights = { DIR: 1, SPOT: 1, RECT_AREA: 0, POINT: 2, HEMI: 1 };
  const numbers = (text) => {
    for (const [k, n] of Object.entries(lights)) {
      text = text.replaceAll(`NUM_${k}_LIGHT_SHADOWS`, '0').replaceAll(`NUM_${k}_LIGHTS`, n);
    }
    return text.replace(/NUM_SPOT_LIGHT_(MAPS|COORDS|SHADOWS_WITH_MAPS)/g, '0')
      .replace(/NUM_CLIPPING_PLANES|UNION_CLIPPING_PLANES/g, '0');
  };
  const unroll = (text) => text.replace(
    /#pragma unroll_loop_start\s+for\s*\(\s*int\s+i\s*=\s*(\d+)\s*;\s*i\s*<\s*(\d+)\s*;\s*i\s*\+\+\s*\)\s*{([\s\S]+?)}\s+#pragma unroll_loop_end/g,
    (_, from, to, body) => {
      let all = '';
      for (let i = Number(from); i < Number(to); i++) {
        all += body.replace(/\[\s*i\s*\]/g, `[ ${i} ]`).replaceAll('UNROLLED_LOOP_INDEX', i);
      }
      return all;
    });
  const variants = {
    plain: {},
    textured: {
      USE_MAP: '', MAP_UV: 'uv', USE_UV: '', USE_FOG: '', USE_COLOR: '', USE_NORMALMAP: '', USE_NORMALMAP_TANGENTSPACE: '',
      NORMALMAP_UV: 'uv', USE_ALPHATEST: '', USE_INSTANCING: '',
    },
    environment: {
      USE_ENVMAP: '', ENVMAP_TYPE_CUBE: '', ENVMAP_MODE_REFLECTION: '', ENVMAP_BLENDING_MULTIPLY: '', USE_EMISSIVEMAP: '',
      EMISSIVEMAP_UV: 'uv', USE_AOMAP: '', AOMAP_UV: 'uv', FLAT_SHADED: '', DITHERING: '',
    },
  };
  const vertexHead = `uniform mat4 modelMatrix; uniform mat4 modelViewMatrix; uniform mat4 projectionMatrix; uniform mat4 viewMatrix;
uniform mat3 normalMatrix; uniform vec3 cameraPosition; uniform bool isOrthographic;
#ifdef USE_INSTANCING
attribute mat4 instanceMatrix;
#endif
attribute vec3 position; attribute vec3 normal; attribute vec2 uv;
#ifdef USE_COLOR
attribute vec3 color;
#endif
`;
  const fragmentHead = `uniform mat4 viewMatrix; uniform vec3 cameraPosition; uniform bool isOrthographic;
vec4 linearToOutputTexel( vec4 value ) { return value; }
`;
  for (const [name, lib] of Object.entries(ShaderLib)) {
    for (const [variant, list] of Object.entries(variants)) {
      const finish = (text) => unroll(numbers(include(text)));
      const head = common + defines(list);
      write('three', `${name}.${variant}`, 'vert', head + vertex + vertexHead + finish(lib.vertexShader));
      write('three', `${name}.${variant}`, 'frag', head + fragment + fragmentHead + finish(lib.fragmentShader));
    }
  }
}

async function babylon() {
  const { ShaderStore } = await load('babylon/Engines/shaderStore.js');
  const files = (dir) => fs.readdirSync(path.resolve(packages, dir)).filter((f) => f.endsWith('.js'));
  for (const dir of ['babylon/Shaders/ShadersInclude', 'babylon/Shaders']) {
    for (const f of files(dir)) {
      try {
        await load(dir, f);
      } catch (e) {
        console.error(`${dir}/${f}: ${e.message}`);
      }
    }
  }
  const include = (text, depth = 0) => depth > 8 ? text : text.replace(
    /#include\s?<(.+?)>(?:\((.*?)\))?(?:\[(.*?)\])?/g,
    (_, name, swap, range) => {
      let part = (ShaderStore.IncludesShadersStore[name] ?? '');
      if (swap) {
        const list = swap.split(',');
        for (let i = 0; i + 1 < list.length; i += 2) part = part.replaceAll(list[i].trim(), list[i + 1].trim());
      }
      if (range) part = part.replaceAll('{X}', '0');
      return include(part, depth + 1);
    });
  // What the engine declares for every shader of WebGL 2.
  const variants = {
    plain: {},
    rich: {
      DIFFUSE: '', DIFFUSEDIRECTUV: 1, UV1: '', MAINUV1: '', NORMAL: '', LIGHT0: '', POINTLIGHT0: '', FOG: '', VERTEXCOLOR: '',
      ALPHATEST: '', BUMP: '', BUMPDIRECTUV: 1, INSTANCES: '', SPECULARTERM: '',
    },
  };
  for (const [name, text] of Object.entries(ShaderStore.ShadersStore)) {
    const stage = name.endsWith('VertexShader') ? 'vert' : name.endsWith('PixelShader') ? 'frag' : null;
    if (!stage) continue;
    for (const [variant, list] of Object.entries(variants)) {
      const head = common + defines({ NUM_BONE_INFLUENCERS: 0, BonesPerMesh: 0, NUM_MORPH_INFLUENCERS: 0, ...list });
      const body = include(text).replace(/^\s*#extension.*$/gm, '').replace(/precision highp \w+;/g, '');
      write('babylon', `${name}.${variant}`, stage, head + (stage === 'vert' ? vertex : fragment) + body);
    }
  }
}

await three();
await babylon();
