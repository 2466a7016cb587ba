import { InferenceRequestRow } from "../inference/requests/request.row.ts";
import { ApiKeyRow } from "../keys/api-keys/api-key.row.ts";
import { ManagementKeyRow } from "../keys/management-keys/management-key.row.ts";

/** Every entity there is, for the ORM. The one place where `db` knows the nouns: their rows, and nothing else. */
export const entities = [ApiKeyRow, ManagementKeyRow, InferenceRequestRow] as const;
