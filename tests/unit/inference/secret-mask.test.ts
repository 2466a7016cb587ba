import fc from "fast-check";
import { expect, test } from "vitest";
import { SecretMask, spellingsOf } from "../../../src/inference/providers/exchange/secret-mask.ts";

function masked(secret: string, text: string, cuts: readonly number[] = []): string {
  const mask = new SecretMask(spellingsOf(secret));
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    out.push(Buffer.from(mask.push(bytes.subarray(at, at + cut))));
    at += cut;
  }
  return Buffer.concat([...out, mask.rest()]).toString();
}

const secrets = fc.string({ minLength: 8, maxLength: 30 }).filter((text) => !text.includes("*"));

test("a secret is masked wherever the network splits it, and no other byte is changed or moved", () => {
  const given = fc.record({
    secret: secrets,
    parts: fc.array(fc.string({ unit: "grapheme", maxLength: 12 }), { minLength: 1, maxLength: 5 }),
    cuts: fc.array(fc.nat(20)),
  });
  fc.assert(
    fc.property(given, ({ secret, parts, cuts }) => {
      fc.pre(parts.every((part) => !`${secret}${part}${secret}`.slice(1, -1).includes(secret)));
      const text = parts.join(secret);
      expect(masked(secret, text, cuts)).toBe(parts.join("*".repeat(secret.length)));
    }),
  );
});

test("a secret is also found in JSON, where quotes and slashes are escaped", () => {
  const secret = String.raw`pa"ss/wo\rd-2031`;
  const answer = JSON.stringify({ error: `no ${secret}!` });
  const shown = masked(secret, answer);
  expect(JSON.parse(shown).error).toMatch(/^no \*+!$/);
  expect(masked(secret, answer.replaceAll("/", "\\/"))).not.toContain("ss");
});

test("a secret shorter than eight characters could be any word, and an empty one masks nothing", () => {
  for (const secret of ["", "EMPTY", "ollama"])
    expect(masked(secret, `an ${secret} answer`)).toBe(`an ${secret} answer`);
});
