/** Numbers of WASI's `errno`, which the file system of the embedded database throws without a message. */
const FILE_ERRORS: ReadonlyMap<number, string> = new Map([
  [2, "permission denied"],
  [29, "input/output error"],
  [33, "too many open files"],
  [41, "too many open files"],
  [51, "no space left on the disk"],
  [63, "operation not permitted"],
  [69, "read-only file system"],
]);

/** Why the embedded database, or its folder, failed; without a full stop. */
export function failureText(error: unknown): string {
  const { message, errno } = Object(error) as { message?: unknown; errno?: unknown };
  if (typeof message === "string" && message !== "") return message.replace(/\.$/, "");
  if (typeof errno !== "number") return String(error);
  return FILE_ERRORS.get(errno) ?? `file system error ${errno}`;
}
