// @module-tag medium
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { audioDuration } from "../../../src/inference/audio/audio-duration.ts";
import { forwardedBody, readFields } from "../../../src/inference/body/request-fields.ts";
import { readCompletionsRequest } from "../../../src/inference/completions/completions-request.ts";
import { readEmbeddingsRequest } from "../../../src/inference/embeddings/embeddings-request.ts";
import { BODY_LIMITS, measureJson } from "../../../src/kernel/text/json-shape.ts";
import {
  type FormPart,
  formBody,
  newForm,
  readMultipart,
  textsOf,
} from "../../../src/kernel/text/multipart.ts";
import { comparableBody } from "../../../src/rest/http/comparable-body.ts";
import { repeatedTurnMs, threadMs } from "../../support/attack/event-loop.ts";
import { toWav } from "../../support/inference/wav.ts";

const LONG_BYTES = 22 * 1_048_576;
const MAX_TURN_MS = 50;

describe("a JSON body", () => {
  const read = (json: string | Buffer) => readFields(z.looseObject({}), Buffer.from(json as string));

  test("is measured as it is parsed, whatever its strings contain", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const text = JSON.stringify(object);
        let members = 0;
        JSON.parse(text, (_name, part) => {
          if (typeof part === "object" && part !== null && !Array.isArray(part))
            members += Object.keys(part).length;
          return part;
        });
        expect(measureJson(Buffer.from(text), BODY_LIMITS).members).toBe(members);
      }),
    );
  });

  test.each([
    ["a duplicate field", '{"n":10,"n":1}', "n: duplicate field"],
    ["a duplicate field written with escapes", '{"n":1,"\\u006e":10}', "n: duplicate field"],
    [
      "a duplicate field of a message",
      '{"messages":[{"content":"a","content":"b"}]}',
      "messages.0.content: duplicate field",
    ],
    [
      "a duplicate nested field",
      '{"provider":{"sort":"x","sort":"price"}}',
      "provider.sort: duplicate field",
    ],
    ["a byte order mark", '\ufeff{"a":1}', "byte order mark"],
    ["65 objects deep", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, "more than 64 levels"],
    ["100,000 lists deep", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "more than 64 levels"],
    ["65,537 values", `[${"0,".repeat(65_537)}0]`, "more than 65536 values"],
    ["a million lists", `[${"[],".repeat(1_000_000)}0]`, "more than 65536 values"],
    [
      "4,097 members in one object",
      JSON.stringify({ a: Object.fromEntries(Array.from({ length: 4_097 }, (_, at) => [`m${at}`, 1])) }),
      "an object with more than 4096 members",
    ],
    ["a number of 1,025 digits", `{"a":${"1".repeat(1_025)}}`, "a number of more than 1024 characters"],
    ["4 MiB of white space", `{${" ".repeat(4 * 1_048_576)}}`, "outside of its strings"],
    ["a million escaped characters and more", `{"a":"${"\\n".repeat(1_048_577)}"}`, "escaped characters"],
    ["broken UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "not UTF-8"],
    ["half of a surrogate pair", '{"a":[{"b":"x\\ud83d"}]}', "a.0.b: has half of a surrogate pair"],
    ["the other half, in capitals", '{"a":"\\uDE00"}', "a: has half of a surrogate pair"],
    ["a pair in the wrong order", '{"a":"\\ude00\\ud83d"}', "a: has half of a surrogate pair"],
    ["half of a pair before another escape", '{"a":"\\ud83d\\n"}', "a: has half of a surrogate pair"],
    ["half of a pair after a pair", '{"a":"\\ud83d\\ude00\\ude00"}', "a: has half of a surrogate pair"],
    ["half of a pair in a name", '{"a":{"\\ud83d":1}}', "a.\ufffd: has half of a surrogate pair"],
    [
      "a million halves of pairs",
      `{"a":"${"\\udc00".repeat(1_000_000)}"}`,
      "The body has half of a surrogate pair",
    ],
    ["a prototype", '{"__proto__":{}}', "__proto__: a member of this name is not allowed"],
    ["half of it", "{", "not valid JSON"],
  ])("with %s is refused", (_what, json, reason) => {
    const startedMs = threadMs();
    expect(() => read(json)).toThrow(reason);
    expect(threadMs() - startedMs).toBeLessThan(200);
  });

  test.each([
    ["10,000 messages of two parts", JSON.stringify({ messages: Array(10_000).fill([{}, {}]) })],
    ["surrogate pairs", '{"a":"\\ud83d\\ude00 \\uD83D\\uDE00","b":"\\\\ud83d \\u00e9 \\ud7ff\\ue000"}'],
    ["a million surrogate pairs", `{"a":"${"\\ud83d\\ude00".repeat(500_000)}"}`],
    ["4 MiB in one text", JSON.stringify({ text: "a".repeat(4 * 1_048_576) })],
    ["4 MiB in texts with escapes", JSON.stringify({ texts: Array(60_000).fill(`${"a".repeat(65)}\n`) })],
  ])("with %s is read", (_what, json) => {
    expect(read(json)).toEqual(JSON.parse(json));
  });

  test("is forwarded unchanged where nothing is edited, and without the router's own fields", () => {
    const bytes = Buffer.from('{ "seed": 12345678901234567890, "n": 1 }');
    const fields = read(bytes);
    expect(forwardedBody({ bytes, fields }, {})).toBe(bytes);
    expect(forwardedBody({ bytes, fields }, { size: "8x8" }).toString()).toBe(
      '{ "seed": 12345678901234567890, "n": 1 ,"size":"8x8"}',
    );
    const steered = Buffer.from('{"n":1,"provider":{"sort":"price"},"verify_tee":true}');
    expect(forwardedBody({ bytes: steered, fields: read(steered) }, {}).toString()).toBe('{"n":1}');
  });

  test("keeps the bytes of all fields but those that are changed or removed", () => {
    const edited = (json: string, added: Readonly<Record<string, unknown>>) =>
      forwardedBody({ bytes: Buffer.from(json), fields: read(json) }, added).toString();
    const tools = '[{"maximum": 9223372036854775807, "minimum":-1E-400}]';
    expect(edited(`{"model":"a","tools":${tools}}`, { model: "b" })).toBe(`{"model":"b","tools":${tools}}`);
    expect(edited('{"provider":{},"seed":12345678901234567890 ,"n":1.0}', {})).toBe(
      '{"seed":12345678901234567890 ,"n":1.0}',
    );
    expect(
      edited('{ "models":["a"], "a,b":"}\\"", "stream_options":null }', { models: undefined, n: 2 }),
    ).toBe('{ "a,b":"}\\"", "stream_options":null ,"n":2}');
    expect(edited('{"usa\\u0067e":{"include":true},"\\u006dodel":"a"}', { model: "b" })).toBe(
      '{"model":"b"}',
    );
    expect(edited('{"provider":null}', {})).toBe("{}");
  });

  test("has the members that it should have, whatever is changed", () => {
    const names = ["model", "provider", "max_tokens", "a", "\u00e9", '"', "usage"];
    const member = fc.constantFrom(...names);
    const object = fc.dictionary(member, fc.jsonValue(), { minKeys: 1 });
    const changes = fc.dictionary(member, fc.option(fc.jsonValue(), { nil: undefined }), { maxKeys: 3 });
    fc.assert(
      fc.property(object, changes, fc.nat(2), (fields, added, indent) => {
        const bytes = Buffer.from(JSON.stringify(fields, undefined, indent));
        const { provider: _, usage: __, ...kept } = fields;
        const sent = JSON.parse(forwardedBody({ bytes, fields }, added).toString());
        expect(sent).toEqual(JSON.parse(JSON.stringify({ ...kept, ...added })));
      }),
    );
  });
});

