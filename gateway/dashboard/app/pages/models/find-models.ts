import type { ResultOf } from "gql.tada";
import { readWhole } from "../../data/list/use-whole.ts";
import { graphql } from "../../data/query/graph.ts";
import { serviceText } from "../../parts/value/service-names.ts";
import type { Found } from "../../shell/routes/page.ts";

const MODELS = graphql(`
  query FindModels($after: Cursor) {
    models(first: 100, after: $after) { nodes { modelId name serviceType } pageInfo { hasNextPage endCursor } }
  }
`);
const WHOLE = { query: MODELS, pick: ({ models }: ResultOf<typeof MODELS>) => models };
const MAX_FOUND = 6;

/** The models whose id or name contains a text. */
export async function findModels(text: string): Promise<readonly Found[]> {
  const { rows } = await readWhole(WHOLE, "cache-first");
  const wanted = text.toLowerCase();
  return rows
    .filter(({ modelId, name }) => `${modelId} ${name}`.toLowerCase().includes(wanted))
    .slice(0, MAX_FOUND)
    .map(({ modelId, name, serviceType }) => ({
      id: modelId,
      name,
      detail: serviceText(serviceType),
      to: `/models/${encodeURIComponent(modelId)}`,
    }));
}
