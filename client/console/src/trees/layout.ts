// Turns a tree of the API, in preorder, into one that can be walked.

import {SplitKind, type Tree} from 'proto/forest_pb';

const NONE = -1;

/** Columns with one entry per node, in preorder; the root is 0. */
export interface TreeLayout {
  size: number;
  leaves: number;
  depth: number;
  kinds: readonly SplitKind[];
  /** The features of splits; NONE for leaves. */
  features: Int32Array;
  thresholds: Float64Array;
  categories: Int32Array;
  missingLeft: Uint8Array;
  right: Int32Array;
  parents: Int32Array;
  depths: Int32Array;
  /** Numbers of the first leaf below each node, and of the one after the last. */
  firstLeaf: Int32Array;
  endLeaf: Int32Array;
}

/** Throws if the columns do not fit each other: then the daemon sent something that is not a tree. */
export function layOut(tree: Tree): TreeLayout {
  const size = tree.kinds.length, numbers = () => new Int32Array(size).fill(NONE);
  const made: TreeLayout = {size, leaves: 0, depth: 0, kinds: tree.kinds, features: numbers(), thresholds: new Float64Array(size),
    categories: numbers(), missingLeft: new Uint8Array(size), right: numbers(), parents: numbers(), depths: numbers(), firstLeaf: numbers(), endLeaf: numbers()};
  const open: number[] = []; // splits whose right part has not begun
  let split = 0, numeric = 0, category = 0, missing = 0, parent = NONE;
  for (let node = 0; node < size; ++node) {
    if (node > 0 && parent === NONE) throw new Error('the tree has nodes behind its end');
    made.parents[node] = parent;
    made.depths[node] = parent === NONE ? 0 : made.depths[parent]! + 1;
    made.depth = Math.max(made.depth, made.depths[node]!);
    made.firstLeaf[node] = made.leaves;
    const kind = tree.kinds[node]!;
    if (kind !== SplitKind.LEAF) {
      made.features[node] = tree.features[split++] ?? NONE;
      if (kind === SplitKind.NUMERIC) made.thresholds[node] = tree.thresholds[numeric++] ?? NaN;
      if (kind === SplitKind.CATEGORY) made.categories[node] = tree.categories[category++] ?? NONE;
      if (kind === SplitKind.NUMERIC || kind === SplitKind.CATEGORY) made.missingLeft[node] = tree.missingLeft[missing++] ? 1 : 0;
      open.push(node);
      parent = node;
      continue;
    }
    ++made.leaves;
    parent = open.pop() ?? NONE;
    if (parent !== NONE) made.right[parent] = node + 1;
  }
  if (size === 0 || parent !== NONE || split !== tree.features.length) throw new Error('the tree is not whole');
  for (let node = size - 1; node >= 0; --node) {
    made.endLeaf[node] = isLeaf(made, node) ? made.firstLeaf[node]! + 1 : made.endLeaf[made.right[node]!]!;
  }
  return made;
}

export function isLeaf(tree: TreeLayout, node: number): boolean {
  return tree.kinds[node] === SplitKind.LEAF;
}

/** Whether rows that meet the condition of `node`'s parent go to `node`. Meaningless for the root. */
export function isLeft(tree: TreeLayout, node: number): boolean {
  return tree.parents[node] === node - 1;
}

/** Whether a row that lacks `feature` can reach `node`. */
export function missingArrives(tree: TreeLayout, node: number, feature: number): boolean {
  for (let child = node, up = tree.parents[node]!; up !== NONE; child = up, up = tree.parents[up]!) {
    if (tree.features[up] !== feature) continue;
    const goesLeft = tree.kinds[up] === SplitKind.MISSING || tree.missingLeft[up] === 1;
    if (goesLeft !== isLeft(tree, child)) return false;
  }
  return true;
}

/** Nodes in drawing order: those whose every ancestor is in `open`. */
export function visibleNodes(tree: TreeLayout, open: ReadonlySet<number>): number[] {
  const nodes: number[] = [], ahead = [0];
  for (let node = ahead.pop(); node !== undefined; node = ahead.pop()) {
    nodes.push(node);
    if (!isLeaf(tree, node) && open.has(node)) ahead.push(tree.right[node]!, node + 1);
  }
  return nodes;
}

/** The splits above `depth`. */
export function splitsAbove(tree: TreeLayout, depth: number): Set<number> {
  const open = new Set<number>();
  for (let node = 0; node < tree.size; ++node) {
    if (tree.depths[node]! < depth && !isLeaf(tree, node)) open.add(node);
  }
  return open;
}
