import type { Scope } from "../../../src/keys/auth/principal.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

/** What a management key may be allowed to do (SPEC 2.3). */
export const ManagementScope = defineEnum<Scope>(
  "ManagementScope",
  "What a management key may be allowed to do.",
  {
    "account:read": "Read the account's balance, deposits and requests.",
    "keys:read": "List the account's `sk-` keys.",
    "keys:create": "Make `sk-` keys.",
    "keys:manage": "Change and revoke `sk-` keys.",
  },
);
