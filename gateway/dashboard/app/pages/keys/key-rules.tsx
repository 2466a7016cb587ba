import { List, Popover, Text, UnstyledButton } from "@mantine/core";
import type { Key } from "./key-fields.tsx";

type Ruled = Pick<
  Key,
  | "name"
  | "allowedModels"
  | "allowedProviders"
  | "trustMode"
  | "providerEvidence"
  | "maxInputTokens"
  | "maxInputBytes"
  | "maxOutputTokens"
  | "allowedTools"
  | "blockedParameters"
  | "verifyTee"
>;

const TRUST = {
  VERIFIED: "Only providers whose enclave is verified",
  PRIVATE: "Only providers that keep prompts private",
} as const;
const EVIDENCE = {
  BOUND: "Only providers that recently signed their answers",
  ATTESTED: "Only providers that recently proved their enclave",
} as const;

/** What a key may not do, a sentence each; none for a key that may use everything. */
function rulesOf(key: Ruled): readonly string[] {
  const number = (value: number) => value.toLocaleString("en");
  const { allowedModels, allowedProviders, allowedTools, blockedParameters } = key;
  return [
    ...(allowedModels.length > 0 ? [`Only the models ${allowedModels.join(", ")}`] : []),
    ...(allowedProviders.length > 0 ? [`Only the providers ${allowedProviders.join(", ")}`] : []),
    ...(key.trustMode ? [TRUST[key.trustMode]] : []),
    ...(key.providerEvidence ? [EVIDENCE[key.providerEvidence]] : []),
    ...(key.maxInputTokens ? [`At most ${number(key.maxInputTokens)} tokens in a prompt`] : []),
    ...(key.maxInputBytes ? [`At most ${number(key.maxInputBytes)} bytes in a request`] : []),
    ...(key.maxOutputTokens ? [`At most ${number(key.maxOutputTokens)} tokens in an answer`] : []),
    ...(allowedTools.length > 0 ? [`Only the tools ${allowedTools.join(", ")}`] : []),
    ...(blockedParameters.length > 0 ? [`Not the parameters ${blockedParameters.join(", ")}`] : []),
    ...(key.verifyTee ? ["The signature of every answer is verified"] : []),
  ];
}

/** The rules of a key: one as it is, several behind a button that lists them. */
export function KeyRules({ of: key }: { of: Ruled }) {
  const rules = rulesOf(key);
  const [first] = rules;
  if (!first) return <span className="quiet">none</span>;
  if (rules.length === 1 && first.length < 40) return first;
  return (
    <Popover position="bottom-start" shadow="md" width={320} trapFocus returnFocus>
      <Popover.Target>
        <UnstyledButton className="text-button" aria-label={`Rules of ${key.name}: ${rules.length}`}>
          {rules.length} {rules.length === 1 ? "rule" : "rules"}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Text fw={550} size="sm" mb={4} tabIndex={-1} data-autofocus>
          {key.name} may use
        </Text>
        <List size="sm" spacing={4}>
          {rules.map((rule) => (
            <List.Item key={rule}>{rule}</List.Item>
          ))}
        </List>
      </Popover.Dropdown>
    </Popover>
  );
}
