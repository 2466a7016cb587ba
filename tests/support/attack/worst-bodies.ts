import { scatteredBytes } from "../inference/scattered-text.ts";

/** A body that is as slow to parse as its size allows, named by its cause. */
export type WorstBody = { readonly what: string; readonly contentType: string; readonly body: Buffer };

const JSON_TYPE = "application/json";
const BOUNDARY = "a".repeat(70);
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
/** As many values as a body may have, and slightly fewer. */
const MAX_VALUES = 60_000;

/**
 * JSON bodies of at most `sizeBytes`: each is an object with the members of `valid`, and one more of the
 * worst shape. Half of them are beyond the limits of a body, the others just within.
 */
export function worstJson(sizeBytes: number, valid: object = {}): readonly WorstBody[] {
  const base = JSON.stringify({ ...valid, x: 0 }).slice(0, -2);
  const room = sizeBytes - Buffer.byteLength(base) - 2;
  const isLarge = sizeBytes > LARGE_BYTES;
  return Object.entries(SHAPES).flatMap(([what, shape]) =>
    isLarge && !WORST_OF_LARGE.has(what)
      ? []
      : [{ what, contentType: JSON_TYPE, body: Buffer.from(`${base}${shape(room)}}`) }],
  );
}

/** Only a few bodies of this length are tried: sending them takes longer than parsing them. */
const LARGE_BYTES = 4 * 1_048_576;
const WORST_OF_LARGE: ReadonlySet<string> = new Set([
  "endless lists",
  "as many members as allowed",
  "one text of escapes",
  "white space",
]);

/** How many bodies of new member names there are. */
let bodies = 0;

const SHAPES: Readonly<Record<string, (room: number) => string>> = {
  "endless lists": (room) => listOf("[]", room),
  "endless objects": (room) => listOf("{}", room),
  "endless numbers": (room) => listOf("0", room),
  "endless texts": (room) => listOf('""', room),
  "endless members": (room) => membersOf(room, Number.POSITIVE_INFINITY),
  "as many lists as allowed": (room) => listOf("[]", Math.min(room, MAX_VALUES * 1.5)),
  "as many objects as allowed": (room) => listOf('{"a":0}', Math.min(room, MAX_VALUES * 4)),
  "as many members as allowed": (room) => membersOf(room, MAX_VALUES),
  "as many member names as allowed": (room) => objectsOf(room, 8_000, (n) => `"b${bodies}_${n}":0`),
  "as many orders of member names as allowed": (room) =>
    objectsOf(room, 8_000, (n) => `"b${bodies}_${n % 90}":0,"k${Math.floor(n / 90)}":0`),
  "endless member names": (room) => objectsOf(room, 28_000, (n) => `"b${bodies}_${n}":0`),
  "as many texts as allowed": (room) => listOf(`"${"é".repeat(room / MAX_VALUES / 4)}"`, room * 0.9),
  "one text": (room) => `"${"a".repeat(room - 2)}"`,
  "one text of escapes": (room) => `"${'\\"'.repeat(room / 2 - 1)}"`,
  "one text of escaped letters": (room) => `"${"\\u4e2d".repeat(room / 6 - 1)}"`,
  "one text of multi-byte letters": (room) => `"${"中".repeat(room / 3 - 1)}"`,
  "one number": (room) => "1".repeat(room),
  "white space": (room) => `[${" ".repeat(room - 2)}]`,
  "lists in lists": (room) => "[".repeat(room / 2) + "]".repeat(room / 2),
  "half a body": (room) => `"${"a".repeat(room - 2)}`,
  "a prototype and lists": (room) =>
    `["__proto__",${listOf("[]", Math.min(room, MAX_VALUES * 1.5)).slice(1)}`,
};

/** Text of this length without a pattern is tokenized in about 1 s, on a thread. */
const COUNTED_BYTES = 150_000;

