import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { DomainEvent, TopicPayloads } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AccountType, toAccount } from "../account/account.type.ts";

type Kind = TopicPayloads["key.changed"]["kind"];
type Change = TopicPayloads["key.changed"]["change"];

/** The kind of key. */
const KeyKind = defineEnum<Kind>("KeyKind", "The kind of key.", {
  "api-key": "An `sk-` key.",
  "management-key": "An `mk-` key.",
});

/** The change of a key. */
const KeyChange = defineEnum<Change>("KeyChange", "The change of a key.", {
  created: "The key was created.",
  updated: "The key's name or settings were changed.",
  revoked: "The key was revoked.",
});

/** A change of a key. */
@ObjectType("KeyEvent", {
  description: "A key was created, updated or revoked.",
  implements: EventType,
  simpleResolvers: true,
})
export class KeyEventType extends EventType {
  @Field(() => String, { description: "The key's raw id." })
  keyId!: string;

  @Field(() => KeyKind, { description: "The kind of key." })
  kind!: Kind;

  @Field(() => KeyChange, { description: "What changed." })
  change!: Change;

  @Field(() => AccountType, { description: "The account that owns the key." })
  account!: AccountType;
}

/** Maps a key change to its GraphQL type. */
export function toKeyEvent(event: DomainEvent<"key.changed">, cursors: CursorSource): KeyEventType {
  const { account, keyId, kind, change } = event.data;
  return { ...toEvent(event, cursors), keyId, kind, change, account: toAccount(account) };
}
