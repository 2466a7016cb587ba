import type { Scope } from "../../../src/keys/auth/principal.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

/** The scopes of management keys (SPEC 2.3). */
export const ManagementScope = defineEnum<Scope>(
  "ManagementScope",
  "A scope of a management key. Descriptions and the REST API spell the scopes `account:read`, `keys:read`, `keys:create` and `keys:manage`.",
  {
    "account:read": "Read the account's balance, deposits and requests.",
    "keys:read": "List the account's `sk-` keys.",
    "keys:create": "Create `sk-` keys.",
    "keys:manage": "Update and revoke `sk-` keys.",
  },
);
