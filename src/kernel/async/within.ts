import { AppError } from "../errors.ts";

/** Resolves as `work` does; when that takes longer than `limitMs`, runs `onLate` and rejects. */
export async function within<T>(
  limitMs: number,
  work: Promise<T>,
  onLate: () => void = () => {},
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(
      new AppError("unavailable", `Events are unavailable: no answer within ${limitMs / 1_000} s.`),
    );
    onLate();
  }, limitMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
