import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { openAnswer, sealAnswer } from "../../src/idempotency/sealed-answer.ts";
import { hashSecret, newSecret } from "../../src/keys/auth/secret.ts";
import { openReplayKey, sealReplayKey } from "../../subgraphs/shared/principal-token.ts";

const secret = newSecret("sk-");
const keyOf = (text: string) => {
  const key = ReplayKey.ofAuthorization(`Bearer ${text}`);
  if (!key) throw new Error("this header has a secret");
  return key;
};
const answer = { status: 200, headers: { "content-type": "text/plain" }, body: Buffer.from("the sea") };
const context = { scopeName: "a scope", bodyName: "a body" };

test("an answer is decrypted by the same secret, scope and request, and by nothing else", () => {
  const sealed = sealAnswer(keyOf(secret), answer, context);
  expect(openAnswer(keyOf(secret), sealed, context)).toEqual(answer);
  for (const other of [newSecret("sk-"), hashSecret(secret)])
    expect(() => openAnswer(keyOf(other), sealed, context)).toThrow();
  for (const change of [{ scopeName: "another" }, { bodyName: "another" }])
    expect(() => openAnswer(keyOf(secret), sealed, { ...context, ...change })).toThrow();
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => openAnswer(keyOf(secret), changed, context)).toThrow();
  }
  expect(() => openAnswer(keyOf(secret), Buffer.alloc(3), context)).toThrow();
});

test("the same answer is never stored as the same bytes, and no stored bytes show its text", () => {
  const stored = Array.from({ length: 100 }, () => sealAnswer(keyOf(secret), answer, context));
  expect(new Set(stored.map((bytes) => bytes.toString("hex"))).size).toBe(100);
  for (const bytes of stored) expect(bytes.includes("sea")).toBe(false);
});

test("a name is stable for one secret and text, and cannot be derived from the stored hash of the secret", () => {
  const name = keyOf(secret).name("a prompt");
  expect(keyOf(secret).name("a prompt")).toBe(name);
  const hash = hashSecret(secret);
  const others = [
    keyOf(hash).name("a prompt"),
    keyOf(newSecret("sk-")).name("a prompt"),
    keyOf(secret).name("b"),
  ];
  expect(others).not.toContain(name);
  expect(name).not.toBe(createHash("sha256").update("a prompt").digest("base64url"));
});

test("the scheme of the header is case-insensitive, and a header without a secret gives no key", () => {
  expect(ReplayKey.ofAuthorization(`bearer  ${secret}`)?.name("x")).toBe(keyOf(secret).name("x"));
  for (const none of [undefined, null, "", "Basic abc", "Bearer ", 5])
    expect(ReplayKey.ofAuthorization(none)).toBeUndefined();
});

test("a key sent between processes is valid only with the principal token it was sent with", () => {
  const sending = { token: "a token", secret: "a secret of our processes" };
  const wrapped = sealReplayKey(keyOf(secret), sending);
  expect(openReplayKey(wrapped, sending)?.name("x")).toBe(keyOf(secret).name("x"));
  expect(openReplayKey(undefined, sending)).toBeUndefined();
  const wrong = [
    { ...sending, token: "another" },
    { ...sending, secret: "another" },
  ];
  for (const other of wrong)
    expect(() => openReplayKey(wrapped, other)).toThrow(expect.objectContaining({ code: "invalid_api_key" }));
  expect(() => openReplayKey(`${wrapped.slice(0, -2)}AA`, sending)).toThrow();
});

test("no log line, JSON or printout of a key shows any of its bytes", () => {
  const key = keyOf(secret);
  expect(JSON.stringify({ key })).toBe('{"key":{}}');
  expect(inspect(key, { depth: 9, showHidden: true })).not.toMatch(/Buffer|[0-9a-f]{16}/);
});
