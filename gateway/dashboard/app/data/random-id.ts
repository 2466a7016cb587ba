/** An id that nothing else has. `crypto.randomUUID` is missing on pages over plain HTTP. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");
}
