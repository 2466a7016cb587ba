/** The product did what it must not do. */
export class Fault extends Error {
  override readonly name = "Fault";
}

/** Throws a `Fault` with this text unless it is so. */
export function demand(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Fault(otherwise);
}
