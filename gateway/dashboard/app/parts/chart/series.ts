/** The theme has so many colours; the last one is for all others. */
export const MAX_SERIES = 6;

/** A series: a value for each period. `text` is the sum for people, and `texts` the values. */
export type Series = {
  readonly name: string;
  readonly values: readonly number[];
  readonly text: string;
  readonly texts: readonly string[];
};
