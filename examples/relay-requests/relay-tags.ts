import type { Plugin } from "vite";

const TAG = /graphql`\s*(?:query|mutation|subscription|fragment)\s+(\w+)[^`]*`/g;

/** Replaces the tags `graphql` by imports of what relay-compiler wrote for them, as babel-plugin-relay does with Babel. */
export const relayTags: Plugin = {
  name: "relay-tags",
  enforce: "pre",
  transform(code, id) {
    if (!/\.tsx?$/.test(id) || !code.includes("graphql`")) return undefined;
    const imports: string[] = [];
    const replaced = code.replaceAll(TAG, (_, name: string) => {
      // A type of the same name may be imported beside it.
      imports.push(`import ${name}Artifact from "./__generated__/${name}.graphql.ts";`);
      return `${name}Artifact`;
    });
    return { code: `${imports.join("")}${replaced}`, map: null };
  },
};
