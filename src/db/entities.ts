import { InferenceRequestRow } from "../inference/request.row.ts";
import { ApiKeyRow } from "../keys/api-key.row.ts";
import { ManagementKeyRow } from "../keys/management-key.row.ts";

/** Every entity there is, for the ORM. The one place where `db` knows the nouns: their rows, and nothing else. */
export const entities = [ApiKeyRow, ManagementKeyRow, InferenceRequestRow] as const;
