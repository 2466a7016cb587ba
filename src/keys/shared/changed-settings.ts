/** The settings whose values are not those of the stored key already. */
export function changedSettings<Settings extends object>(
  stored: object,
  given: Partial<Settings>,
): Partial<Settings> {
  const known = stored as Readonly<Record<string, unknown>>;
  const changed = Object.entries(given).filter(([name, value]) => !isSame(known[name], value));
  return Object.fromEntries(changed) as Partial<Settings>;
}

/** Whether two values of a setting are the same: a text, a number, a time, a list of texts, or none. */
function isSame(one: unknown, other: unknown): boolean {
  if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime();
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => item === other[at]);
  return (one ?? null) === (other ?? null);
}
