import type { Queries } from "../../db/database.ts";
import type { HoldRequest } from "../holds.store.ts";

/** A request to be listed as running, and the time since its admission. */
export type RunningRequest = {
  readonly request: HoldRequest;
  readonly allotmentId: string;
  readonly ageMs: number;
};

/** Lists requests as running, unless their allotment is gone. */
export async function listRunning(queries: Queries, requests: readonly RunningRequest[]): Promise<void> {
  const rows = requests.map(({ request, allotmentId, ageMs }) => ({
    id: request.id,
    account: request.account,
    key: request.keyId,
    allotment: allotmentId,
    model: request.model,
    provider: request.provider,
    service_type: request.serviceType,
    input_price: request.inputPrice.toString(),
    output_price: request.outputPrice.toString(),
    trust_mode: request.trustMode ?? "standard",
    tags: request.tags,
    age_ms: Math.round(ageMs),
  }));
  await queries.rows(LIST, [JSON.stringify(rows)]);
}

/** The allotment is locked, so that its requests cannot end as lost at the same moment. */
const LIST = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(id text, account text, key uuid, allotment uuid, model text,
      provider text, service_type text, input_price numeric, output_price numeric, trust_mode text, tags jsonb, age_ms int)
  ), existing as (
    select id from allotment where id = any(array(select allotment from requested)) order by id for key share
  )
  insert into inference_request (id, account, api_key_id, allotment_id, model, provider, service_type, status,
    input_price, output_price, trust_mode, tags, created_at)
  select a.id, a.account, a.key, a.allotment, a.model, a.provider, a.service_type, 'running', a.input_price,
    a.output_price, a.trust_mode, a.tags, now() - a.age_ms * interval '1 millisecond'
  from requested a join existing e on e.id = a.allotment
  on conflict (id) do nothing`;
