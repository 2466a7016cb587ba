import { PATIENT_PROVIDERS } from "../support/patient-providers.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder, startReady } from "../support/servers/process.ts";

/** A product as `npm start` starts it, with the keys of its demo account. */
export type Product = { readonly origin: string; readonly sk: string; readonly mk: string };

/** Starts one, and returns the values of its banner. */
export async function startProduct(
  onEnd: OnEnd,
  settings: Readonly<Record<string, string>> = {},
): Promise<Product> {
  const own = { DATA_DIR: newFolder(onEnd), ...PATIENT_PROVIDERS, ...settings };
  const { origin, saw } = await startReady({ settings: own, onEnd });
  const [, sk = ""] = await saw(/sk- key, funded +(sk-\w+)/);
  const [, mk = ""] = await saw(/mk- key +(mk-\w+)/);
  return { origin, sk, mk };
}
