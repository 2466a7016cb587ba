import { AppError } from "../errors.ts";

/**
 * Resolves as `work` does. If that takes longer than `limitMs`, runs `onLate` and throws `unavailable` with `message`.
 */
export async function within<T>(
  limitMs: number,
  work: Promise<T>,
  {
    message = `There was no answer within ${limitMs / 1_000} s.`,
    onLate,
  }: { readonly message?: string; readonly onLate?: () => void } = {},
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new AppError("unavailable", message));
    onLate?.();
  }, limitMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
