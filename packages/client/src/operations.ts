export * from "./operations/graphql.ts";
