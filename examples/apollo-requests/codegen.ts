/** Types for the queries in `src`, from the schema: the same text that a gateway serves at `/schema.graphql`. */
const config = {
  schema: "../../schema/api.graphql",
  documents: "src/*.tsx",
  generates: {
    "src/graphql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        useTypeImports: true,
        scalars: {
          Address: "string",
          BigInt: "string",
          Cursor: "string",
          Date: "string",
          DateTime: "string",
          Decimal: "string",
          Hash32: "string",
          Neuron: "string",
        },
        defaultScalarType: "unknown",
        importExtension: ".ts",
      },
    },
  },
};

export default config;
