import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { noteOf } from "../../src/rest/openapi/openapi-notes.ts";
import { signInAs } from "../support/chain/sign-in.ts";
import { rest } from "../support/clients/rest-client.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();

type Listed = { readonly data: readonly { readonly name: string; readonly value?: string }[] };

test.each([
  ["/v1/api-keys", (name: string) => ({ name })],
  ["/v1/management-keys", (name: string) => ({ name, preset: "read-only" })],
  ["/v1/tag-budgets", (name: string) => ({ name, value: "any", credit_limit: "1" })],
] as const)("%s lists in the order that OpenAPI states", async (url, bodyOf) => {
  const { origin } = stack();
  const { token } = await signInAs(origin, privateKeyToAccount(generatePrivateKey()));
  for (const name of ["first", "second"]) {
    expect(await rest(origin, url, token, { body: bodyOf(name) })).toMatchObject({ status: 201 });
    // Of one millisecond, the ids decide.
    const createdMs = Date.now();
    await until(() => Date.now() > createdMs + 1);
  }
  const [, stated] = /(oldest|newest) first/.exec(noteOf({ method: "GET", url }).description ?? "") ?? [];
  const { body } = await rest<Listed>(origin, url, token);
  const names = body.data.map(({ name }) => name);
  expect(names).toEqual(stated === "oldest" ? ["first", "second"] : ["second", "first"]);
});
