import { describe, expect, test } from "vitest";
import { readTranscriptionForm } from "../../../src/inference/audio/audio-request.ts";
import { readImageEdit } from "../../../src/inference/images/image-request.ts";
import { formBody, newForm } from "../../../src/kernel/text/multipart.ts";
import { offer } from "../../support/inference/offers.ts";
import { toWav } from "../../support/inference/wav.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const FORMS = {
  edit: { read: readImageEdit, file: { name: "image", filename: "a.png", bytes: PNG } },
  transcription: {
    read: readTranscriptionForm,
    file: { name: "file", filename: "a.wav", bytes: Buffer.from(toWav(1)) },
  },
} as const;

describe.each(["edit", "transcription"] as const)("the form of one %s", (kind) => {
  const { read, file } = FORMS[kind];
  const readWith = (fields: Readonly<Record<string, string>>) => {
    const texts = Object.entries({ model: "m", prompt: "the sea", ...fields });
    const form = newForm([...texts.map(([name, text]) => ({ name, bytes: Buffer.from(text) })), file]);
    return read(formBody(form, {}), form.contentType);
  };

  test.each([
    ["true", true],
    ["false", false],
  ] as const)("may have verify_tee=%s, which is not forwarded", async (text, verifyTee) => {
    const request = await readWith({ verify_tee: text });
    expect(request.verifyTee).toBe(verifyTee);
    expect(request.guarded.fields).toMatchObject({ verify_tee: verifyTee });
    const body = request.bodyFor(offer(1)).toString("latin1");
    expect(body).not.toContain("verify_tee");
    for (const kept of ["the sea", file.filename]) expect(body).toContain(kept);
  });

  test("names what it may not have", async () => {
    await expect(readWith({ verify_tee: "yes" })).rejects.toMatchObject({
      code: "invalid_body",
      param: "verify_tee",
    });
    for (const name of ["provider", "provider[max_price][image]"])
      await expect(readWith({ [name]: "1" })).rejects.toMatchObject({
        code: "invalid_body",
        param: name,
        message: expect.stringContaining("X-0G-Provider-"),
      });
    expect((await readWith({ provider_name: "x" })).bodyFor(offer(1)).toString("latin1")).toContain(
      "provider_name",
    );
  });
});
