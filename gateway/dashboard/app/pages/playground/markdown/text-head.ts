/** How many characters of a text are shown: laying out a line of a million takes seconds. */
export const MAX_SHOWN = 50_000;
const MAX_LINES = 2_000;

/** What is shown of a text: its first lines. It does not change when more arrives after it. */
export function headOf(text: string): string {
  let end = -1;
  for (let line = 0; line < MAX_LINES; line++) {
    end = text.indexOf("\n", end + 1);
    if (end === -1 || end > MAX_SHOWN) return text.slice(0, MAX_SHOWN);
  }
  return text.slice(0, end);
}
