import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";

/** A Kubernetes object, or a part of one. */
export type Tree = { [name: string]: unknown };

/** What `kustomize build` makes of a folder, for the fields that our folders use; another field throws. */
export function render(folder: string): readonly Tree[] {
  const { apiVersion, kind, resources, configMapGenerator, patches, namespace, images, labels, ...others } =
    parse(readFileSync(join(folder, "kustomization.yaml"), "utf8"));
  if (Object.keys(others).length > 0) throw new Error(`${folder}: ${Object.keys(others)} is not supported`);
  let objects: Tree[] = (resources as string[]).flatMap((path) => {
    const place = join(folder, path);
    if (existsSync(join(place, "kustomization.yaml"))) return [...render(place)];
    return readAll(readFileSync(place, "utf8"));
  });
  for (const { name, literals } of configMapGenerator ?? []) {
    const data = Object.fromEntries((literals as string[]).map((text) => text.split(/=(.*)/s).slice(0, 2)));
    const known = objects.find((object) => object.kind === "ConfigMap" && nameOf(object) === name);
    if (known) Object.assign(known.data as Tree, data);
    else objects.push({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
  }
  for (const { path, patch, target } of patches ?? []) {
    const change = parse(patch ?? readFileSync(join(folder, path), "utf8")) as Tree;
    const isMeant = (object: Tree) =>
      object.kind === (target?.kind ?? change.kind) &&
      (target !== undefined || nameOf(object) === nameOf(change));
    if (!objects.some(isMeant)) throw new Error(`${folder}: a patch has no target`);
    objects = objects.map((object) =>
      isMeant(object) ? (merge(object, { ...change, metadata: {} }) as Tree) : object,
    );
  }
  for (const object of objects) {
    if (namespace) (object.metadata as Tree).namespace = namespace;
    for (const { pairs } of labels ?? []) {
      const { template } = (object.spec ?? {}) as { template?: Tree };
      for (const place of template ? [object, template] : [object])
        place.metadata = merge(place.metadata ?? {}, { labels: pairs });
    }
  }
  const text = (images ?? []).reduce(
    (before: string, { name, newName, newTag }: Record<string, string>) =>
      before.replaceAll(`"image":"${name}"`, `"image":"${newName}:${newTag}"`),
    JSON.stringify(objects),
  );
  return JSON.parse(text) as Tree[];
}

function readAll(text: string): Tree[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Tree);
}

/** The name of an object. */
export function nameOf(object: Tree): unknown {
  return (object.metadata as Tree).name;
}

/** A strategic merge: lists of objects are merged by their names, other lists are replaced. */
function merge(base: unknown, change: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(change)) {
    const keyOf = (item: Tree) => item.mountPath ?? item.containerPort ?? item.name;
    if (![...base, ...change].every((item) => keyOf(Object(item)) !== undefined)) return change;
    const news = change.filter((item) => !base.some((other) => keyOf(other) === keyOf(item)));
    return [
      ...base.map((item) => merge(item, change.find((other) => keyOf(other) === keyOf(item)) ?? {})),
      ...news,
    ];
  }
  if (isTree(base) && isTree(change)) {
    const merged = { ...base };
    for (const [name, value] of Object.entries(change))
      merged[name] = name in base ? merge(base[name], value) : value;
    return merged;
  }
  return change;
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
