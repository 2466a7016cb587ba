const FIRST_MS = Date.parse("0001-01-01T00:00:00.000Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Whether a time is in the years 1 to 9999 in UTC: others have no form that the database reads. */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= FIRST_MS && time.getTime() <= LAST_MS;
}

/** The time that `text` states as `toISOString` does, of the years 1 to 9999; undefined for anything else. */
export function readIsoTime(text: string): Date | undefined {
  const time = new Date(text);
  return isStorableTime(time) && time.toISOString() === text ? time : undefined;
}
