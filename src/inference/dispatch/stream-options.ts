import type { Admitted, Trace } from "../billing/admitted.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { Metered } from "../billing/usage.ts";
import type { Piece } from "../chat/delivered-text.ts";
import type { Provider } from "../providers/provider.ts";

/** Where the events of a streamed answer go. */
export type StreamSink = {
  /** Called once, before the first write. */
  start(head: { readonly responseKey: string | undefined }): void;
  /** False when the reader is behind: then nothing more is written until `onDrain` tells. */
  write(bytes: Buffer): boolean;
  end(): void;
  isClosed(): boolean;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
};

/**
 * What an event is: `preamble` says nothing yet and `content` does; a `comment` is for nobody; `withheld` is not
 * shown, or only later in another form; `end` is the last event, which is not shown either.
 */
export type EventKind = "preamble" | "content" | "comment" | "withheld" | "end";

/** How the events of a format are read. One reader reads the stream of one try. */
export type StreamReader = {
  /** Judges an event. Throws a `ProviderFailure` for one that is broken, and what an error event says. */
  read(event: Buffer): EventKind;
  /** What the event that was read last says; undefined when it says what no other provider could repeat. */
  readonly parts: readonly Piece[] | undefined;
  /** What a client is shown of the event that was read last: `event` itself where nothing has to be changed. */
  shown(event: Buffer): Buffer;
  /** The event that was read last, saying these texts in place of its pieces. */
  render(texts: readonly string[]): Buffer;
  /** What the provider says it used, once it has stated both sides and they make sense. */
  readonly usage: TokenUsage | undefined;
  /** The provider's own id of the answer, as its events have it. */
  readonly answerId?: string | undefined;
  /** Whether the answer is whole, the last event apart. */
  readonly isFinished: boolean;
  /**
   * What is billed of all that was read: each side as the provider stated it, also of a stream that broke; the rest by the
   * router's own tokenizer, the input by `countInput`. Never rejects.
   */
  meter(countInput: () => Promise<number>): Promise<Metered>;
  /** What is written when the bill is committed: the last events. */
  closing(trace: Trace, billed: TokenUsage): Buffer;
  /** What is written when the provider broke off: an event that tells so, and nothing that looks like an end. */
  broken(): Buffer;
};

/** What a relay is made of. */
export type StreamOptions = {
  readonly admitted: Admitted;
  readonly sink: StreamSink;
  readonly newReader: (provider: Provider) => StreamReader;
  /** Tokens of the question by the router's own count, where the provider states none. Never rejects. */
  readonly countInput: () => Promise<number>;
  /** Deadline for the first content while another provider can be asked; the last one has the whole time. */
  readonly firstTokenMs: number;
  /** Longest silence of a provider from its first content on. */
  readonly silenceMs: number;
  readonly stallMs: number;
  /** Whether a stream that was cut may go on with another provider that repeats what was written. */
  readonly resumes: boolean;
};
