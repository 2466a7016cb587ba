import { AppError } from "../../kernel/errors.ts";
import { SCOPES, type Scope } from "../auth/principal.ts";

/** The predefined sets of scopes of a management key (SPEC 2.3); `custom` is any other set. */
const PRESETS = {
  "read-only": ["account:read", "keys:read"],
  "key-manager": ["keys:read", "keys:manage"],
  "full-admin": SCOPES,
} as const satisfies Record<string, readonly Scope[]>;

export const PRESET_NAMES = ["read-only", "key-manager", "full-admin", "custom"] as const;
export type Preset = (typeof PRESET_NAMES)[number];

/** How a key's scopes are chosen: a preset, a list of scopes (`custom`), or both if they match. */
export type ScopeChoice = {
  readonly preset?: Preset | undefined;
  readonly scopes?: readonly Scope[] | undefined;
};

/**
 * The chosen scopes without duplicates, in the order of SPEC 2.3; undefined without a choice. Throws
 * `invalid_parameter`.
 */
export function chooseScopes({ preset, scopes }: ScopeChoice): readonly Scope[] | undefined {
  const own = scopes && SCOPES.filter((scope) => scopes.includes(scope));
  if (preset === undefined) return own;
  if (preset === "custom") {
    if (own) return own;
    throw new AppError("invalid_parameter", "The preset custom requires scopes.", { param: "scopes" });
  }
  if (own && presetOf(own) !== preset)
    throw new AppError("invalid_parameter", `These are not the scopes of the preset ${preset}.`, {
      param: "scopes",
    });
  return PRESETS[preset];
}

/** The preset that has exactly these scopes. */
export function presetOf(scopes: readonly Scope[]): Preset {
  const same = (name: keyof typeof PRESETS) =>
    PRESETS[name].length === new Set(scopes).size && PRESETS[name].every((scope) => scopes.includes(scope));
  return PRESET_NAMES.find((name) => name !== "custom" && same(name)) ?? "custom";
}
