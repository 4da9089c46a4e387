// A small editor: a textarea over its own text in colours. The browser does all editing, so that keyboards, screen readers,
// undo and phones work as in any text field.

const KEYWORDS = new Set(("fn let var const struct return if else for while loop break continue continuing switch case default " +
  "discard override alias enable requires void in out inout uniform buffer layout readonly writeonly shared precision highp " +
  "mediump lowp flat true false storage read write read_write workgroup private function").split(" "));
const TYPE = /^(?:[biuf](?:16|32)|bool|int|uint|float|double|array|atomic|ptr|sampler\w*|texture_\w+|image\w+|[biud]?vec[234]\w?|mat[234]x?[234]?\w?)$/;
const TOKEN = /\/\/.*|\/\*[\s\S]*?\*\/|#\w+|@\w+|\b\d[\w.]*|\b[A-Za-z_]\w*|[\s\S]/g;

const escape = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

function kind(token) {
  if (token.startsWith("//") || token.startsWith("/*")) return "comment";
  if (/^[#@]/.test(token) && token.length > 1) return "keyword";
  if (/^\d/.test(token)) return "number";
  if (KEYWORDS.has(token)) return "keyword";
  return TYPE.test(token) ? "type" : "";
}

/** Lines of text as HTML. */
function colour(text) {
  let html = "";
  for (const [token] of text.matchAll(TOKEN)) {
    const name = kind(token);
    // A comment of several lines becomes a span on each.
    html += name
      ? token.split("\n").map((part) => `<span class="${name}">${escape(part)}</span>`).join("\n")
      : escape(token);
  }
  return html.split("\n");
}

/** The hue of a source line, far from its neighbours'. */
export const hue = (line) => (line * 137.5) % 360;

export class Editor {
  constructor(element, { changed, hovered, gutter }) {
    element.innerHTML = `<div class="editor-inner"><div class="gutter" aria-hidden="true"></div>
      <div class="stack"><pre aria-hidden="true"></pre>
      <textarea aria-label="Shader source" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off"></textarea></div></div>`;
    [this.gutter, this.pre, this.area] = [".gutter", "pre", "textarea"].map((name) => element.querySelector(name));
    this.element = element;
    this.marks = { lines: new Set(), error: null, hot: 0, now: 0, breaks: new Set(), found: new Set() };
    this.area.addEventListener("input", () => {
      // Findings are those of another text.
      this.marks.found = new Set();
      this.draw();
      changed();
    });
    this.area.addEventListener("keydown", (event) => {
      // Tab indents; after Escape it leaves the field, as always.
      if (event.key === "Escape") this.leave = true;
      else if (event.key === "Tab" && !event.shiftKey && !this.leave) {
        event.preventDefault();
        document.execCommand("insertText", false, "    ");
      } else if (event.key !== "Tab") this.leave = false;
    });
    this.area.addEventListener("mousemove", (event) => hovered(this.lineAt(event)));
    this.area.addEventListener("mouseleave", () => hovered(0));
    for (const name of ["keyup", "click"]) {
      this.area.addEventListener(name, () => hovered(this.caretLine()));
    }
    this.gutter.addEventListener("click", (event) => {
      const line = [...this.gutter.children].indexOf(event.target) + 1;
      if (line > 0) gutter(line);
    });
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.marks.breaks.clear();
    this.marks.found = new Set();
    this.draw();
  }

  caretLine() {
    return this.area.value.slice(0, this.area.selectionStart).split("\n").length;
  }

  lineAt(event) {
    const box = this.pre.getBoundingClientRect();
    const height = this.pre.firstElementChild?.getBoundingClientRect().height || 20;
    const line = Math.floor((event.clientY - box.top - 8) / height) + 1;
    return line >= 1 && line <= this.pre.childElementCount ? line : 0;
  }

  /** Changes what is marked: `lines` with code or findings (`found`), `error`, `hot`, `now`, `breaks`. */
  mark(marks) {
    Object.assign(this.marks, marks);
    this.draw();
  }

  /** Puts the caret at the start of a line and the focus into the text. */
  goTo(line) {
    const at = this.area.value.split("\n").slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(at, at);
    this.mark({ hot: line });
    this.show(line);
  }

  /** Shows a line if it is out of sight. */
  show(line) {
    const [row, view] = [this.pre.children[line - 1]?.getBoundingClientRect(), this.element.getBoundingClientRect()];
    // Up and down only: the start of the lines stays in sight.
    if (row && row.top < view.top) this.element.scrollTop += row.top - view.top;
    if (row && row.bottom > view.bottom) this.element.scrollTop += row.bottom - view.bottom;
  }

  draw() {
    const { lines, error, hot, now, breaks, found } = this.marks;
    const text = this.area.value;
    const html = colour(text).map((line, index) => {
      const number = index + 1;
      const names = [];
      if (lines.has(number)) names.push("marked");
      if (number === hot) names.push("hot");
      if (number === now) names.push("now");
      if (found.has(number)) names.push("found");
      if (error?.line === number) {
        names.push("wrong");
        const raw = new TextEncoder().encode(text.split("\n")[index]);
        const [from, to] = [error.column - 1, error.column - 1 + Math.max(error.length, 1)];
        const part = (a, b) => escape(new TextDecoder().decode(raw.slice(a, b)));
        line = `${part(0, from)}<span class="squiggle">${part(from, to) || " "}</span>${part(to)}`;
      }
      return `<div class="${names.join(" ")}" style="--hue:${hue(number)}">${line || " "}</div>`;
    });
    this.pre.innerHTML = html.join("");
    this.gutter.innerHTML = html.map((_, i) => `<span class="${breaks.has(i + 1) ? "break" : ""}">${i + 1}</span>`).join("");
  }
}