describe("a form", () => {
  const name = fc.string({ minLength: 1 }).filter((text) => !/["\\\r\n%]/.test(text));
  const part = fc.record({
    name,
    filename: fc.option(name, { nil: undefined }),
    bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  });

  test("is read as it was written", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 20 }), async (parts) => {
        const form = newForm(parts);
        const read = await readMultipart(formBody(form, {}), form.contentType);
        expect(read.parts.map(plain)).toEqual(parts.map(plain));
      }),
    );
  });

  test("is read as the platform writes it", async () => {
    const form = new FormData();
    form.set("model", "m");
    form.set('a "quoted"\r\nname', "x");
    form.append("image[]", new Blob(["\r\n--\r\n"], { type: "image/png" }), 'odd "name".png');
    const request = new Request("http://127.0.0.1/", { method: "POST", body: form });
    const bytes = Buffer.from(await request.arrayBuffer());
    const { parts } = await readMultipart(bytes, request.headers.get("content-type") ?? "");
    expect(parts.map(plain)).toEqual([
      { name: "model", filename: undefined, text: "m" },
      { name: "a %22quoted%22%0D%0Aname", filename: undefined, text: "x" },
      { name: "image[]", filename: "odd %22name%22.png", text: "\r\n--\r\n" },
    ]);
  });

  test("with one text replaced contains exactly that text, and its other bytes are unchanged", async () => {
    const made = newForm([text("model", "m"), text("prompt", "p")]);
    const bytes = formBody(made, {});
    const form = await readMultipart(bytes, made.contentType);
    expect(formBody(form, {})).toBe(bytes);
    const other = await readMultipart(formBody(form, { model: "upstream" }), made.contentType);
    expect(textsOf(other)).toEqual({ model: "upstream", prompt: "p" });
  });

  test("with a repeated field, or truncated anywhere, is refused", async () => {
    const made = newForm([text("n", "1"), text("n", "10")]);
    const bytes = formBody(made, {});
    const form = await readMultipart(bytes, made.contentType);
    expect(() => textsOf(form)).toThrow("sent twice");
    for (let end = 0; end < bytes.length - 4; end++)
      await expect(readMultipart(bytes.subarray(0, end), made.contentType), String(end)).rejects.toThrow(
        "not well-formed",
      );
  });

  test("accepts 1 MiB of text in all its fields together", async () => {
    const fields = Array.from({ length: 3 }, (_, n) => text(`field-${n}`, "a".repeat(400_000)));
    const form = newForm(fields);
    const read = await readMultipart(formBody(form, {}), form.contentType);
    expect(() => textsOf(read)).toThrow("field-2 is too long");
  });

  test("that is long is parsed in short turns, wherever its boundaries are and whatever is between them", async () => {
    const { contentType } = newForm([]);
    const boundary = `--${contentType.split("boundary=")[1]}`;
    const contents = {
      "carriage returns": "\r",
      "ends of lines": "\r\n",
      "beginnings of boundaries": `\r\n${boundary.slice(0, -1)}`,
      "boundaries without their first letter": `\r\n${boundary.slice(1)}`,
      letters: "a",
    };
    for (const [what, piece] of Object.entries(contents)) {
      const files = [LONG_BYTES, 1_048_576 - 150, 1_048_576, 0].map((sizeBytes, n) => ({
        name: `file-${n}`,
        filename: "a",
        bytes: Buffer.alloc(sizeBytes, piece),
      }));
      const form = { contentType, parts: files };
      const body = formBody(form, {});
      const hash = await comparableBody(body, contentType);
      let read: typeof form | undefined;
      const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
        read = (await readMultipart(body, contentType)) as typeof form;
        expect(await comparableBody(body, contentType)).toEqual(hash);
      });
      expect(turnMs, what).toBeLessThan(MAX_TURN_MS);
      expect(read?.parts.map(({ bytes }) => bytes.length)).toEqual(files.map(({ bytes }) => bytes.length));
    }
  });

  test("never throws anything but an error that names the fault", async () => {
    const made = newForm([text("model", "m")]);
    const good = formBody(made, {});
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), async (at, byte) => {
        const bytes = Buffer.from(good);
        bytes[at] = byte;
        try {
          await readMultipart(bytes, made.contentType);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_body" });
        }
      }),
    );
  });
});

