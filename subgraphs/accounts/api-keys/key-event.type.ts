import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import type { DomainEvent, TopicPayloads } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AccountType, toAccount } from "../account/account.type.ts";

type Kind = TopicPayloads["key.changed"]["kind"];
type Change = TopicPayloads["key.changed"]["change"];

/** Which kind of key it is. */
const KeyKind = defineEnum<Kind>("KeyKind", "Which kind of key it is.", {
  "api-key": "An `sk-` key.",
  "management-key": "An `mk-` key.",
});

/** What became of a key. */
const KeyChange = defineEnum<Change>("KeyChange", "What became of a key.", {
  created: "It was made.",
  updated: "Its name, or what it may do, was changed.",
  revoked: "It was ended for good.",
});

/** A change of a key. */
@ObjectType("KeyEvent", {
  description: "A key was made, changed or revoked.",
  implements: EventType,
  simpleResolvers: true,
})
export class KeyEventType extends EventType {
  @Field(() => ID, { description: "The key's id." })
  keyId!: string;

  @Field(() => KeyKind, { description: "Which kind of key it is." })
  kind!: Kind;

  @Field(() => KeyChange, { description: "What became of it." })
  change!: Change;

  @Field(() => AccountType, { description: "Whose key it is." })
  account!: AccountType;
}

/** A change of a key as the graph tells of it. */
export function toKeyEvent(event: DomainEvent<"key.changed">, cursors: CursorSource): KeyEventType {
  const { account, keyId, kind, change } = event.data;
  return { ...toEvent(event, cursors), keyId, kind, change, account: toAccount(account) };
}
