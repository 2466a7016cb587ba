import { InferenceRequestRow } from "../inference/requests/request.row.ts";
import { ApiKeyRow } from "../keys/api-keys/api-key.row.ts";
import { ManagementKeyRow } from "../keys/management-keys/management-key.row.ts";

/** Every entity, for the ORM. The only place where `db` depends on the domain, and only on its rows. */
export const entities = [ApiKeyRow, ManagementKeyRow, InferenceRequestRow] as const;
