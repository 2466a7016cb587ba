/** The cosine similarity of two vectors, from -1 to 1; 0 if either is zero. Throws for different lengths. */
export function cosineSimilarity(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) throw new Error(`vectors of ${a.length} and ${b.length} dimensions`);
  let [dot, squareA, squareB] = [0, 0, 0];
  for (let n = 0; n < a.length; n++) {
    const [x, y] = [a[n] ?? 0, b[n] ?? 0];
    dot += x * y;
    squareA += x * x;
    squareB += y * y;
  }
  const size = Math.sqrt(squareA) * Math.sqrt(squareB);
  return size === 0 ? 0 : Math.max(-1, Math.min(1, dot / size));
}
