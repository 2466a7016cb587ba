/** What a subject has left in the current window, after a request was counted. */
export type Quota = {
  /** Requests per window. */
  readonly limit: number;
  readonly remaining: number;
  /** How long until the window ends and the limit resets, and when that is. */
  readonly resetInMs: number;
  readonly resetAt: Date;
  /** Whether the counted request exceeds the limit. */
  readonly isOver: boolean;
};

/** Counts requests per subject, in windows of a minute. Never rejects. */
export interface RateLimit {
  /** Counts `requests` at once, by default 1. Requests beyond the limit are counted too. */
  take(subject: string, requests?: number): Promise<Quota>;
}

/** The length of a window. */
export const WINDOW_SECONDS = 60;
