/** Subscriptions that start with the current state when they are opened without a cursor. */
const SNAPSHOT_FIELDS: ReadonlySet<string> = new Set([
  "imageJobProgress",
  "imageJobChanged",
  "batchProgress",
  "batchChanged",
  "fileProgress",
]);

/** Whether a subscription starts with the current state, so that it may be opened again as long as nothing arrived. */
export function startsWithState(field: string | undefined): boolean {
  return field !== undefined && SNAPSHOT_FIELDS.has(field);
}
