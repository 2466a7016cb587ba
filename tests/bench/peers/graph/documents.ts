const FIELDS = ["name", "price", "weight", "inStock", "places"];
const REVIEW_FIELDS = ["stars", "text"];
const AUTHOR_FIELDS = ["name", "email", "country"];
const REVIEWED_FIELDS = ["name", "price"];
/** Odd, so that every document below has another selection than those before. */
const SPREAD = 2_731;
/** The number of selections. */
export const MAX_DOCUMENTS = 2 ** 12;

/**
 * A nested query over the market's four subgraphs, with a selection of its own: the pages of an application differ so.
 * `name` is a part of the operation's name.
 */
export function nestedDocument(n: number, name: string): string {
  let bits = (n * SPREAD) % MAX_DOCUMENTS;
  const some = (fields: readonly string[]) => {
    const chosen = fields.filter((_, at) => bits & (1 << at));
    bits >>= fields.length;
    return chosen.join(" ");
  };
  return `query ${name}${n}($first: Int!) {
    topProducts(first: $first) {
      upc ${some(FIELDS)}
      reviews { id ${some(REVIEW_FIELDS)} author { id ${some(AUTHOR_FIELDS)} } product { upc ${some(REVIEWED_FIELDS)} } }
    }
  }`;
}
