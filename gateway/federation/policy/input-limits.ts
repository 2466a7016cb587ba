import {
  type GraphQLError,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { LocatedError } from "./located-error.ts";
import { refuse } from "./refusals.ts";

/** Whole bodies: limited only by the size of a request. */
const BODY_BYTES = 524_288;
/** A part of a proof: 64 KiB in hexadecimal digits. The signature of a contract wallet may be as long. */
const LONG_HEX = 131_074;

/** Lists that may be longer than `listItems`, by coordinate. */
export const LIST_ITEMS: Readonly<Record<string, number>> = {
  "ChatInput.messages": 1_000,
  "CompleteChatInput.messages": 1_000,
  "MessageInput.messages": 1_000,
  "CreateMessageInput.messages": 1_000,
  "MessageTokenCountInput.messages": 1_000,
  "PrepareKvWriteInput.reads": 1_000,
  "PrepareKvWriteInput.writes": 1_000,
  "PrepareKvWriteInput.deletes": 1_000,
  "PrepareKvWriteInput.controls": 1_000,
  "CreateEmbeddingsInput.texts": 256,
  "RerankDocumentsInput.documents": 1_000,
  "Query.routingPreview(messages)": 1_000,
  // The size of one contract bitmap.
  "Query.prepareRevokeTokens(tokenIds)": 256,
};

/** Texts that may be longer than `textBytes`, in bytes of UTF-8, by coordinate. */
export const TEXT_BYTES: Readonly<Record<string, number>> = {
  "ChatMessageInput.content": BODY_BYTES,
  "TranscribeAudioInput.fileBase64": BODY_BYTES,
  "TranscribeAudioInput.prompt": LONG_HEX,
  "GenerateImagesInput.prompt": LONG_HEX,
  "SubmitImageJobInput.prompt": LONG_HEX,
  "EditImagesInput.prompt": LONG_HEX,
  "SubmitImageEditJobInput.prompt": LONG_HEX,
  "ImageFileInput.fileBase64": BODY_BYTES,
  "CreateEmbeddingsInput.texts": BODY_BYTES,
  "CreateSpeechInput.text": LONG_HEX,
  "CreateSpeechInput.instructions": LONG_HEX,
  "RerankDocumentsInput.query": LONG_HEX,
  "RerankDocumentsInput.documents": BODY_BYTES,
  "PrepareUploadInput.content": BODY_BYTES,
  "PrepareUploadInput.tags": LONG_HEX,
  "UploadSegmentInput.data": BODY_BYTES,
  "KvEntryInput.base64": BODY_BYTES,
  "KvEntryInput.text": BODY_BYTES,
  "AccessProofInput.proof": LONG_HEX,
  "OwnershipProofInput.proof": LONG_HEX,
  "OwnershipProofInput.sealedKey": LONG_HEX,
  "Query.checkMarketOrder(signature)": LONG_HEX,
  "Query.checkMarketOffer(signature)": LONG_HEX,
  "Query.prepareFulfillOrder(orderSignature)": LONG_HEX,
  "Query.prepareFulfillOrder(offerSignature)": LONG_HEX,
  "SignInInput.signature": LONG_HEX,
  "AssembleAppSecretInput.signature": LONG_HEX,
  "OperatorNode.diagnose(message)": LONG_HEX,
};

/** What a list delivers with the result cannot be less than nothing. */
const INITIAL_COUNT = "@stream(initialCount)";

/** The scalar for any JSON. */
const ANY_JSON = "JSON";

/** Whether values are any JSON: their texts are limited only by the request size, their depth by `jsonDepth`. */
export function isAnyJson(type: GraphQLInputType): boolean {
  return getNamedType(type).name === ANY_JSON;
}

/** A step of a path, and the path to it: a variable, a field of an input or the index of an item. */
type Path = { readonly to?: Path; readonly step: string | number };

type Limits = Pick<GraphLimits, "listItems" | "textBytes" | "jsonDepth">;

/**
 * Limits the length of lists and texts in arguments: one limit for all, and a larger one for those listed above.
 * Every input of a schema is bounded.
 */
export class InputLimits {
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** The most items of a list at this coordinate (`Type.field(argument)` or `Input.field`). */
  itemsAt(coordinate: string): number {
    return Math.max(this.#limits.listItems, LIST_ITEMS[coordinate] ?? 0);
  }

  /** The most bytes of a text at this coordinate. */
  bytesAt(coordinate: string): number {
    return Math.max(this.#limits.textBytes, TEXT_BYTES[coordinate] ?? 0);
  }

  /**
   * Checks a JSON value of this type, given at a coordinate: returns the error for a value that is too long or an
   * unknown input field; undefined when there is none. `path` is that of the value.
   */
  refuseValue(
    value: unknown,
    type: GraphQLInputType,
    coordinate: string,
    path: Path = { step: fieldOf(coordinate) },
    depth = 1,
  ): GraphQLError | undefined {
    if (value === undefined || value === null) return undefined;
    if (depth > this.#limits.jsonDepth) return this.#refuseDepth(coordinate);
    const nullable = getNullableType(type);
    if (isListType(nullable)) {
      const items = Array.isArray(value) ? value : [value];
      return (
        this.refuseItems(items.length, coordinate) ??
        first(items, (item, n) =>
          this.refuseValue(item, nullable.ofType, coordinate, { to: path, step: n }, depth + 1),
        )
      );
    }
    if (isInputObjectType(nullable)) {
      if (typeof value !== "object") return undefined;
      const fields = nullable.getFields();
      const members = value as Readonly<Record<string, unknown>>;
      return first(Object.keys(members), (name) => {
        const field = fields[name];
        // graphql-js takes seconds for thousands of these, as it compares each with all existing names.
        if (!field) return unknownField({ to: path, step: name });
        const inner = { to: path, step: name };
        return this.refuseValue(
          members[name],
          field.type,
          `${nullable.name}.${field.name}`,
          inner,
          depth + 1,
        );
      });
    }
    if (typeof value === "string" && !isAnyJson(type)) return this.refuseText(value, coordinate);
    if (typeof value === "number") return this.refuseNumber(value, coordinate);
    return typeof value === "object" && isDeeper(value, this.#limits.jsonDepth - depth)
      ? this.#refuseDepth(coordinate)
      : undefined;
  }

  /** The error for a list that is too long; undefined when it is within the limit. */
  refuseItems(count: number, coordinate: string): GraphQLError | undefined {
    const most = this.itemsAt(coordinate);
    if (count <= most) return undefined;
    const param = fieldOf(coordinate);
    return refuse(`${param} accepts at most ${most} items, not ${count}.`, {
      limit: "listItems",
      most,
      param,
    });
  }

  /** The error for a text that is too long; undefined when it is within the limit. */
  refuseText(text: string, coordinate: string): GraphQLError | undefined {
    const most = this.bytesAt(coordinate);
    // A UTF-16 unit takes at most three bytes.
    if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return undefined;
    const param = fieldOf(coordinate);
    return refuse(`${param} accepts at most ${most} bytes.`, { limit: "textBytes", most, param });
  }

  /** The error for a number that is too small; undefined for any other. */
  refuseNumber(value: number, coordinate: string): GraphQLError | undefined {
    if (coordinate !== INITIAL_COUNT || value >= 0) return undefined;
    const param = fieldOf(coordinate);
    return new LocatedError(`The ${param} of @stream must be at least 0.`, "invalid_parameter", { param });
  }

  #refuseDepth(coordinate: string): GraphQLError {
    const most = this.#limits.jsonDepth;
    const param = fieldOf(coordinate);
    return refuse(`${param} is nested too deeply: at most ${most} levels are allowed.`, {
      limit: "jsonDepth",
      most,
      param,
    });
  }
}

/** The field or argument that a coordinate refers to, as the client wrote it. */
export function fieldOf(coordinate: string): string {
  return /\(?([^.(]*?)\)?$/.exec(coordinate)?.[1] ?? coordinate;
}

function unknownField(path: Path): GraphQLError {
  const param = toParam(path);
  return new LocatedError(`"${param}" is not a field of the input.`, "invalid_parameter", { param });
}

function toParam({ to, step }: Path): string {
  return to ? `${toParam(to)}.${step}` : String(step);
}

function first<T>(
  items: readonly T[],
  refuseOne: (item: T, n: number) => GraphQLError | undefined,
): GraphQLError | undefined {
  for (let n = 0; n < items.length; n++) {
    const refusal = refuseOne(items[n] as T, n);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Whether objects and lists are nested in more than `most` levels. */
function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (most <= 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, most - 1)) return true;
  return false;
}
