import type { ChosenFile } from "./chosen-files.ts";

const LINES = 12_000;

/** A text of three segments that no one has stored before, to try the network with. */
export function sampleFile(): ChosenFile {
  const at = new Date().toISOString();
  const text = Array.from({ length: LINES }, (_, n) => `${n + 1}. A line of the sample made at ${at}.\n`);
  const name = `sample-${at.slice(0, 19).replaceAll(":", "-")}.txt`;
  return { file: new File(text, name, { type: "text/plain" }), path: [name] };
}
