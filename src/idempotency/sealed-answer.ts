import type { ReplayKey } from "./replay-key.ts";

/** An answer as it is stored for replay. */
export type KeptAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** The names under which an answer is stored: of its scope and of its request (see `ReplayKey.name`). */
export type AnswerContext = { readonly scopeName: string; readonly bodyName: string };

const LENGTH_BYTES = 4;

/** Encrypts an answer, including its status and headers, for the scope and the request that it answers. */
export function sealAnswer(
  key: ReplayKey,
  { status, headers, body }: KeptAnswer,
  context: AnswerContext,
): Buffer {
  const head = Buffer.from(JSON.stringify({ status, headers }));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(head.length);
  return key.seal(Buffer.concat([length, head, body]), toText(context));
}

/** Decrypts what `sealAnswer` encrypted. Throws when the key, scope or request differs, or the bytes were changed. */
export function openAnswer(key: ReplayKey, sealed: Buffer, context: AnswerContext): KeptAnswer {
  const bytes = key.open(sealed, toText(context));
  const end = LENGTH_BYTES + bytes.readUInt32BE();
  const head = JSON.parse(bytes.toString("utf8", LENGTH_BYTES, end)) as Omit<KeptAnswer, "body">;
  return { ...head, body: bytes.subarray(end) };
}

function toText({ scopeName, bodyName }: AnswerContext): string {
  return `${scopeName}.${bodyName}`;
}
