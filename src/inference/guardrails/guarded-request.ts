import type { Form } from "../../kernel/text/multipart.ts";
import type { Fields } from "../body/fields.ts";

/** What the guardrails of a key are compared with: a request as the client sent it. Nothing in it is computed early. */
export type GuardedRequest = {
  /** The size of the body, bytes. */
  readonly sizeBytes: number;
  /** The fields of the body. */
  readonly fields: Fields;
  /** The fields of the chat that the body was translated to, for a format that providers do not have. */
  readonly translated?: Fields | undefined;
  /**
   * The JSON body of a request whose tokens its `counted` counts, and the bound on the tokens of the prompt: each is at
   * least one byte of the body.
   */
  readonly prompt?: { readonly bytes: Buffer; readonly maxTokens: number } | undefined;
  /** The texts of a request that is not billed by its tokens. */
  readonly texts?: (() => readonly string[]) | undefined;
  /** The answer, where it is measured in tokens. */
  readonly answer?: GuardedAnswer | undefined;
};

/** The answers that a request asks for. */
export type GuardedAnswer = {
  readonly choices: number;
  /** The client's limit on the tokens of each; undefined without one. */
  readonly maxTokens: number | undefined;
};

/** The request with those fields left out of the client's body that the graph added to it. */
export function withoutAdded<Request extends { readonly bytes: Buffer; readonly fields: Fields }>(
  request: Request,
  added: readonly string[],
): Request & { readonly client: Pick<GuardedRequest, "sizeBytes" | "fields"> } {
  const { bytes, fields } = request;
  const own = Object.entries(fields).filter(([name]) => !added.includes(name));
  return { ...request, client: { sizeBytes: bytes.length, fields: Object.fromEntries(own) } };
}

/** The request with the field `verify_tee`, which a form sends as a query parameter. */
export function withVerification<Request extends { readonly guarded: GuardedRequest }>(
  request: Request,
): Request & { readonly verifyTee: true } {
  const { guarded } = request;
  const fields = { ...guarded.fields, verify_tee: true };
  return { ...request, verifyTee: true, guarded: { ...guarded, fields } };
}

/** A JSON body that is not billed by its tokens: a prompt, an image or a text to speak. */
export function guardedJson(sizeBytes: number, fields: Fields): GuardedRequest {
  return { sizeBytes, fields, texts: () => textsIn(fields) };
}

/** A form, with its text fields as `texts`. Files have a size only. */
export function guardedForm({ parts }: Form, texts: Fields, sizeBytes: number): GuardedRequest {
  const files = Object.fromEntries(parts.map(({ name }) => [name.replace(/\[\d+\]$/, "[]"), name]));
  return { sizeBytes, fields: { ...files, ...texts }, texts: () => textsIn(texts) };
}

/** What a model may read of a body: its fields except the name of the model. */
function textsIn(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (name === "model" || value === null || value === undefined) return [];
    return [typeof value === "string" ? value : JSON.stringify(value)];
  });
}
