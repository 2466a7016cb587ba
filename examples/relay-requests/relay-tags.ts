import type { Plugin } from "vite";

/** Replaces the tags `graphql` by imports of what relay-compiler wrote for them, as babel-plugin-relay does with Babel. */
export const relayTags: Plugin = {
  name: "relay-tags",
  enforce: "pre",
  transform(code, id) {
    if (!/\.tsx?$/.test(id) || !code.includes("graphql`")) return undefined;
    const names: string[] = [];
    const replaced = code.replaceAll(
      /graphql`\s*(?:query|mutation|subscription|fragment)\s+(\w+)[^`]*`/g,
      (_, name) => {
        names.push(name);
        return name;
      },
    );
    const imports = names.map((name) => `import ${name} from "./__generated__/${name}.graphql.ts";`);
    return { code: `${imports.join("")}${replaced}`, map: null };
  },
};
