// @module-tag large
import { beforeAll, expect, test } from "vitest";
import { toOpenApi } from "../../src/rest/openapi/openapi.ts";
import { routes } from "../../src/rest/routes.ts";
import { MODEL } from "../support/chain/network.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly pattern?: string; readonly minLength?: number; readonly maxLength?: number };
};
type Described = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
type Operation = {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
};

const { paths } = toOpenApi(routes) as unknown as Described;
const stack = useStack();

let secret = "";
beforeAll(async () => {
  ({ secret } = await seedAccount(stack().app.database, 10n ** 18n));
});

/** Whether the description of a chat allows a value of a header. */
function isDescribed(name: string, value: string): boolean {
  const { parameters = [] } = paths["/v1/chat/completions"]?.post ?? {};
  const { schema } = parameters.find((one) => one.in === "header" && one.name === name) ?? expect.fail(name);
  const { pattern = expect.fail(`${name} has no pattern`), minLength = 0, maxLength = Infinity } = schema;
  return new RegExp(pattern, "u").test(value) && value.length >= minLength && value.length <= maxLength;
}

/** The header that a chat is refused for; undefined if it is answered. */
async function refusedHeader(name: string, value: string): Promise<string | undefined> {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", [name]: value },
    body: JSON.stringify({ model: MODEL, max_tokens: 2, messages: [{ role: "user", content: "Hello" }] }),
  });
  const { error } = (await reply.json()) as { readonly error?: { readonly param: string | null } };
  return error?.param ?? undefined;
}

test.each([
  ["X-Tag", "team=search, customer=42", true],
  ["X-Tag", ",, team=search , ,a-b=c=d,", true],
  ["X-Tag", Array.from({ length: 10 }, (_, at) => `tag-${at}=a b`).join(","), true],
  ["X-Tag", "", true],
  ["X-Tag", "team", false],
  ["X-Tag", "=search", false],
  ["X-Tag", "team=", false],
  ["X-Tag", "team=search,customer", false],
  ["X-Tag", "team=caf\u00e9", false],
  ["X-Tag", Array.from({ length: 11 }, (_, at) => `tag-${at}=a`).join(","), false],
  ["X-0G-Provider-Fallback-Models", "a", true],
  ["X-0G-Provider-Fallback-Models", "a, b c ,d/e,f,g", true],
  ["X-0G-Provider-Fallback-Models", "", false],
  ["X-0G-Provider-Fallback-Models", "a,,b", false],
  ["X-0G-Provider-Fallback-Models", "a,b,c,d,e,f", false],
  ["Idempotency-Key", "a key ~ of 1", true],
  ["Idempotency-Key", "x".repeat(255), true],
  ["Idempotency-Key", "x".repeat(256), false],
  ["Idempotency-Key", "", false],
  ["Idempotency-Key", "cl\u00e9", false],
])("%s %j is refused by its name, unless its pattern matches", async (name, value, isAllowed) => {
  expect(isDescribed(name, value)).toBe(isAllowed);
  expect(await refusedHeader(name, value)).toBe(isAllowed ? undefined : name);
});

test("no body has a default as a whole: that it may be absent is said by `required`", () => {
  const bodies = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {})),
  );
  expect(bodies.length).toBeGreaterThan(20);
  expect(bodies.filter(({ schema }) => "default" in schema)).toEqual([]);
});
