/** An open object with the names that it has so far, or an open list; `step` is the member or item that is read. */
type Level = { readonly names: Set<string> | undefined; step: string | number };

/**
 * The path of the first member that an object of a valid JSON text has twice, such as `messages.0.content`. Undefined if
 * there is none. Names that are written with escapes are compared as they are read.
 */
export function duplicateMember(text: string): string | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text[at]) {
      case "{":
        levels.push({ names: new Set(), step: "" });
        break;
      case "[":
        levels.push({ names: undefined, step: 0 });
        break;
      case "}":
      case "]":
        levels.pop();
        break;
      case ",":
        if (typeof level?.step === "number") level.step++;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.names && isName(text, end)) {
          level.step = JSON.parse(text.slice(at, end)) as string;
          if (level.names.has(level.step)) return levels.map(({ step }) => step).join(".");
          level.names.add(level.step);
        }
        at = end - 1;
        break;
      }
    }
  }
  return undefined;
}

/** Where the string that starts at `start` has ended. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let from = quote;
    while (text[from - 1] === "\\") from--;
    if ((quote - from) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Whether the string that ended there is the name of a member. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text[at] ?? "")) at++;
  return text[at] === ":";
}
