import { AppError } from "../../kernel/errors.ts";
import { MAX_NEURON } from "../../kernel/text/amount.ts";
import { isAddress, lowerHex } from "../../kernel/text/hex.ts";
import { readKeyName } from "./key-name.ts";
import type { KeySettings } from "./key-settings.ts";

const MAX_MODEL_ID = 256;
const MAX_LISTED = 100;
const LATEST = new Date("9999-12-31T23:59:59.999Z");

/**
 * Checks the terms of a key and puts them into their one spelling: lists without doubles, addresses in lower case.
 * What is not given stays away. Throws `invalid_parameter` naming the field at fault.
 */
export function checkKeySettings(given: Partial<KeySettings>, now: Date): Partial<KeySettings> {
  const { name, expiresAt, creditLimit, resetPeriod, allowedModels, allowedProviders, trustMode } = given;
  if (expiresAt && !(expiresAt > now && expiresAt <= LATEST))
    throw refused("expires_at", "A key expires in the future.");
  if (creditLimit != null && (creditLimit < 0n || creditLimit > MAX_NEURON))
    throw refused("credit_limit", "A credit limit is 0 or more, and no more than the chain can carry.");
  return {
    ...(name !== undefined && { name: readKeyName(name) }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(creditLimit !== undefined && { creditLimit }),
    ...(resetPeriod !== undefined && { resetPeriod }),
    ...(allowedModels && { allowedModels: checkList(allowedModels, "allowed_models", checkModel) }),
    ...(allowedProviders && {
      allowedProviders: checkList(allowedProviders, "allowed_providers", checkProvider),
    }),
    ...(trustMode !== undefined && { trustMode }),
  };
}

function checkModel(model: string): string {
  if (model !== "" && model.length <= MAX_MODEL_ID && !/\p{Cc}/u.test(model)) return model;
  throw refused("allowed_models", `A model's id has 1 to ${MAX_MODEL_ID} printable characters.`);
}

function checkProvider(address: string): string {
  if (!isAddress(address)) throw refused("allowed_providers", "A provider is named by its address.");
  return lowerHex(address);
}

function checkList(
  list: readonly string[],
  param: string,
  check: (item: string) => string,
): readonly string[] {
  if (list.length > MAX_LISTED) throw refused(param, `At most ${MAX_LISTED} are listed.`);
  return [...new Set(list.map(check))];
}

function refused(param: string, why: string): AppError {
  return new AppError("invalid_parameter", why, { param });
}
