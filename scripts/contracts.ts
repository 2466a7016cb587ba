import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import solc from "solc";

const SOURCES = fileURLToPath(new URL("../src/devnet/contracts/", import.meta.url));
const ARTIFACTS = fileURLToPath(new URL("../src/devnet/artifacts/", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../node_modules/", import.meta.url));
/** Hash of the sources, settings, packages and artifacts at the time the artifacts were written. */
const HASH_FILE = fileURLToPath(new URL("../src/devnet/contracts/compiled.sha256", import.meta.url));
const SETTINGS = {
  // Supported by both the public network and anvil, so that one bytecode runs on either.
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  // No metadata hash in the bytecode: it, and with it every CREATE2 address, changes only with the code.
  metadata: { bytecodeHash: "none", appendCBOR: false },
  outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
};

type Output = {
  errors?: { formattedMessage: string; severity: string; sourceLocation?: { file: string } }[];
  contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
};

/**
 * Compiles every contract of src/devnet/contracts and returns the text of each artifact by file name. Compiler
 * warnings about them count as errors. Throws with the compiler's messages.
 */
function compileContracts(): Map<string, string> {
  const files = readdirSync(SOURCES).filter((name) => name.endsWith(".sol"));
  const sources = Object.fromEntries(
    files.map((name) => [name, { content: readFileSync(join(SOURCES, name), "utf8") }]),
  );
  const input = JSON.stringify({ language: "Solidity", sources, settings: SETTINGS });
  const output: Output = JSON.parse(solc.compile(input, { import: readPackage }));
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

/** Reads the sources' imports from packages: OpenZeppelin's contracts. */
function readPackage(path: string): { contents: string } | { error: string } {
  const file = join(PACKAGES, path);
  if (!path.startsWith("@") || !file.startsWith(PACKAGES))
    return { error: `imports from ${path} are not supported` };
  return { contents: readFileSync(file, "utf8") };
}

/**
 * Whether the committed artifacts match the committed sources. Compiling keeps a core busy for 15 s, so this
 * compares a hash of all inputs and outputs with the stored one.
 */
export function areArtifactsCurrent(): boolean {
  return readFileSync(HASH_FILE, "utf8").trim() === hashOfAll();
}

function hashOfAll(): string {
  const hash = createHash("sha256").update(JSON.stringify(SETTINGS));
  const manifests = ["solc", "@openzeppelin/contracts"].map((name) => join(PACKAGES, name, "package.json"));
  const filesOf = (folder: string, end: string) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(end))
      .sort()
      .map((name) => join(folder, name));
  for (const file of [...manifests, ...filesOf(SOURCES, ".sol"), ...filesOf(ARTIFACTS, ".ts")])
    hash.update(`${basename(file)}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

/** Compiles, rewrites every artifact, and deletes artifacts without a source. */
function writeArtifacts(): void {
  const compiled = compileContracts();
  for (const name of readdirSync(ARTIFACTS)) if (!compiled.has(name)) rmSync(join(ARTIFACTS, name));
  for (const [name, text] of compiled) writeFileSync(join(ARTIFACTS, name), text);
  writeFileSync(HASH_FILE, `${hashOfAll()}\n`);
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

if (process.argv[1] === fileURLToPath(import.meta.url)) writeArtifacts();
