import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  type SelectionNode,
  valueFromASTUntyped,
  visit,
} from "graphql";
import {
  type ConcreteRequest,
  Environment,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
} from "relay-runtime";
import { type FollowBy, type Followed, openEventClient, openSocketClient, type sinkOf } from "../followed.ts";

/**
 * Relay has no transport of its own: its documentation uses graphql-ws or graphql-sse in the network layer.
 */
export const RELAY_CLIENTS: Readonly<Record<string, FollowBy>> = {
  "Relay over a socket": (followed) => {
    const client = openSocketClient(followed);
    const stop = follow(followed, (payload, sink) => client.subscribe(payload, sink));
    return () => {
      stop();
      return client.dispose();
    };
  },
  "Relay over server-sent events": (followed) => {
    const client = openEventClient(followed, false);
    const stop = follow(followed, (payload, sink) => client.subscribe(payload, sink));
    return () => {
      stop();
      return client.dispose();
    };
  },
};

type Payload = { readonly query: string; readonly variables: Record<string, unknown> };
type Transport = (payload: Payload, sink: ReturnType<typeof sinkOf>) => () => void;

function follow(
  { query, variables = {}, onData, onFailure, onComplete }: Followed,
  subscribe: Transport,
): () => void {
  const environment = new Environment({
    store: new Store(new RecordSource()),
    network: Network.create(
      () => Promise.reject(new Error("there are no queries here")),
      ({ text }) =>
        Observable.create<GraphQLResponse>((sink) =>
          subscribe(
            { query: text ?? "", variables },
            {
              next: (result) => sink.next(result as GraphQLResponse),
              error: (reason) => sink.error(asError(reason)),
              complete: () => sink.complete(),
            },
          ),
        ),
    ),
  });
  const { dispose } = requestSubscription(environment, {
    subscription: compileForRelay(query),
    variables,
    onNext: (data) => data && onData(data),
    onError: (error) => onFailure?.(error),
    onCompleted: () => onComplete?.(),
  });
  return dispose;
}

/** Relay accepts only errors: anything else that a transport throws is wrapped in one. */
function asError(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  const { code } = Object(reason);
  return Object.assign(new Error("the subscription failed"), { code, source: { errors: reason } });
}

/**
 * The output of relay-compiler for a subscription of plain fields. Types are unknown here, so all are
 * abstract.
 */
export function compileForRelay(query: string): ConcreteRequest {
  const document = withTypenames(parse(query));
  const [operation] = document.definitions as readonly OperationDefinitionNode[];
  if (!operation) throw new Error("no operation");
  const name = operation.name?.value ?? "Followed";
  const argumentDefinitions = (operation.variableDefinitions ?? []).map(({ variable }) => ({
    kind: "LocalArgument" as const,
    name: variable.name.value,
    defaultValue: null,
  }));
  const selections = fieldsOf(operation).map(compileField);
  return {
    kind: "Request",
    fragment: {
      kind: "Fragment",
      name,
      type: "Subscription",
      metadata: null,
      argumentDefinitions,
      selections,
    },
    operation: { kind: "Operation", name, argumentDefinitions, selections },
    params: {
      id: null,
      cacheID: name,
      name,
      operationKind: "subscription",
      text: print(document),
      metadata: {},
    },
  };
}

type CompiledField = {
  readonly alias: string | null;
  readonly name: string;
  readonly args: readonly CompiledArgument[];
  readonly storageKey: null;
} & (
  | { readonly kind: "ScalarField" }
  | {
      readonly kind: "LinkedField";
      readonly concreteType: null;
      readonly plural: false;
      readonly selections: readonly CompiledField[];
    }
);
type CompiledArgument =
  | { readonly kind: "Variable"; readonly name: string; readonly variableName: string }
  | { readonly kind: "Literal"; readonly name: string; readonly value: unknown };

function compileField(field: FieldNode): CompiledField {
  const fields = fieldsOf(field);
  const shared = {
    alias: field.alias?.value ?? null,
    name: field.name.value,
    args: (field.arguments ?? []).map(compileArgument),
    storageKey: null,
  };
  if (fields.length === 0) return { kind: "ScalarField", ...shared };
  const selections = fields.map(compileField);
  return { kind: "LinkedField", ...shared, concreteType: null, plural: false, selections };
}

/** Relay reads the type of an object whose type is abstract from the answer. */
function withTypenames(document: DocumentNode): DocumentNode {
  const typename: SelectionNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: "__typename" } };
  return visit(document, {
    Field: {
      leave: (field) =>
        field.selectionSet && {
          ...field,
          selectionSet: { ...field.selectionSet, selections: [typename, ...field.selectionSet.selections] },
        },
    },
  });
}

function compileArgument({ name, value }: ArgumentNode): CompiledArgument {
  if (value.kind === Kind.VARIABLE)
    return { kind: "Variable", name: name.value, variableName: value.name.value };
  return { kind: "Literal", name: name.value, value: valueFromASTUntyped(value) };
}

function fieldsOf({ selectionSet }: OperationDefinitionNode | FieldNode): readonly FieldNode[] {
  return (selectionSet?.selections ?? []) as readonly FieldNode[];
}
