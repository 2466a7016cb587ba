import { graphql, reader } from "../../data/query/graph.ts";
import type { Found } from "../../shell/routes/page.ts";

const KEYS = graphql(`
  query FindKeys { viewer { account { apiKeys(last: 100) { nodes { id name preview status } } } } }
`);
const MAX_FOUND = 6;

/** The keys, among the newest 100, whose name contains a text or whose secret begins with it. */
export async function findKeys(text: string): Promise<readonly Found[]> {
  const { data } = await reader.query(KEYS, {}).toPromise();
  const wanted = text.toLowerCase();
  // The graph has them oldest first.
  return (data?.viewer?.account?.apiKeys?.nodes.toReversed() ?? [])
    .filter(({ name, preview }) => name.toLowerCase().includes(wanted) || preview.startsWith(text))
    .slice(0, MAX_FOUND)
    .map(({ id, name, preview, status }) => ({
      id,
      name,
      detail: status === "ACTIVE" ? preview : `${preview}, ${status.toLowerCase()}`,
      to: status === "ACTIVE" ? "/keys" : "/keys?all=true",
    }));
}
