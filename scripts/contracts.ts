import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import solc from "solc";

const SOURCES = fileURLToPath(new URL("../src/devnet/contracts/", import.meta.url));
const ARTIFACTS = fileURLToPath(new URL("../src/devnet/artifacts/", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../node_modules/", import.meta.url));
const CACHE = fileURLToPath(new URL("../.cache/contracts/", import.meta.url));
const SETTINGS = {
  // What both the public network and anvil run, so that one bytecode serves anywhere.
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  // No hash of sources in the bytecode: it, and with it every CREATE2 address, changes only when the code does.
  metadata: { bytecodeHash: "none", appendCBOR: false },
  outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
};

type Output = {
  errors?: { formattedMessage: string; severity: string; sourceLocation?: { file: string } }[];
  contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
};

/**
 * Compiles every contract of src/devnet/contracts and returns the text of its artifact by file name. Warnings about
 * them count as errors. Throws with what the compiler says.
 */
export function compileContracts(): Map<string, string> {
  const files = readdirSync(SOURCES).filter((name) => name.endsWith(".sol"));
  const sources = Object.fromEntries(
    files.map((name) => [name, { content: readFileSync(join(SOURCES, name), "utf8") }]),
  );
  const input = JSON.stringify({ language: "Solidity", sources, settings: SETTINGS });
  const output: Output = JSON.parse(compile(input));
  const errors = output.errors?.filter(
    ({ severity, sourceLocation }) => severity === "error" || files.includes(sourceLocation?.file ?? ""),
  );
  if (errors?.length) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  const artifacts = files.flatMap((file) => Object.entries(output.contracts?.[file] ?? {}));
  return new Map(
    artifacts
      .filter(([, contract]) => contract.evm.bytecode.object !== "")
      .map(([name, contract]) => [`${kebab(name)}.ts`, artifactText(name, contract.evm.bytecode.object)]),
  );
}

/** Compiling keeps a processor busy for 15 s, so what was compiled once is kept under the hash of all that goes into it. */
function compile(input: string): string {
  const packages = ["solc", "@openzeppelin/contracts"].map((name) =>
    readFileSync(join(PACKAGES, name, "package.json")),
  );
  const hash = packages.reduce((sum, text) => sum.update(text), createHash("sha256").update(input));
  const file = join(CACHE, `${hash.digest("hex").slice(0, 16)}.json`);
  try {
    return readFileSync(file, "utf8");
  } catch {
    const output = solc.compile(input, { import: readPackage });
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(file, output);
    return output;
  }
}

/** What the sources import from packages, OpenZeppelin's contracts. */
function readPackage(path: string): { contents: string } | { error: string } {
  const file = join(PACKAGES, path);
  if (!path.startsWith("@") || !file.startsWith(PACKAGES))
    return { error: `nothing is imported from ${path}` };
  return { contents: readFileSync(file, "utf8") };
}

/** Which committed artifacts differ from what the sources compile to, by file name; also those that nothing compiles to. */
export function staleArtifacts(): string[] {
  const compiled = compileContracts();
  const committed = readdirSync(ARTIFACTS);
  const different = [...compiled].filter(
    ([name, text]) => !committed.includes(name) || readFileSync(join(ARTIFACTS, name), "utf8") !== text,
  );
  return [...different.map(([name]) => name), ...committed.filter((name) => !compiled.has(name))];
}

function artifactText(name: string, bytecode: string): string {
  const constant = `${name.charAt(0).toLowerCase()}${name.slice(1)}Artifact`;
  return `/** Creation code of src/devnet/contracts/${name}.sol, written by scripts/contracts.ts. */
export const ${constant} = {
  bytecode:
    "0x${bytecode}",
} as const;
`;
}

function kebab(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) {
    const stale = staleArtifacts();
    if (stale.length > 0) throw new Error(`Run 'npm run contracts': ${stale.join(", ")} not current.`);
  } else {
    for (const [name, text] of compileContracts()) writeFileSync(join(ARTIFACTS, name), text);
  }
}
