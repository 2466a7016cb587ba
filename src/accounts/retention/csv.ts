/** A record: the texts of its fields, null for no value. */
export type CsvRecord = readonly (string | null)[];

/**
 * A record as CSV with a line break, as PostgreSQL's COPY reads it: null is an empty field, and the empty text is `""`.
 */
export function csvLine(record: CsvRecord): string {
  return `${record.map(field).join(",")}\n`;
}

function field(value: string | null): string {
  if (value === null) return "";
  return value === "" || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** Reads what `csvLine` has written, in any parts. Throws if it ends inside of a record. */
export async function* readCsv(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let rest = "";
  for await (const chunk of chunks) {
    const text = rest + chunk;
    let from = 0;
    for (let end = endOfRecord(text, from); end >= 0; end = endOfRecord(text, from)) {
      yield parseRecord(text.slice(from, end));
      from = end + 1;
    }
    rest = text.slice(from);
  }
  if (rest !== "") throw new Error("the archive ends inside of a record");
}

/** The index of the line break that ends the record at `from`; -1 if its end has not been read. */
function endOfRecord(text: string, from: number): number {
  for (let end = text.indexOf("\n", from); end >= 0; end = text.indexOf("\n", end + 1)) {
    // Outside of quotes after an even number of them.
    if ((text.slice(from, end).split('"').length - 1) % 2 === 0) return end;
  }
  return -1;
}

function parseRecord(line: string): CsvRecord {
  if (!line.includes('"')) return line.split(",").map((text) => (text === "" ? null : text));
  const fields = line.match(/(?<=^|,)(?:"(?:[^"]+|"")*"|[^,]*)/g) ?? [];
  return fields.map((text) => {
    if (text === "") return null;
    return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;
  });
}
