import fc from "fast-check";
import { expect, test } from "vitest";
import { withEdits } from "../../../src/inference/body/json-member.ts";
import { withReasoningContent } from "../../../src/inference/chat/reasoning.ts";
import { reasoningEdits } from "../../../src/inference/chat/reasoning-edits.ts";

const shown = (json: string) => {
  const body = Buffer.from(json);
  return withEdits(body, reasoningEdits(body)).toString();
};
const whole = (message: string) => `{"choices":[{"message":${message}}]}`;

test.each([
  ['{"reasoning":"a"}', '{"reasoning":"a","reasoning_content":"a"}'],
  [
    '{ "reas\\u006fning" : "\\u00e4\\"," , "n": 1.10 }',
    '{ "reas\\u006fning" : "\\u00e4\\",","reasoning_content":"\\u00e4\\"," , "n": 1.10 }',
  ],
  ['{"reasoning_content": null,"reasoning":"a"}', '{"reasoning_content": "a","reasoning":"a"}'],
  ['{"reasoning_content":"","reasoning":"a"}', '{"reasoning_content":"","reasoning":"a"}'],
  ['{"reasoning":""}', '{"reasoning":""}'],
  ['{"reasoning":{"reasoning":"a"}}', '{"reasoning":{"reasoning":"a"}}'],
  ['{"tool":[{"reasoning":"a"}]}', '{"tool":[{"reasoning":"a"}]}'],
  ["{}", "{}"],
  ["null", "null"],
])(
  "only the message's own reasoning is duplicated, and every other byte is unchanged: %s",
  (given, expected) => {
    expect(shown(whole(given))).toBe(whole(expected));
  },
);

test.each([
  '{"choices":[]}',
  '{"choices":null}',
  '{"choices":[1,null,"message"]}',
  '{"error":{"message":{"reasoning":"a"}}}',
])("a value without messages is unchanged: %s", (json) => expect(shown(json)).toBe(json));

test("for any answer, its choices are as a stream shows them", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('"reasoning":', "{[,", "\\"));
  const message = fc.record(
    {
      content: text,
      reasoning: fc.oneof(text, fc.constant(null), fc.jsonValue()),
      reasoning_content: fc.oneof(text, fc.constant(null)),
      more: fc.jsonValue(),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  const answer = fc.record({ id: text, choices: fc.array(fc.record({ more: fc.jsonValue(), message })) });
  fc.assert(
    fc.property(answer, fc.nat(2), (given, indent) => {
      const json = JSON.stringify(given, undefined, indent);
      const { choices, ...rest } = JSON.parse(json);
      expect(JSON.parse(shown(json))).toEqual({ ...rest, choices: choices.map(withReasoningContent) });
    }),
  );
});
