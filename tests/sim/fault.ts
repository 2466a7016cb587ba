/** The product violated a guarantee. */
export class Fault extends Error {
  override readonly name = "Fault";
}

/** Throws a `Fault` with this text unless the condition holds. */
export function demand(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Fault(otherwise);
}