/** Conversations of at most `sizeBytes` whose lists have as many items as possible. */
export function worstConversations(sizeBytes: number, valid: object): readonly WorstBody[] {
  const conversation = (what: string, messages: string, more = ""): WorstBody => {
    const base = JSON.stringify({ ...valid, messages: 0 }).slice(0, -2);
    return { what, contentType: JSON_TYPE, body: Buffer.from(`${base}${messages}${more}}`) };
  };
  const room = sizeBytes - 1_000;
  const message = '{"role":"user","content":"a"}';
  const part = '{"type":"text","text":"a"}';
  const said = (content: string) => `[{"role":"user","content":${content}}]`;
  return [
    conversation("10,000 messages", listOf(message, 10_000 * (message.length + 1))),
    conversation("20,000 messages", listOf(message, 20_000 * (message.length + 1))),
    conversation("10,000 parts", said(listOf(part, 10_000 * (part.length + 1)))),
    conversation("20,000 parts", said(listOf(part, 20_000 * (part.length + 1)))),
    conversation("endless parts", said(listOf(part, room))),
    conversation("10,000 tools", said('"a"'), `,"tools":${listOf('{"type":"function"}', 200_000)}`),
    conversation("one long word", said(`"${"a".repeat(room)}"`)),
    conversation("one long text", said(`"${"中文字".repeat(room / 9)}"`)),
    conversation("one long text of short words", said(`"${"a b ".repeat(room / 4)}"`)),
    conversation("one text of base64", said(`"${base64Of(Math.min(room, COUNTED_BYTES))}"`)),
    conversation("an image", said(`[{"type":"image_url","image_url":{"url":"${base64Of(room - 100)}"}}]`)),
  ];
}

/** Forms of at most `sizeBytes`. */
export function worstForms(sizeBytes: number): readonly WorstBody[] {
  const room = sizeBytes - 1_000;
  const form = (what: string, head: string, content: string): WorstBody => ({
    what,
    contentType: FORM_TYPE,
    body: Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n--${BOUNDARY}--\r\n`,
    ),
  });
  const start = `\r\n--${BOUNDARY.slice(1)}`;
  return [
    form("a file", 'name="file"; filename="a"', "a".repeat(room)),
    form("a file of boundary prefixes", 'name="file"; filename="a"', start.repeat(room / start.length)),
    form("a file of line ends", 'name="file"; filename="a"', "\r\n".repeat(room / 2)),
    form("a file of carriage returns", 'name="file"; filename="a"', "\r".repeat(room)),
    form("a part whose headers never end", `name="file"; x="${"a".repeat(room - 100)}`, ""),
    form("endless texts", 'name="x"', textsOf(room)),
    form("a text", 'name="prompt"', "中".repeat(room / 3)),
    form("a name of quotes", `name="${'\\"'.repeat(1_900)}"`, "a".repeat(room - 4_000)),
    form(
      "endless parts",
      'name="x"',
      `\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="x"\r\n\r\n`.repeat(room / 130),
    ),
  ];
}

/** As many fields as a form may have, each as long as there is room for. */
function textsOf(room: number): string {
  const sizeBytes = Math.min(1_000_000, room / 60 - 200);
  return Array.from(
    { length: Math.min(60, room / (sizeBytes + 200)) },
    (_, n) =>
      `\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="x${n}"\r\n\r\n${"中".repeat(sizeBytes / 3)}`,
  ).join("");
}

function base64Of(length: number): string {
  return scatteredBytes(Math.ceil(length * 0.75))
    .toString("base64")
    .slice(0, length);
}

function listOf(item: string, length: number): string {
  return `[${`${item},`.repeat(Math.max(1, length / (item.length + 1) - 2))}${item}]`;
}

/** A list of at most `most` objects; V8 has no hidden class for names that no earlier body had. */
function objectsOf(room: number, most: number, members: (n: number) => string): string {
  bodies++;
  const objects: string[] = [];
  for (let length = 2, n = 0; length + 60 < room && n < most; n++) {
    const object = `{${members(n)}}`;
    objects.push(object);
    length += object.length + 1;
  }
  return `[${objects.join(",")}]`;
}

function membersOf(room: number, most: number): string {
  const members: string[] = [];
  for (let length = 2, n = 0; length + 20 < room && n < most; n++) {
    const member = `"k${n}":0`;
    members.push(member);
    length += member.length + 1;
  }
  return `{${members.join(",")}}`;
}
