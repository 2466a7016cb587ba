type Path = readonly (string | number)[];
type Node = { isEnd: boolean; children?: Map<string | number, Node> };

/** Places in a result, to find those above or below another one without comparing it with each of them. */
export class PathTree {
  readonly #root: Node = { isEnd: false };

  constructor(paths: Iterable<Path>) {
    for (const path of paths) {
      let node = this.#root;
      for (const key of path) {
        // Most nodes are ends of paths.
        node.children ??= new Map();
        const child = node.children.get(key) ?? { isEnd: false };
        node.children.set(key, child);
        node = child;
      }
      node.isEnd = true;
    }
  }

  /** Whether a place of the tree is this one, or above it. */
  hasAbove(path: Path): boolean {
    return this.#walk(path) === "above";
  }

  /** Whether a place of the tree is this one, above it or below it. */
  hasOnBranch(path: Path): boolean {
    return this.#walk(path) !== undefined;
  }

  #walk(path: Path): "above" | "below" | undefined {
    let node = this.#root;
    for (const key of path) {
      if (node.isEnd) return "above";
      const child = node.children?.get(key);
      if (!child) return undefined;
      node = child;
    }
    if (node.isEnd) return "above";
    return node.children ? "below" : undefined;
  }
}
