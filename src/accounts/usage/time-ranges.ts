import { isStorableTime } from "../../kernel/text/times.ts";

/** The UTC periods for which sums are stored. */
export type Grain = "hour" | "day" | "month";

/** A range of time: `from` is inclusive, `before` is exclusive; undefined means unlimited. */
export type TimeRange = { readonly from: Date | undefined; readonly before: Date | undefined };

/** A part of a range: whole periods of `grain`, or a rest within one hour that has to be read request by request. */
export type Part = TimeRange & { readonly grain: Grain | undefined };

/**
 * Divides a range into whole periods of the given grains, coarsest first, and the rests at its ends, each shorter
 * than two of the finest.
 */
export function divideRange(range: TimeRange, [grain, ...finer]: readonly Grain[]): readonly Part[] {
  const { from, before } = range;
  if (from && before && from >= before) return [];
  if (!grain) return [{ ...range, grain: undefined }];
  const first = from && startOf(grain, from, { isRoundedUp: true });
  const end = before && startOf(grain, before);
  // The last period of the year 9999 has no next one.
  if ((first && !isStorableTime(first)) || (first && end && first >= end)) return divideRange(range, finer);
  return [
    ...(from && first && from < first ? divideRange({ from, before: first }, finer) : []),
    { from: first, before: end, grain },
    ...(before && end && end < before ? divideRange({ from: end, before }, finer) : []),
  ];
}

/** The start of the period that contains `time`; rounded up, of the next one unless `time` is a start itself. */
function startOf(grain: Grain, time: Date, { isRoundedUp = false } = {}): Date {
  const start = new Date(time);
  start.setUTCMinutes(0, 0, 0);
  if (grain !== "hour") start.setUTCHours(0);
  if (grain === "month") start.setUTCDate(1);
  if (!isRoundedUp || start.getTime() === time.getTime()) return start;
  if (grain === "hour") start.setUTCHours(start.getUTCHours() + 1);
  else if (grain === "day") start.setUTCDate(start.getUTCDate() + 1);
  else start.setUTCMonth(start.getUTCMonth() + 1);
  return start;
}
