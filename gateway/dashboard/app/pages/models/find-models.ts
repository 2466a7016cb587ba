import { client, graphql } from "../../data/query/graph.ts";
import { serviceText } from "../../parts/value/service-names.ts";
import type { Found } from "../../shell/routes/page.ts";

const MODELS = graphql(`
  query FindModels { models(first: 100) { nodes { modelId name serviceType } } }
`);
const MAX_FOUND = 6;

/** The models whose id or name contains a text. */
export async function findModels(text: string): Promise<readonly Found[]> {
  const { data } = await client.query(MODELS, {}, { requestPolicy: "cache-first" }).toPromise();
  const wanted = text.toLowerCase();
  return (data?.models?.nodes ?? [])
    .filter(({ modelId, name }) => `${modelId} ${name}`.toLowerCase().includes(wanted))
    .slice(0, MAX_FOUND)
    .map(({ modelId, name, serviceType }) => ({
      id: modelId,
      name,
      detail: serviceText(serviceType),
      to: `/models/${encodeURIComponent(modelId)}`,
    }));
}
