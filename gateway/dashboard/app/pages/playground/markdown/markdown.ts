/** A part of a line. Text is only text: HTML of the model is shown as it is written. */
export type Inline =
  | { readonly kind: "text" | "code" | "strong" | "emphasis"; readonly text: string }
  | { readonly kind: "link"; readonly href: string; readonly text: string };

/** A block of a text. */
export type Block =
  | { readonly kind: "paragraph" | "quote"; readonly parts: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly parts: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly Item[] }
  | { readonly kind: "table"; readonly head: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly kind: "rule" };
type Cell = readonly Inline[];
/** An item of a list; `depth` is 0 for the outermost, and `number` is that of a numbered one. */
type Item = {
  readonly depth: number;
  readonly number: number | undefined;
  readonly parts: readonly Inline[];
};

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]{0,32})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const ITEM = /^( {0,12})(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;
/** No two spaces of unbounded length follow each other: a line without an end would be divided in every way. */
const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;
/** More is shown as plain text: a page of that length is not read. */
const MAX_CHARACTERS = 100_000;
const MAX_LINES = 4_000;
const MAX_LINE = 20_000;
const MAX_COLUMNS = 32;
const MAX_DEPTH = 4;

/** The blocks of a text in the common part of Markdown. In linear time of any text; what it does not know is text. */
export function toBlocks(text: string): readonly Block[] {
  if (text.length > MAX_CHARACTERS) return [{ kind: "code", language: "", text }];
  const lines = text.replaceAll("\r\n", "\n").split("\n", MAX_LINES + 1);
  if (lines.length > MAX_LINES) return [{ kind: "code", language: "", text }];
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const read = readBlock(lines, at);
    if (read.block) blocks.push(read.block);
    at = read.next;
  }
  return blocks;
}

type Read = { readonly block?: Block; readonly next: number };

function readBlock(lines: readonly string[], at: number): Read {
  const line = lines[at] ?? "";
  if (line.trim() === "") return { next: at + 1 };
  const fence = FENCE.exec(line);
  if (fence) return readCode(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) {
    const parts = toInline((heading[2] ?? "").replace(/ #{1,6} *$/, ""));
    return { block: { kind: "heading", level: (heading[1] ?? "").length, parts }, next: at + 1 };
  }
  if (RULE.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (line.startsWith(">")) return readQuote(lines, at);
  if (ITEM.test(line)) return readList(lines, at);
  if (isTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at);
}

/** Until its fence, or the end: a fence that has not arrived yet is still one. */
function readCode(
  lines: readonly string[],
  at: number,
  [, fence = "", language = ""]: RegExpExecArray,
): Read {
  let end = at + 1;
  while (end < lines.length && !isClosing(lines[end] ?? "", fence)) end++;
  return { block: { kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, next: end + 1 };
}

function isClosing(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text.startsWith(fence) && text === fence[0]?.repeat(text.length);
}

function readQuote(lines: readonly string[], at: number): Read {
  let end = at;
  while (end < lines.length && (lines[end] ?? "").startsWith(">")) end++;
  const text = lines.slice(at, end).map((line) => line.replace(/^> ?/, ""));
  return { block: { kind: "quote", parts: toInline(text.join("\n")) }, next: end };
}

function readList(lines: readonly string[], at: number): Read {
  const items: { depth: number; number: number | undefined; text: string }[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    const item = ITEM.exec(line);
    if (item) {
      const [, indent = "", number, text = ""] = item;
      const depth = Math.min(MAX_DEPTH, Math.floor(indent.length / 2));
      items.push({ depth, number: number === undefined ? undefined : Number(number), text });
    } else if (line.trim() === "") {
      if (!ITEM.test(lines[end + 1] ?? "")) break;
    } else if (/^ {2,}/.test(line) && !FENCE.test(line)) {
      const last = items.at(-1);
      if (last) last.text += `\n${line.trim()}`;
    } else break;
  }
  const read = items.map(({ text, ...item }) => ({ ...item, parts: toInline(text) }));
  return { block: { kind: "list", items: read }, next: end };
}

function isTable(lines: readonly string[], at: number): boolean {
  const [head = "", divider = ""] = [lines[at], lines[at + 1]];
  if (!head.includes("|") || !divider.includes("|") || divider.length > MAX_LINE) return false;
  return DIVIDER.test(divider) && head.split("|", MAX_COLUMNS + 1).length <= MAX_COLUMNS;
}

function readTable(lines: readonly string[], at: number): Read {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end++;
  const [head = [], ...rows] = [lines[at] ?? "", ...lines.slice(at + 2, end)].map(cellsOf);
  const full = rows.map((row) => head.map((_, n) => row[n] ?? []));
  return { block: { kind: "table", head, rows: full }, next: end };
}

function cellsOf(line: string): readonly Cell[] {
  const text = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return text.split("|", MAX_COLUMNS).map((cell) => toInline(cell.trim()));
}

function readParagraph(lines: readonly string[], at: number): Read {
  let end = at + 1;
  const startsOther = (line: string) =>
    line.trim() === "" || FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || line.startsWith(">");
  while (end < lines.length && !startsOther(lines[end] ?? "")) end++;
  return { block: { kind: "paragraph", parts: toInline(lines.slice(at, end).join("\n")) }, next: end };
}

/**
 * Marks in pairs, and links. Each pattern excludes its own mark, and backticks are read from the first one of a row, so
 * that a text is read once.
 */
const MARKS =
  /(?<!`)(`+)([^`]+)\1(?!`)|\*\*([^*\n]{1,2000})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,1000})\*(?![\w*])|\[([^[\]\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)/g;

function toInline(text: string): readonly Inline[] {
  if (text.length > MAX_LINE) return [{ kind: "text", text }];
  const parts: Inline[] = [];
  let at = 0;
  for (const found of text.matchAll(MARKS)) {
    if (found.index > at) parts.push({ kind: "text", text: text.slice(at, found.index) });
    parts.push(toMarked(found));
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push({ kind: "text", text: text.slice(at) });
  return parts;
}

function toMarked([, , code, strong, emphasis, text = "", href = ""]: RegExpExecArray): Inline {
  if (code !== undefined) return { kind: "code", text: code };
  if (strong !== undefined) return { kind: "strong", text: strong };
  if (emphasis !== undefined) return { kind: "emphasis", text: emphasis };
  return { kind: "link", href, text };
}
