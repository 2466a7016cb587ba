import type { AppError } from "../../kernel/errors.ts";
import { statedFailure } from "../providers/exchange/provider-answer.ts";

const NAME = Buffer.from("event:");
const ERROR_LINE = /^event:[ \t]*error[ \t]*$/im;

/** The failure that an event named `error` reports, whatever its data is; undefined for any other event. */
export function namedFailure(
  event: Buffer,
  data: string | undefined,
  providerUrl: string | undefined,
): AppError | undefined {
  if (!event.includes(NAME) || !ERROR_LINE.test(event.toString("latin1"))) return undefined;
  return statedFailure(errorIn(data), providerUrl);
}

function errorIn(data = ""): unknown {
  try {
    const fields: unknown = JSON.parse(data);
    return typeof fields === "object" && fields !== null && "error" in fields ? fields.error : fields;
  } catch {
    return data;
  }
}
