/** A query over the market. The answers of graphql-js are the reference. */
export type MarketQuery = readonly [
  title: string,
  query: string,
  variables?: Readonly<Record<string, unknown>>,
];

/** The queries by subject. */
export const MARKET_QUERIES: Readonly<Record<string, readonly MarketQuery[]>> = {
  "paths through the graph": [
    ["one hop", "{ me { name reviews { stars } } }"],
    ["two hops", "{ me { reviews { product { name } } } }"],
    ["three hops and back", "{ me { reviews { product { shop { owner { name credit } } } } } }"],
    ["a cycle", "{ me { reviews { author { reviews { author { name } } } } } }"],
    ["by a key inside an object", "{ products { price stock shop { title } } }"],
    ["from the one key to the other", "{ reviews { product { price } } }"],
    ["through three subgraphs in a list", "{ shops { products { name reviews { author { name } } } } }"],
    ["to itself", "{ me { best { best { name } } } }"],
    ["the same subgraph twice on one path", "{ users { shop { owner { shop { title } } } } }"],
    ["into lists in lists", "{ grid { name reviews { stars } shop { title } } }"],
    ["two paths at once", "{ me { shop { title } reviews { stars } } products { price reviews { text } } }"],
    [
      "every field of an entity",
      '{ product(upc: "p1") { upc sku { code } name kind related { upc } label reviews { id } shop { id } price stock } }',
    ],
    ["an entity that does not exist", '{ product(upc: "nope") { name price reviews { id } } }'],
    ["only fields of other subgraphs", "{ me { shop { title } } }"],
    ["the key alone", "{ reviews { product { upc } author { id } } }"],
  ],
  "lists and nulls": [
    ["a missing entity in a list", "{ users { name friends { name reviews { stars } } } }"],
    ["a missing product of a review", "{ reviews { id product { name price } } }"],
    ["a missing owner", "{ shops { title owner { name } } }"],
    ["null in a list of a list", "{ grid { upc price } }"],
    ["an empty list", '{ user(id: "u3") { friends { name shop { title } } } }'],
    ["a null leaf of another subgraph", "{ products { stock } }"],
    ["a null object of another subgraph", "{ shops { place { x y } } }"],
    ["an empty text is not null", "{ reviews { text } }"],
    ["zero is not null", "{ users { credit } }"],
    ["related entities, half of them missing", "{ products { related { name stock } } }"],
    ["all entities missing", '{ user(id: "nope") { name shop { title } reviews { id } } }'],
  ],
  failures: [
    ["of a field, in a list", "{ users { name credit } }"],
    ["of a field that is not nullable", "{ shops { title open } }"],
    ["of one that nulls its list, in an entity of another subgraph", "{ products { name shop { open } } }"],
    ["of a root field beside others", "{ broken me { name } }"],
    ["of one field under two aliases", '{ user(id: "u2") { a: credit b: credit } }'],
    ["in a fragment", "{ users { ...f } } fragment f on User { credit shop { open } }"],
    ["deeply nested", "{ reviews { author { best { credit } shop { products { shop { open } } } } } }"],
    [
      "that are excluded by a condition",
      "query ($all: Boolean = false) { users { name credit @include(if: $all) } }",
    ],
  ],
  "aliases and merging": [
    ["two roots of one field", '{ a: user(id: "u1") { name } b: user(id: "u2") { name reviews { id } } }'],
    ["one field with two arguments", '{ product(upc: "p1") { usd: price eur: price(currency: "EUR") } }'],
    ["an alias that is another field's name", "{ me { name: id id: name shop { owner: title title: id } } }"],
    [
      "an alias over the key, with a hop behind it",
      "{ products { upc: name sku { code: __typename } price } }",
    ],
    ["an alias over a list", "{ me { them: reviews { it: product { what: name } } } }"],
    ["one object selected twice", "{ me { shop { title } shop { id } reviews { id } reviews { stars } } }"],
    [
      "one object selected in two subgraphs under one alias",
      "{ me { x: reviews { product { name } } x: reviews { product { price } } } }",
    ],
    [
      "two aliases of one list, of different depth",
      "{ me { a: reviews { stars } b: reviews(first: 1) { product { name } } } }",
    ],
    ["__typename under aliases", "{ t: __typename me { a: __typename b: __typename shop { __typename } } }"],
  ],
  fragments: [
    ["named, on an entity", "{ me { ...f } } fragment f on User { name shop { title } reviews { stars } }"],
    ["named, in two places", "{ me { ...f best { ...f } } } fragment f on User { name shop { title } }"],
    [
      "in fragments",
      "{ me { ...a } } fragment a on User { ...b name } fragment b on User { reviews { ...c } } fragment c on Review { stars product { price } }",
    ],
    ["inline, without a type", "{ me { ... { name ... { shop { title } } } } }"],
    ["on the root", "{ ...q } fragment q on Query { me { name } ... on Query { shops { title } } }"],
    [
      "with conditions",
      "query ($y: Boolean! = true, $n: Boolean! = false) { me { ... @include(if: $n) { name } ...f @include(if: $y) } } fragment f on User { shop { title @skip(if: $n) id @skip(if: $y) } }",
    ],
    [
      "that select what the query selects",
      "{ me { name shop { title } ...f } } fragment f on User { name shop { title id } }",
    ],
  ],
  "unions and interfaces": [
    [
      "a union over subgraphs",
      '{ search(text: "1") { __typename ... on User { name } ... on Product { price } ... on Review { stars } } }',
    ],
    [
      "a union of which only one type is selected",
      '{ search(text: "u") { ... on User { name shop { title } } } }',
    ],
    ["a union of which no type is selected", '{ search(text: "u") { __typename } }'],
    [
      "one response key, another field for each type",
      '{ search(text: "1") { ... on User { it: name } ... on Product { it: label } ... on Review { that: text } } }',
    ],
    [
      "a union inside an entity",
      "{ reviews { subject { ... on User { name credit } ... on Product { name price } } } }",
    ],
    ["a union that is null", "{ reviews { id subject { __typename } } }"],
    ["an interface", '{ nodes(ids: ["u1", "r1", "nope"]) { id } }'],
    [
      "an interface and its types",
      '{ nodes(ids: ["u1", "r2"]) { id ... on User { name shop { title } } ... on Review { stars author { name } } } }',
    ],
    [
      "an interface's fragment on a type's fragment",
      '{ nodes(ids: ["u1", "r2"]) { ... on User { ... on Node { id } ... on User { name } } } }',
    ],
    [
      "nested unions",
      '{ search(text: "r1") { ... on Review { subject { ... on Product { reviews { subject { __typename } } } } } } }',
    ],
  ],
  arguments: [
    ["a variable", "query ($id: ID!) { user(id: $id) { name } }", { id: "u2" }],
    [
      "a variable in another subgraph",
      "query ($c: String!) { products { price(currency: $c) } }",
      { c: "CHF" },
    ],
    [
      "one variable in two subgraphs",
      "query ($n: Int) { products(first: $n) { name } me { reviews(first: $n) { id } } }",
      { n: 1 },
    ],
    ["a default of a variable", "query ($n: Int = 2) { products(first: $n) { name } }"],
    ["a variable that is null", "query ($n: Int) { products(first: $n) { name } }", { n: null }],
    ["an omitted variable", "query ($n: Int) { products(first: $n) { name price } }"],
    ["an argument's default", "{ me { greeting } products { price } }"],
    ["an enum", "{ products(kind: FILM) { name kind } }"],
    ["an enum by a variable", "query ($k: Kind) { products(kind: $k) { name } }", { k: "BOOK" }],
    ["an input object", "{ reviews(where: { minStars: 3 }) { id author { name } } }"],
    [
      "a list in an input object",
      "query ($a: [ID!]) { reviews(where: { authors: $a }) { id } }",
      { a: ["u1"] },
    ],
    [
      "an input object by a variable",
      "query ($w: ReviewFilter) { reviews(where: $w) { id } }",
      { w: { minStars: 2, authors: ["u1", "u2"] } },
    ],
    ["a single value in place of a list", '{ nodes(ids: "u1") { id } }'],
    ["defaults inside input objects", '{ echo(value: { inner: { list: ["a"] }, kind: GAME }) }'],
    [
      "texts that must be escaped",
      'query ($w: String!) { me { greeting(word: $w) } a: user(id: "\\"\\\\u00e9\\n") { id } }',
      { w: '"\\\u2028 ünï 𝄞' },
    ],
    [
      "a variable only in a condition",
      "query ($y: Boolean!) { me { name @include(if: $y) shop @skip(if: $y) { title } } }",
      { y: true },
    ],
  ],
};
