// An editor's side of the debug adapter protocol, by Microsoft's client for tests of adapters: a breakpoint with a condition on a
// variable, the frame, the scopes, a step back, the end.
//
//   node dap_client.mjs DIRECTORY TEPUI SHADER
//   DIRECTORY  where `@vscode/debugadapter-testsupport` is installed; SHADER  the worked example of docs/debugging.md

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [directory, tepui, program] = process.argv.slice(2);
const { DebugClient } = createRequire(`${directory}/package.json`)("@vscode/debugadapter-testsupport");
const client = new DebugClient(tepui, "dap", "tepui");
const threadId = 1;

await client.start();
await Promise.all([
  client.configurationSequence(),
  client.launch({ program, buffers: ["0=32"], stopOnEntry: true }),
  client.assertStoppedLocation("entry", { path: program, line: 7 }),
]);
const breakpoints = [{ line: 8, condition: "0.count > 150" }, { line: 99 }];
const set = await client.setBreakpointsRequest({ source: { path: program }, breakpoints });
assert.deepEqual(set.body.breakpoints.map((b) => b.verified), [true, false]);
await Promise.all([
  client.continueRequest({ threadId }),
  client.assertStoppedLocation("breakpoint", { path: program, line: 8 }),
]);
const { stackFrames } = (await client.stackTraceRequest({ threadId })).body;
const { scopes } = (await client.scopesRequest({ frameId: stackFrames[0].id })).body;
const variables = async (scope) => {
  const { variablesReference } = scopes.find((s) => s.name.startsWith(scope));
  return (await client.variablesRequest({ variablesReference })).body.variables;
};
const count = (await variables("Variables")).find((v) => v.name.startsWith("count "));
assert.match(count.value, / or 151$/);
assert.equal((await variables("Lanes")).filter((v) => v.value === "executes").length, 1);
const hover = await client.evaluateRequest({ expression: "count", context: "hover" });
assert.match(hover.body.result, /lane 0 .*151/);
await Promise.all([client.stepBackRequest({ threadId }), client.waitForEvent("stopped")]);
await Promise.all([
  client.evaluateRequest({ expression: "goto end", context: "repl" }),
  client.waitForEvent("stopped"),
]);
const memory = await client.evaluateRequest({ expression: "memory steps 1", context: "repl" });
assert.match(memory.body.result, /steps\[0\] +000000c8/);
await assert.rejects(client.evaluateRequest({ expression: "print nothing", context: "repl" }), /neither a register/);
await client.stop();
console.log("ok: dap");
