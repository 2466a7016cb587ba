/** What one has left in the present window, after a request was counted. */
export type Quota = {
  /** Requests per window. */
  readonly limit: number;
  readonly remaining: number;
  /** When the window ends and all is there again. */
  readonly resetAt: Date;
  /** Whether the request that was counted is one too many. */
  readonly isOver: boolean;
};

/** Counts requests by whoever they are counted for, in windows of a minute. It never fails. */
export interface RateLimit {
  /** Counts `requests` at once, 1 unless given. More than are left count as well, and are over the limit. */
  take(subject: string, requests?: number): Promise<Quota>;
}

/** How long a window is. */
export const WINDOW_SECONDS = 60;
