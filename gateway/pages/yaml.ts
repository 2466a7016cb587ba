const PLAIN_NAME = /^[A-Za-z_$][\w$.-]*$/;
/** Names that some reader of YAML takes for another value than a text. */
const OTHER_VALUE = /^(?:null|true|false|yes|no|on|off|y|n)$/i;

/**
 * A JSON value as YAML 1.2 in block style. Texts are quoted as in JSON, which YAML contains; a name is quoted only if it
 * must be. Writes the OpenAPI document in a few milliseconds, where a complete YAML library takes hundreds.
 */
export function toYaml(value: unknown): string {
  return valueAt(value, "").trimStart();
}

/** What follows `name:` or `-` in a line, and the lines below it. */
function valueAt(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0)
    return `\n${value.map((item) => `${indent}-${itemAt(item, `${indent}  `)}`).join("")}`;
  if (typeof value !== "object" || value === null) return ` ${JSON.stringify(value)}\n`;
  const entries = Object.entries(value);
  if (entries.length === 0) return Array.isArray(value) ? " []\n" : " {}\n";
  return `\n${entries.map(([name, member]) => `${indent}${nameOf(name)}:${valueAt(member, `${indent}  `)}`).join("")}`;
}

/** A list or an object within a list begins in the line of its dash. */
function itemAt(item: unknown, indent: string): string {
  return valueAt(item, indent).replace(/^\n\s*/, " ");
}

function nameOf(name: string): string {
  return PLAIN_NAME.test(name) && !OTHER_VALUE.test(name) ? name : JSON.stringify(name);
}
