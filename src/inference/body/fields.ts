/** The members of a JSON object, which the router has not validated. */
export type Fields = Readonly<Record<string, unknown>>;

/** The members of an object; none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
