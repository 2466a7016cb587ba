import "../../../subgraphs/shared/schema/reflect.ts";
import { graphql } from "graphql";
import { Arg, Field, InputType, Query, Resolver } from "type-graphql";
import { expect, test } from "vitest";
import { buildSubgraph } from "../../../subgraphs/shared/schema/build-subgraph.ts";
import { defineEnum } from "../../../subgraphs/shared/schema/enumeration.ts";

const Temper = defineEnum<"quiet" | "not-so-quiet">("Temper", "How loud.", {
  quiet: "Not at all.",
  "not-so-quiet": "Somewhat.",
});

@InputType("VoiceInput")
class VoiceInput {
  @Field(() => Temper, { defaultValue: "not-so-quiet" })
  temper!: string;
}

@Resolver()
class VoiceResolver {
  @Query(() => String)
  voice(
    @Arg("temper", () => Temper, { defaultValue: "not-so-quiet" }) temper: string,
    @Arg("tempers", () => [Temper], { defaultValue: ["quiet", "not-so-quiet"] }) tempers: readonly string[],
    @Arg("voice", () => VoiceInput, { nullable: true }) voice: VoiceInput | null,
  ): string {
    return [temper, ...tempers, voice?.temper].join(" ");
  }
}

test("an omitted argument has the internal value of its enum default, and not the name in the schema", async () => {
  const { schema } = buildSubgraph("voices", [VoiceResolver]);
  const source =
    "{ left: voice(voice: {}) given: voice(temper: NOT_SO_QUIET, tempers: [], voice: { temper: QUIET }) }";
  expect(await graphql({ schema, source })).toEqual({
    data: { left: "not-so-quiet quiet not-so-quiet not-so-quiet", given: "not-so-quiet quiet" },
  });
});
