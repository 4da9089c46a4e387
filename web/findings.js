// The checker's findings of a run.

import { $, make } from "./dom.js";
import { page } from "./page.js";

/** Rules by name. */
let rules = {};

export async function begin() {
  rules = Object.fromEntries((await page.compiler.call({ op: "rules" })).map((r) => [r.id, r]));
}

/** Lanes of a mask as ranges: `0–3, 7`. */
export function lanes(mask) {
  const out = [];
  for (let lane = 0; lane < 32; lane++) {
    if (!((mask >>> lane) & 1)) continue;
    const first = lane;
    while (lane < 31 && (mask >>> (lane + 1)) & 1) lane++;
    out.push(first === lane ? `${first}` : `${first}–${lane}`);
  }
  return out.join(", ");
}

function row(finding) {
  const rule = rules[finding.rule];
  const line = finding.source?.line;
  const name = make("button", { textContent: finding.rule, title: rule?.title ?? "" });
  name.addEventListener("click", () => {
    $("rule").hidden = false;
    $("rule").textContent = rule ? `${rule.id} (${rule.level}): ${rule.title}\n\n${rule.meaning}\n\nTo mend: ${rule.mend}` : finding.rule;
  });
  const place = line ? make("button", { textContent: `line ${line}` }) : "";
  if (line) place.addEventListener("click", () => page.editor.goTo(line));
  const workgroup = finding.workgroup.some((n) => n) ? ` (workgroup ${finding.workgroup.join(",")})` : "";
  const cells = [
    make("td", {}, name), make("td", { textContent: rule?.level ?? "" }), make("td", {}, place),
    make("td", { className: "what" }, finding.what + workgroup,
      make("div", { className: "code", textContent: `${finding.offset.toString(16)}: ${finding.instruction}` })),
    make("td", { textContent: lanes(finding.lanes) }),
    make("td", { textContent: finding.count.toLocaleString("en") }),
  ];
  return make("tr", { className: rule?.level ?? "" }, ...cells);
}

/** Shows the findings of a run that was checked; nothing for `null`. */
export function draw(findings) {
  $("rule").hidden = true;
  $("findings").hidden = !findings?.length;
  $("clean").hidden = !findings || findings.length > 0;
  const head = ["Rule", "Level", "Source", "What was found, and its instruction", "Lanes", "Times"];
  $("findings").querySelector("table").replaceChildren(
    make("caption", { textContent: "What the checker found" }),
    make("tr", {}, ...head.map((h) => make("th", { textContent: h, scope: "col" }))),
    ...(findings ?? []).map(row));
  const found = (findings ?? []).filter((f) => f.source).map((f) => f.source.line);
  page.editor.mark({ found: new Set(found) });
}
