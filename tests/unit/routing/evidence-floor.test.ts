import { expect, test } from "vitest";
import {
  meetsEvidence,
  noEvidence,
  requiredEvidence,
} from "../../../src/inference/routing/evidence-floor.ts";

test("the stronger of what the client and its key require is required", () => {
  const levels = [undefined, "bound", "attested"] as const;
  for (const [strong, evidence] of levels.entries())
    for (const [other, ofKey] of levels.entries())
      expect(
        requiredEvidence({ preferences: { evidence }, restrictions: { providerEvidence: ofKey ?? null } }),
      ).toBe(levels[Math.max(strong, other)]);
});

test("a provider that signs its answers is enough, or one that is attested as well", () => {
  const meets = (required: "bound" | "attested" | undefined) =>
    [false, true].flatMap((isBound) =>
      [false, true].map((isAttested) => meetsEvidence(required, { isBound, isAttested })),
    );
  expect(meets(undefined)).toEqual([true, true, true, true]);
  expect(meets("bound")).toEqual([false, false, true, true]);
  expect(meets("attested")).toEqual([false, false, false, true]);
});

test("the refusal names what no provider has", () => {
  const signs = "No provider of this model recently signed an answer.";
  const attested = { isBound: false, isAttested: true };
  const neither = { isBound: false, isAttested: false };
  expect(noEvidence("bound", [neither]).message).toContain(signs);
  expect(noEvidence("attested", [neither]).message).toBe("No provider of this model is attested.");
  expect(noEvidence("attested", [neither, attested]).message).toContain(signs);
});
