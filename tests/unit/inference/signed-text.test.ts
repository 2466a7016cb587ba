import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { bindingOf, readSignedText } from "../../../src/inference/evidence/signed-text.ts";

const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const REQUEST = hash("request");
const ANSWER = hash("answer");
const IMAGE = hash("image");

describe("readSignedText", () => {
  test.each([
    ["hashes", `${REQUEST}:${ANSWER}`, [ANSWER]],
    ["hashes", `${REQUEST.toUpperCase()}:${ANSWER.toUpperCase()}`, [ANSWER]],
    ["image_hashes", `${REQUEST}:${ANSWER},${IMAGE}`, [ANSWER, IMAGE]],
    ["centralized", `${REQUEST}:${ANSWER}:openai:api.openai.com:${IMAGE}`, [ANSWER]],
    ["centralized", `${REQUEST}:${ANSWER}:openai:host:443:${IMAGE}`, [ANSWER]],
    ["named_model", `org/model:tag:${REQUEST}:${ANSWER}`, [ANSWER]],
    ["named_model", `model:${REQUEST}:${ANSWER}`, [ANSWER]],
  ])("reads %s", (form, text, response) => {
    expect(readSignedText(text)).toEqual({ form, request: REQUEST, response });
  });

  test.each([
    "",
    ":",
    "a text",
    REQUEST,
    `${REQUEST}:`,
    `${REQUEST}:${ANSWER},`,
    `${REQUEST}:,${ANSWER}`,
    `${REQUEST}:${ANSWER}0`,
    `${REQUEST}:${ANSWER}:openai:api.openai.com`,
    `${REQUEST}:${ANSWER},${IMAGE}:openai:host:${IMAGE}`,
    `${REQUEST}:${Array(65).fill(IMAGE).join(",")}`,
    `zg-sig-v1/e2ee-ct:${REQUEST}:${ANSWER}`,
    `zg-sig-v1/e2ee-ct-stream:${REQUEST}:${ANSWER}`,
    `zg-sig-v1/plain:${REQUEST}:${ANSWER}`,
    `zg-sig-v9/new:${REQUEST}:${ANSWER}`,
  ])("does not read %s", (text) => {
    expect(readSignedText(text)).toBeUndefined();
  });
});

describe("bindingOf", () => {
  const signed = { form: "hashes", request: REQUEST, response: [ANSWER] } as const;

  test("judges the halves separately", async () => {
    expect(await bindingOf(signed, { request: REQUEST, response: ANSWER })).toEqual({
      form: "hashes",
      requestBound: true,
      responseBound: true,
    });
    expect(await bindingOf(signed, { request: ANSWER, response: ANSWER })).toMatchObject({
      requestBound: false,
      responseBound: true,
    });
    expect(await bindingOf(signed, { request: REQUEST, response: REQUEST })).toMatchObject({
      requestBound: true,
      responseBound: false,
    });
  });

  test("binds nothing without hashes", async () => {
    const nothing = { form: "hashes", requestBound: false, responseBound: false };
    expect(await bindingOf(signed, undefined)).toEqual(nothing);
    expect(await bindingOf(signed, { request: undefined, response: undefined })).toEqual(nothing);
  });

  test("compares every image, in order", async () => {
    const text = { form: "image_hashes", request: REQUEST, response: [ANSWER, IMAGE] } as const;
    for (const [images, expected] of [
      [[ANSWER, IMAGE], true],
      [[IMAGE, ANSWER], false],
      [[ANSWER], false],
      [[ANSWER, IMAGE, IMAGE], false],
      [[], false],
    ] as const) {
      const known = { request: REQUEST, response: undefined, images: async () => images };
      expect((await bindingOf(text, known)).responseBound).toBe(expected);
    }
  });

  test("hashes images only if the whole answer does not match", async () => {
    const images = async () => Promise.reject(new Error("must not be called"));
    const { responseBound } = await bindingOf(signed, { request: REQUEST, response: ANSWER, images });
    expect(responseBound).toBe(true);
  });
});
