import fc from "fast-check";
import { expect, test } from "vitest";
import { AnswerBody } from "../../../src/inference/providers/exchange/answer-body.ts";
import { concatInTurns } from "../../../src/kernel/async/concat-in-turns.ts";

const MIB = 1_048_576;
const sizes = fc.array(fc.oneof(fc.nat(9), fc.nat(300_000), fc.nat(3 * MIB)), { maxLength: 6 });
const chunksOf = (lengths: readonly number[]) => lengths.map((length, n) => Buffer.alloc(length, n + 1));

test("a body is its chunks in order, up to its maximum, in memory that threads can share if it is long", () => {
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 8 * MIB }), (lengths, maxBytes) => {
      const body = new AnswerBody(maxBytes);
      const taken: Buffer[] = [];
      for (const chunk of chunksOf(lengths)) {
        const isTaken = body.add(chunk);
        expect(isTaken).toBe(Buffer.concat([...taken, chunk]).length <= maxBytes);
        if (!isTaken) break;
        taken.push(chunk);
      }
      const whole = body.toBuffer();
      expect(whole.equals(Buffer.concat(taken))).toBe(true);
      expect(body.sizeBytes).toBe(whole.length);
      expect(whole.buffer instanceof SharedArrayBuffer).toBe(whole.length > 262_144);
    }),
    { numRuns: 30 },
  );
});

test("a concatenation in turns is the concatenation", async () => {
  await fc.assert(
    fc.asyncProperty(sizes, async (lengths) => {
      const chunks = chunksOf(lengths);
      expect((await concatInTurns(chunks)).equals(Buffer.concat(chunks))).toBe(true);
    }),
    { numRuns: 30 },
  );
});
