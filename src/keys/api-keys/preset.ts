import { AppError } from "../../kernel/errors.ts";
import { SCOPES, type Scope } from "../auth/principal.ts";

/** The sets of scopes that a management key is offered with (SPEC 2.3); `custom` is any other. */
const PRESETS = {
  "read-only": ["account:read", "keys:read"],
  "key-manager": ["keys:read", "keys:manage"],
  "full-admin": SCOPES,
} as const satisfies Record<string, readonly Scope[]>;

export const PRESET_NAMES = ["read-only", "key-manager", "full-admin", "custom"] as const;
export type Preset = (typeof PRESET_NAMES)[number];

/** What a key's scopes are chosen by: a preset, scopes of one's own (`custom`), or both where they agree. */
export type ScopeChoice = {
  readonly preset?: Preset | undefined;
  readonly scopes?: readonly Scope[] | undefined;
};

/** The scopes that are chosen, each once, in the order of SPEC 2.3; undefined when nothing is. Throws `invalid_parameter`. */
export function chooseScopes({ preset, scopes }: ScopeChoice): readonly Scope[] | undefined {
  const own = scopes && SCOPES.filter((scope) => scopes.includes(scope));
  if (preset === undefined) return own;
  if (preset === "custom") {
    if (own) return own;
    throw new AppError("invalid_parameter", "The preset custom needs scopes.", { param: "scopes" });
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
