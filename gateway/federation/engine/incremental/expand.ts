import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type InlineFragmentNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import { dataKey } from "../document/aliases.ts";
import { compileCondition } from "../document/conditions.ts";
import { type Fragments, readFragments } from "../document/fragments.ts";
import type { Denial, Denied } from "../guards.ts";
import { refusal } from "../refusal.ts";
import type { JsonObject } from "../subgraph-executor.ts";
import { findActive } from "./directives.ts";

/** The most selections of an operation with its fragments inlined. */
const MAX_SELECTIONS = 20_000;

/** An operation whose every node occurs once, so that a node identifies its place. */
export type Expanded = {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** The denied fields, by the nodes of this document. */
  readonly denied: Denied;
  /** The deferred fragments, outer ones first. */
  readonly deferred: readonly InlineFragmentNode[];
  readonly hasStreams: boolean;
};

/** What the operation is expanded for. */
type Expanding = {
  readonly denied: Denied;
  /** The values of the variables that conditions read. */
  readonly flags: Readonly<JsonObject>;
};

/**
 * The operation with its conditions evaluated and its spreads inlined. Only active `@defer` and `@stream` remain, and
 * a list that is selected more than once is not streamed. Throws a GraphQLError when the operation grows too large.
 */
export function expandOperation(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  expanding: Expanding,
): Expanded {
  const expander = new Expander(readFragments(document), expanding);
  const selectionSet = expander.expand(operation.selectionSet, "");
  const expanded = { ...operation, selectionSet };
  return {
    document: { kind: Kind.DOCUMENT, definitions: [expanded] },
    operation: expanded,
    denied: expander.denied,
    deferred: expander.deferred,
    hasStreams: expander.dropRepeatedStreams(),
  };
}

/** Nodes of graphql-js are read-only: the expander changes only those that it made. */
type OwnField = { -readonly [Key in keyof FieldNode]: FieldNode[Key] };

class Expander {
  readonly denied = new Map<FieldNode, Denial>();
  readonly deferred: InlineFragmentNode[] = [];
  readonly #fragments: Fragments;
  readonly #given: Expanding;
  readonly #places = new Map<string, OwnField[]>();
  #left = MAX_SELECTIONS;

  constructor(fragments: Fragments, given: Expanding) {
    this.#fragments = fragments;
    this.#given = given;
  }

  expand({ selections }: SelectionSetNode, place: string): SelectionSetNode {
    const kept = selections.flatMap((selection): SelectionNode[] => {
      if (compileCondition(selection.directives)?.(this.#given.flags) === false) return [];
      if (--this.#left < 0) throw refusal("The operation is too large with its fragments inlined.");
      if (selection.kind === Kind.FIELD) return [this.#expandField(selection, place)];
      const fragment =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments.get(selection.name.value);
      if (!fragment) return [];
      const defer = findActive(selection, "defer", this.#given.flags);
      return [this.#expandFragment(fragment, defer, place)];
    });
    return { kind: Kind.SELECTION_SET, selections: kept };
  }

  /** Whether streamed lists remain. */
  dropRepeatedStreams(): boolean {
    let hasStreams = false;
    for (const fields of this.#places.values()) {
      const streamed = fields.filter(({ directives }) => directives?.length);
      if (fields.length > 1) for (const field of streamed) field.directives = [];
      else hasStreams ||= streamed.length > 0;
    }
    return hasStreams;
  }

  #expandField(field: FieldNode, outer: string): FieldNode {
    const place = `${outer}.${dataKey(field)}`;
    const stream = findActive(field, "stream", this.#given.flags);
    const { selectionSet } = field;
    const own: OwnField = {
      ...field,
      directives: stream ? [stream] : [],
      ...(selectionSet && { selectionSet: this.expand(selectionSet, place) }),
    };
    const denial = this.#given.denied.get(field);
    if (denial) this.denied.set(own, denial);
    const alike = this.#places.get(place);
    if (alike) alike.push(own);
    else this.#places.set(place, [own]);
    return own;
  }

  #expandFragment(
    { typeCondition, selectionSet }: Pick<InlineFragmentNode, "typeCondition" | "selectionSet">,
    defer: DirectiveNode | undefined,
    place: string,
  ): InlineFragmentNode {
    const at = this.deferred.length;
    const own: InlineFragmentNode = {
      kind: Kind.INLINE_FRAGMENT,
      ...(typeCondition && { typeCondition }),
      directives: defer ? [defer] : [],
      selectionSet: this.expand(selectionSet, place),
    };
    if (defer) this.deferred.splice(at, 0, own);
    return own;
  }
}
