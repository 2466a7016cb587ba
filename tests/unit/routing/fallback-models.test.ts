import { describe, expect, test } from "vitest";
import type { Choice } from "../../../src/inference/routing/choice.ts";
import { chooseAmong } from "../../../src/inference/routing/fallback-models.ts";
import { AppError, type ErrorCode } from "../../../src/kernel/errors.ts";
import { offer } from "../../support/inference/offers.ts";

/** A choice of this many candidates for a model. */
function choiceOf(model: string, candidates: number): Choice {
  return { candidates: Array.from({ length: candidates }, (_, n) => offer(n + 1, { model })), refused: [] };
}

function among(counts: Readonly<Record<string, number | ErrorCode>>, most = 3): Choice {
  return chooseAmong(
    Object.keys(counts),
    (model) => {
      const count = counts[model];
      if (typeof count === "string") throw new AppError(count, model);
      return choiceOf(model, count ?? 0);
    },
    most,
  );
}

const models = ({ candidates }: Choice) => candidates.map(({ model }) => model).join("");

describe("candidates of several models", () => {
  test.each([
    [{ a: 3, b: 3 }, "aab"],
    [{ a: 3, b: 3, c: 3 }, "abc"],
    [{ a: 3, b: 3, c: 3, d: 3 }, "abc"],
    [{ a: 1, b: 3 }, "abb"],
    [{ a: 1, b: 1, c: 1 }, "abc"],
    [{ a: 1, b: 1 }, "ab"],
    [{ a: "model_not_found", b: 3 }, "bbb"],
    [{ a: "access_denied", b: "no_available_provider", c: 1 }, "c"],
  ] as const)("of %j are %s: one of each as far as they go, the rest of the first", (counts, expected) => {
    expect(models(among(counts))).toBe(expected);
  });

  test("without fallbacks are the first one of the first model that can be used", () => {
    expect(models(among({ a: "model_not_found", b: 3, c: 3 }, 1))).toBe("b");
  });

  test("that are left out have a reason and their model", () => {
    const { refused } = among({ a: 3, b: 2 });
    expect(refused.map(({ model, reason }) => [model, reason])).toEqual([
      ["a", "enough_candidates"],
      ["b", "enough_candidates"],
    ]);
  });
});

test("the failure is that of the first model if none can be used", () => {
  expect(() => among({ a: "access_denied", b: "model_not_found" })).toThrow(
    expect.objectContaining({ code: "access_denied" }),
  );
});

test("a failure that does not concern one model is thrown at once", () => {
  expect(() => among({ a: 1, b: "invalid_max_price_usd" })).toThrow(
    expect.objectContaining({ code: "invalid_max_price_usd" }),
  );
});
