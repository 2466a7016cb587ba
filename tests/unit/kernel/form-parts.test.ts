import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readForm } from "../../../src/devnet/provider/endpoints/form.ts";
import { readTranscriptionForm } from "../../../src/inference/audio/audio-request.ts";
import { readMultipart } from "../../../src/kernel/text/multipart.ts";

const TYPE = "multipart/form-data; boundary=b";
const OWN = 'Content-Disposition: form-data; name="x"';

/** A form with one part for each of these header texts. */
function formOf(...heads: readonly string[]): Buffer {
  return Buffer.from(`${heads.map((head) => `--b\r\n${head}\r\n\r\n3\r\n`).join("")}--b--\r\n`);
}

const partOf = async (head: string) => (await readMultipart(formOf(head), TYPE)).parts[0];

describe("the name of a part", () => {
  test.each([
    ["after an unknown parameter that looks like one", 'form-data; a="; name=x"; name="n"', "n", undefined],
    ["after a file name that looks like one", 'form-data; filename="a; name=x"; name="n"', "n", "a; name=x"],
    ["without quotes, in other letter case", "FORM-DATA;NAME=n ; FileName=a.wav;", "n", "a.wav"],
    ["beside a file name in UTF-8", "form-data; name=\"n\"; filename*=utf-8''%E6%97%A5.wav", "n", "日.wav"],
    ["beside both", "form-data; name=n; filename=\"_.wav\"; filename*=UTF-8'en'%e6%97%a5.wav", "n", "日.wav"],
    ["beside one in Latin-1", "form-data; name=n; filename*=iso-8859-1''%E9.wav", "n", "é.wav"],
  ])("is read %s", async (_, disposition, name, filename) => {
    const { bytes, ...head } = { ...(await partOf(`Content-Disposition: ${disposition}`)) };
    expect([head, String(bytes)]).toEqual([{ name, ...(filename !== undefined && { filename }) }, "3"]);
  });

  test.each([
    ["two names", `${OWN}; name="n"`],
    ["an encoded name", `${OWN}; name*=utf-8''n`],
    ["a name in a folded line", `${OWN};\r\n name="n"`],
    ["two dispositions", `${OWN}\r\ncontent-disposition: form-data; name="n"`],
    ["a bare line feed", `${OWN}\r\nX: a\nContent-Disposition: form-data; name="n"`],
    ["text after a quote", 'Content-Disposition: form-data; name="x\\"; name="n"'],
    ["two file names", `${OWN}; filename=a; filename=b`],
    ["a file name in pieces", `${OWN}; filename*0="a"; filename*1="b"`],
    ["a file name in an unknown encoding", `${OWN}; filename*=utf-7''a`],
    ["a file name that is not UTF-8", `${OWN}; filename*=utf-8''%E9`],
  ])("is refused with %s, of which another parser may take the other", async (_, head) => {
    await expect(partOf(head)).rejects.toMatchObject({ code: "invalid_body", param: "body" });
  });

  test("is the one that providers find, whatever is sent", async () => {
    const value = fc.constantFrom('"n"', "n", '"x"', '"; name=x"', '"\\"; name=n"', "utf-8''n", '"a', "");
    const parameter = fc.tuple(fc.constantFrom("name", "filename", "name*", "filename*", "a"), value);
    const heads = fc.array(parameter, { maxLength: 4 }).map((all) => {
      const parameters = all.map(([name, text]) => `; ${name}=${text}`);
      return `Content-Disposition: form-data${parameters.join("")}`;
    });
    await fc.assert(
      fc.asyncProperty(heads, async (head) => {
        const part = await partOf(head).catch(() => undefined);
        if (!part) return;
        const { fields, files } = await readForm(formOf(head), TYPE);
        expect([...fields.keys(), ...files.keys()]).toEqual([part.name]);
        expect(files.size === 1).toBe(part.filename !== undefined);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("a second audio file is not hidden from the bill by the form of its name", async () => {
  const fields = 'Content-Disposition: form-data; name="model"';
  const file = 'Content-Disposition: form-data; name="file"';
  const read = (...heads: readonly string[]) => readTranscriptionForm(formOf(fields, ...heads), TYPE);
  const encoded = `${file}; filename*=utf-8''a.wav`;
  expect(await read(encoded)).toMatchObject({ model: "3", duration: { seconds: 1 } });
  await expect(read(`${file}; filename="a.wav"`, encoded)).rejects.toThrow("exactly one file is required");
});