describe("lists of tokens", () => {
  const lists = (count: number, length: number) =>
    Array.from({ length: count }, () => Array(length).fill(1_000));
  const embeddings = (input: unknown, more: object = {}) =>
    Buffer.from(JSON.stringify({ model: "embed", input, ...more }));

  test("may have as many tokens as OpenAI takes, and are read in one short turn", async () => {
    const bytes = embeddings(lists(2_048, 146));
    const prompt = Buffer.from(JSON.stringify({ model: "complete", prompt: Array(300_000).fill(17) }));
    expect(await repeatedTurnMs(50, () => readEmbeddingsRequest(bytes))).toBeLessThan(50);
    expect(await readEmbeddingsRequest(bytes)).toMatchObject({ inputs: 2_048 });
    expect(await readCompletionsRequest(prompt)).toMatchObject({ prompts: 1 });
  });

  test.each([
    ["more tokens", embeddings(Array(600_000).fill(1)), "more than 524288 numbers"],
    ["as many numbers elsewhere", embeddings("a", { user: Array(70_000).fill(1) }), "more than 65536 values"],
    ["as many values within", embeddings(lists(70_000, 1)), "more than 65536 values"],
    [
      "as many numbers deep elsewhere",
      embeddings("a", { user: [{ a: Array(70_000).fill(1) }] }),
      "65536 values",
    ],
  ])("may not have %s", async (_what, bytes, reason) => {
    await expect(readEmbeddingsRequest(bytes)).rejects.toThrow(reason);
  });

  test("are not in a chat", () => {
    const chat = Buffer.from(JSON.stringify({ messages: Array(70_000).fill(1) }));
    expect(() => readFields(z.looseObject({}), chat)).toThrow("more than 65536 values");
  });
});

