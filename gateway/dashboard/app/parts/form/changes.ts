/**
 * What a form changes: of its values, those of the fields that were edited. Nothing else is sent, so that what a field
 * cannot show, such as the seconds of a time, stays as it is.
 */
export function changesOf<Values extends object>(
  values: Values,
  edited: Readonly<Record<string, unknown>>,
): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => edited[name])) as Partial<Values>;
}
