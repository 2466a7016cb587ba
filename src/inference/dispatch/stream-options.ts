import type { AppError } from "../../kernel/errors.ts";
import type { CacheUse } from "../answer-cache/cache-request.ts";
import type { Admitted } from "../billing/admitted.ts";
import type { BillingService } from "../billing/billing.service.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import type { Trace } from "../billing/trace.ts";
import type { Metered } from "../billing/usage.ts";
import type { Piece } from "../chat/delivered-text.ts";
import type { Provider } from "../providers/provider.ts";
import type { ReadingTurns } from "./reading-turns.ts";

/** The destination of the events of a streamed answer. */
export type StreamSink = {
  /** Called once, before the first write. */
  start(head: { readonly responseKey: string | undefined; readonly cache?: CacheUse | undefined }): void;
  /** Returns false when the reader is behind: nothing more is written until `onDrain` fires. */
  write(bytes: Buffer): boolean;
  end(): void;
  /** Ends a stream that the reader does not receive whole, so that it cannot be taken for a complete one. */
  abort(): void;
  isClosed(): boolean;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
};

/**
 * The kind of an event: `preamble` has no content yet, `content` does; `withheld` is not shown, or only later in another
 * form; `end` is the last event, which is not shown either.
 */
export type EventKind = "preamble" | "content" | "withheld" | "end";

/** Reads the events of one format. Each attempt has its own reader. */
export type StreamReader = {
  /**
   * Classifies an event. Throws a `ProviderFailure` for an invalid event, and the failure that an error event reports.
   */
  read(event: Buffer): EventKind;
  /**
   * Meters the last event. Called when the event can no longer be refused, and right before it is written if it is shown:
   * what is not delivered is not billed.
   */
  accept(): void;
  /** The pieces of the last event; undefined if no other provider could repeat it. */
  readonly parts: readonly Piece[] | undefined;
  /** The last event as the client sees it: `event` itself if nothing has to change. Throws like `read`. */
  shown(event: Buffer): Buffer;
  /** The last event with its pieces replaced by these texts. */
  render(texts: readonly string[]): Buffer;
  /** The provider's reported usage, once both sides are reported and valid. */
  readonly usage: TokenUsage | undefined;
  /** The provider's own id of the answer, from its events. */
  readonly answerId?: string | undefined;
  /** Why the answer ended, as the provider stated it. */
  readonly finishReason?: string | undefined;
  /** Whether the answer is complete, except for the last event. */
  readonly isFinished: boolean;
  /**
   * The billed usage of everything accepted: each side as the provider reported it, even if the stream broke; the rest by
   * the router's own tokenizer, the input by `countInput`. Never rejects.
   */
  meter(countInput: () => Promise<number>): Promise<Metered>;
  /**
   * The last events, written once the bill is committed, with the cost beside the usage. A `failure` takes the place of
   * the regular end: the answer lacks the required proof.
   */
  closing(trace: Trace, billed: TokenUsage, failure: AppError | undefined, cost: ShownCost): Buffer;
  /**
   * The event that reports an interrupted answer, with what it was charged; it must not look like a regular end.
   */
  broken(trace: Trace, billed: TokenUsage, cost: ShownCost): Buffer;
};

/** The options of a relay. */
export type StreamOptions = {
  readonly admitted: Admitted;
  readonly billing: Pick<BillingService, "settle">;
  readonly sink: StreamSink;
  /** Shared by all streams of the process. */
  readonly turns: ReadingTurns;
  readonly newReader: (provider: Provider) => StreamReader;
  /** The router's own count of the prompt tokens, used if the provider reports none. Never rejects. */
  readonly countInput: () => Promise<number>;
  /** Deadline for the first content while another provider can be tried; the last one has the whole time. */
  readonly firstTokenMs: number;
  /** Maximum silence of a provider after its first content. */
  readonly silenceMs: number;
  readonly stallMs: number;
  /** Whether an interrupted stream may resume with another provider that repeats the written text. */
  readonly resumes: boolean;
};
