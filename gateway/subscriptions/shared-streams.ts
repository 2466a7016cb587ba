import {
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  getOperationAST,
  Kind,
  type SelectionSetNode,
  valueFromASTUntyped,
} from "graphql";
import { type BufferedBytes, PushIterator } from "../../src/kernel/async/push-iterator.ts";
import { closeSource } from "../../src/kernel/async/releasing-iterator.ts";
import { forEachInTurns } from "../../src/kernel/async/shared-turns.ts";
import { detached } from "../../src/kernel/tracing.ts";
import { readFragments } from "../federation/engine/document/fragments.ts";
import { readDirectiveUses } from "../federation/policy/schema-directives.ts";
import { defaultsOf } from "../federation/policy/variables.ts";
import type { SupergraphSource } from "../federation/supergraph-source.ts";
import { resultText } from "./results.ts";
import type { Results, StreamedOperation } from "./streamed-operation.ts";

/** Subscriptions with this tag only publish events from now on, so a late reader misses nothing. */
const LIVE = "live";

/**
 * The key under which equal subscriptions are shared: one live field, the same text and variables, the same
 * credential, and no cursor to resume from. Undefined for a subscription that cannot be shared.
 */
export function createShareKeys(
  supergraph: SupergraphSource,
): (operation: StreamedOperation) => string | undefined {
  const { tag = new Map() } = readDirectiveUses(supergraph, ["tag"]);
  const isLive = (field: string) => tag.get(`Subscription.${field}`)?.name === LIVE;
  return ({ document, operationName, variableValues, contextValue }) => {
    const operation = getOperationAST(document, operationName);
    const field = operation && rootField(document, operation.selectionSet);
    if (!field || !isLive(field.name.value)) return undefined;
    const after = field.arguments?.find(({ name }) => name.value === "after")?.value;
    const cursor: unknown =
      after && valueFromASTUntyped(after, { ...defaultsOf(operation), ...variableValues });
    if (cursor !== undefined && cursor !== null) return undefined;
    return JSON.stringify([operationName ?? null, variableValues ?? {}, contextValue.account.principal]);
  };
}

function rootField(document: DocumentNode, { selections }: SelectionSetNode): FieldNode | undefined {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      if (!selection.name.value.startsWith("__")) return selection;
      continue;
    }
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : readFragments(document).get(selection.name.value);
    const found = fragment && rootField(document, fragment.selectionSet);
    if (found) return found;
  }
  return undefined;
}

type Opened = Results | ExecutionResult;
type Reader = PushIterator<ExecutionResult>;

/**
 * How many results a reader may fall behind; beyond that it ends with `unavailable`, and resumes from its cursor.
 */
const MAX_BEHIND = 1_000;
/** The same in bytes of JSON: results of other keys are not shared, so each reader may hold its own. */
const BUFFERED: BufferedBytes<ExecutionResult> = {
  maxBytes: 1_048_576,
  bytesOf: (result) => resultText(result).length,
};

/**
 * Opens equal subscriptions once and hands their results to every reader. Each reader has its own queue, so a slow
 * one delays no other. The source closes with its last reader.
 */
export class SharedStreams {
  readonly #byDocument = new WeakMap<DocumentNode, Map<string, SharedStream>>();

  /** Joins the stream of this document and key, or opens it. */
  async open(document: DocumentNode, key: string, open: () => Promise<Opened>): Promise<Opened> {
    const streams = this.#byDocument.get(document) ?? new Map<string, SharedStream>();
    this.#byDocument.set(document, streams);
    const known = streams.get(key);
    const stream =
      known ??
      new SharedStream(open, () => {
        if (streams.get(key) === stream) streams.delete(key);
      });
    streams.set(key, stream);
    return stream.join();
  }
}

class SharedStream {
  readonly #onEnd: () => void;
  readonly #opened: Promise<Opened>;
  readonly #readers = new Set<Reader>();
  #joining = 0;
  #source: Results | undefined;
  #isOver = false;
  /** What the source failed with, for readers that join in the same moment. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(open: () => Promise<Opened>, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#opened = open().then((opened) => {
      if (Symbol.asyncIterator in opened) this.#source = opened;
      else this.#end();
      return opened;
    });
    this.#opened.catch(() => this.#end());
  }

  async join(): Promise<Opened> {
    this.#joining += 1;
    const opened = await this.#opened;
    this.#joining -= 1;
    const source = this.#source;
    if (!source) return opened;
    const isFirst = this.#readers.size === 0;
    const reader: Reader = new PushIterator<ExecutionResult>(() => this.#leave(reader), MAX_BEHIND, BUFFERED);
    this.#readers.add(reader);
    if (this.#failure) reader.fail(this.#failure.reason);
    else if (this.#isOver) reader.end();
    else if (isFirst) void detached(() => this.#pump(source));
    return reader;
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0 || this.#joining > 0) return;
    this.#end();
    closeSource(this.#source);
  }

  #pumping = false;

  /** The source may outlive the request that opened it, so its results belong to no trace. */
  async #pump(source: Results): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      for await (const result of source)
        await forEachInTurns([...this.#readers], (reader) => reader.push(result));
      this.#end();
      await forEachInTurns([...this.#readers], (reader) => reader.end());
    } catch (error) {
      this.#failure = { reason: error };
      this.#end();
      await forEachInTurns([...this.#readers], (reader) => reader.fail(error));
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
  }
}
