import { AppError } from "../../kernel/errors.ts";

/** The failure of one field of a request, named as the client wrote it, such as `input.3.content.0.image_url`. */
export function invalidField(param: string, reason: string): AppError {
  return new AppError("invalid_body", `${param}: ${reason}`, { param });
}
