import { writeFileSync } from "node:fs";
import ranks from "gpt-tokenizer/bpeRanks/o200k_base";

/**
 * `npm run vocabulary`: writes the vocabulary that tokens are counted by, in the form that `Vocabulary` reads, from
 * OpenAI's `o200k_base` as gpt-tokenizer has it.
 */
const tokens = ranks.map((token) => Buffer.from(token as string));
if (tokens.some(({ length }) => length === 0 || length > 255))
  throw new Error("a token has no length of one byte");
const parts = tokens.flatMap((bytes) => [Buffer.of(bytes.length), bytes]);
writeFileSync(new URL("../src/inference/billing/tokenizer/o200k.bin", import.meta.url), Buffer.concat(parts));
console.log(`${tokens.length} tokens`);