describe("the duration of an audio file", () => {
  test("is proved by uncompressed WAV alone; otherwise it is the maximum for the size", () => {
    expect(audioDuration(toWav(8.5))).toEqual({ seconds: 9, isExact: true });
    expect(audioDuration(toWav(0))).toEqual({ seconds: 1, isExact: true });
    expect(audioDuration(Buffer.alloc(4_500, 1))).toEqual({ seconds: 5, isExact: false });
  });

  test("is not what the header alone claims", () => {
    const short = toWav(8);
    short.writeUInt32LE(1, 40);
    expect(audioDuration(short).seconds).toBe(8);
    const compressed = toWav(8);
    compressed.writeUInt16LE(2, 20);
    expect(audioDuration(compressed)).toEqual({ seconds: 65, isExact: false });
    for (const at of [22, 24, 34]) {
      const zero = toWav(8);
      zero.writeUInt16LE(0, at);
      if (at === 24) zero.writeUInt32LE(0, at);
      expect(audioDuration(zero).isExact, String(at)).toBe(false);
    }
  });

  test("is not proved by a file with two formats, of which a decoder may take either", () => {
    const slow = toWav(65);
    const fast = slow.subarray(12, 36);
    const other = Buffer.from(fast);
    other.writeUInt32LE(1_000_000, 12);
    for (const formats of [
      [fast, other],
      [other, fast],
    ]) {
      const both = Buffer.concat([slow.subarray(0, 12), ...formats, slow.subarray(36)]);
      expect(audioDuration(both)).toEqual({ seconds: 521, isExact: false });
    }
  });

  test("counts samples of a few bits as the bytes in which they are stored", () => {
    const wav = toWav(60);
    wav.writeUInt16LE(12, 34);
    expect(audioDuration(wav)).toEqual({ seconds: 30, isExact: true });
  });

  test("is read in a bounded time, whatever precedes the sound", () => {
    const wav = toWav(8);
    const withChunks = (chunks: number) =>
      Buffer.concat([wav.subarray(0, 36), Buffer.from("junk\0\0\0\0".repeat(chunks)), wav.subarray(36)]);
    expect(audioDuration(withChunks(900))).toEqual({ seconds: 8, isExact: true });
    const many = withChunks(3_000_000);
    const startedMs = threadMs();
    expect(audioDuration(many)).toMatchObject({ isExact: false });
    expect(threadMs() - startedMs).toBeLessThan(50);
  });
});

function text(name: string, value: string): FormPart {
  return { name, bytes: Buffer.from(value) };
}

function plain({ name, filename, bytes }: FormPart) {
  return { name, filename, text: bytes.toString("latin1") };
}
