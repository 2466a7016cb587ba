import { AppError } from "../../kernel/errors.ts";
import { MAX_NEURON } from "../../kernel/text/amount.ts";
import { hasAtMost } from "../../kernel/text/characters.ts";
import { isAddress, lowerHex } from "../../kernel/text/hex.ts";
import { readKeyName } from "../shared/key-name.ts";
import {
  type Guardrails,
  MAX_GUARDRAIL,
  MAX_PARAMETER_NAME,
  MAX_TOOL_NAME,
  PARAMETER_NAME,
} from "./guardrails.ts";
import type { KeySettings } from "./key-settings.ts";

const MAX_MODEL_ID = 256;
const MAX_LISTED = 100;
const LATEST = new Date("9999-12-31T23:59:59.999Z");

/**
 * Validates and normalises the settings of a key: lists without duplicates, addresses in lower case. Absent settings
 * stay absent. Throws `invalid_parameter`, naming the invalid field.
 */
export function checkKeySettings(given: Partial<KeySettings>, now: Date): Partial<KeySettings> {
  const {
    name,
    expiresAt,
    creditLimit,
    resetPeriod,
    allowedModels,
    allowedProviders,
    trustMode,
    providerEvidence,
  } = given;
  if (expiresAt && !(expiresAt > now && expiresAt <= LATEST))
    throw refused("expires_at", "A key must expire in the future, and before the year 10000.");
  if (creditLimit != null && (creditLimit < 0n || creditLimit > MAX_NEURON))
    throw refused("credit_limit", "A credit limit must be from 0 to 2^256 - 1 neuron.");
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
    ...(providerEvidence !== undefined && { providerEvidence }),
    ...checkGuardrails(given),
  };
}

function checkGuardrails(given: Partial<Guardrails>): Partial<Guardrails> {
  const { maxInputTokens, maxInputBytes, maxOutputTokens, allowedTools, blockedParameters, verifyTee } =
    given;
  checkLimit(maxInputTokens, "max_input_tokens");
  checkLimit(maxInputBytes, "max_input_bytes");
  checkLimit(maxOutputTokens, "max_output_tokens");
  return {
    ...(maxInputTokens !== undefined && { maxInputTokens }),
    ...(maxInputBytes !== undefined && { maxInputBytes }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(allowedTools && { allowedTools: checkList(allowedTools, "allowed_tools", checkTool) }),
    ...(blockedParameters && {
      blockedParameters: checkList(blockedParameters, "blocked_parameters", checkParameter),
    }),
    ...(verifyTee !== undefined && { verifyTee }),
  };
}

function checkLimit(limit: number | null | undefined, param: string): void {
  if (limit == null || (Number.isInteger(limit) && limit >= 1 && limit <= MAX_GUARDRAIL)) return;
  throw refused(param, `The limit must be an integer from 1 to ${MAX_GUARDRAIL}.`);
}

function checkTool(name: string): string {
  if (name !== "" && hasAtMost(name, MAX_TOOL_NAME) && !/[\p{Cc}\p{Cs}]/u.test(name)) return name;
  throw refused("allowed_tools", `The name of a tool must have 1 to ${MAX_TOOL_NAME} printable characters.`);
}

function checkParameter(name: string): string {
  if (name.length <= MAX_PARAMETER_NAME && PARAMETER_NAME.test(name)) return name;
  throw refused(
    "blocked_parameters",
    `A parameter must be the name of a field of the body, of at most ${MAX_PARAMETER_NAME} characters.`,
  );
}

function checkModel(model: string): string {
  if (model !== "" && hasAtMost(model, MAX_MODEL_ID) && !/\p{Cc}/u.test(model)) return model;
  throw refused("allowed_models", `A model id must have 1 to ${MAX_MODEL_ID} printable characters.`);
}

function checkProvider(address: string): string {
  if (!isAddress(address)) throw refused("allowed_providers", "A provider must be an address.");
  return lowerHex(address);
}

function checkList(
  list: readonly string[],
  param: string,
  check: (item: string) => string,
): readonly string[] {
  if (list.length > MAX_LISTED) throw refused(param, `The list can have at most ${MAX_LISTED} items.`);
  return [...new Set(list.map(check))];
}

function refused(param: string, why: string): AppError {
  return new AppError("invalid_parameter", why, { param });
}
