/** The marks of an axis, from 0 on, and how many decimals each of them is written with. */
export type Ticks = { readonly values: readonly number[]; readonly places: number };

/** About so many steps does an axis have. */
const STEPS = 4;
const MAX_PLACES = 12;

/** Marks at round distances, the last one above every value up to `most`; of 1 where nothing is above 0. */
export function ticksOf(most: number): Ticks {
  if (!(most > 0)) return { values: [0, 1], places: 0 };
  const exponent = Math.floor(Math.log10(most / STEPS));
  const rough = most / STEPS / 10 ** exponent;
  const step = [1, 2, 2.5, 5].find((round) => rough <= round) ?? 10;
  const places = Math.min(MAX_PLACES, Math.max(0, (step === 2.5 ? 1 : 0) - exponent - (step === 10 ? 1 : 0)));
  const distance = Number((step * 10 ** exponent).toPrecision(3));
  const count = Math.floor(most / distance) + 1;
  return { values: Array.from({ length: count + 1 }, (_, n) => n * distance), places };
}
