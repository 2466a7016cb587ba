import "./schema/reflect.ts";
import type { ProviderState } from "../../src/inference/routing/choice-context.ts";
import { defineEnum } from "./schema/enumeration.ts";

/** Whether requests are sent to a provider. */
export const CircuitState = defineEnum<ProviderState["circuit"]>(
  "CircuitState",
  "Whether requests are sent to a provider, based on its recent responses.",
  {
    closed: "Requests are sent to the provider.",
    "half-open": "One trial request is sent to see whether the provider has recovered.",
    open: "The provider failed repeatedly and receives no requests for a while.",
  },
);
