/** An answer of the storage endpoints. */
export type Envelope = {
  readonly code: number;
  readonly message: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever it asked for
  readonly data: any;
};

/** Requests JSON from a storage endpoint. */
export async function readEnvelope(url: string): Promise<Envelope> {
  return toEnvelope(await fetch(url));
}

/** The JSON of an answer. */
export async function toEnvelope(reply: Response): Promise<Envelope> {
  return (await reply.json()) as Envelope;
}
