// What a split asks, in the words of `coppice model show`.

import {SplitKind, type Forest} from 'proto/forest_pb';
import type {DerivedFeature} from 'proto/model_pb';
import type {Schema} from 'proto/schema_pb';
import {cut} from '../parts/text';
import {ReadableCuts, readableNumber, type NumericRange} from './cuts';
import {missingArrives, type TreeLayout} from './layout';

/** What is known of a feature that trees split. */
export interface TreeFeature {
  name: string;
  unit: string;
  /** The values of a categorical feature. */
  values: readonly string[] | null;
  range: NumericRange | null;
}

/** The schema's features, followed by the derived ones. */
export function treeFeatures(schema: Schema, derived: readonly DerivedFeature[] = []): TreeFeature[] {
  const features = schema.features.map(({name, type}): TreeFeature => {
    if (type.case === 'categorical') return {name, unit: '', values: type.value.values, range: null};
    if (type.case === 'numeric') return {name, unit: type.value.unit, values: null, range: type.value};
    return {name, unit: '', values: null, range: null};
  });
  const made = derived.map(({features: parts, minus}): TreeFeature => {
    const terms = parts.map((part, i) => `${i === 0 ? (minus[i] ? '−' : '') : minus[i] ? ' − ' : ' + '}${features[part]?.name ?? '?'}`);
    const low = -minus.filter(Boolean).length;
    return {name: `scaled ${terms.join('')}`, unit: '', values: null, range: {min: low, max: parts.length + low, integer: false}};
  });
  return [...features, ...made];
}

// The comparison must fit in the row, however long the name is.
const MOST_OF_NAME = 60;

export class Questions {
  readonly #cuts: ReadableCuts;

  constructor(forest: Forest, private readonly features: readonly TreeFeature[]) {
    this.#cuts = new ReadableCuts(forest, feature => features[feature]?.range ?? null);
  }

  /** "age < 37.5 years or missing". Empty for a leaf. */
  of(tree: TreeLayout, node: number): string {
    const number = tree.features[node]!, feature = this.features[number];
    const name = cut(feature?.name ?? `feature ${number}`, MOST_OF_NAME);
    switch (tree.kinds[node]) {
      case SplitKind.NUMERIC: {
        const limit = this.#cuts.of(number, tree.thresholds[node]!);
        const unit = feature?.unit ? ` ${feature.unit}` : '';
        return `${name} ${limit.inclusive ? '<=' : '<'} ${readableNumber(limit.number)}${unit}${orMissing(tree, node)}`;
      }
      case SplitKind.CATEGORY: {
        const value = feature?.values?.[tree.categories[node]!];
        return `${name} ${value === undefined ? 'is not in the schema' : `= ${cut(value, MOST_OF_NAME)}`}${orMissing(tree, node)}`;
      }
      case SplitKind.MISSING:
        return `${name} is missing`;
      default:
        return '';
    }
  }
}

function orMissing(tree: TreeLayout, node: number): string {
  return tree.missingLeft[node] === 1 && missingArrives(tree, node, tree.features[node]!) ? ' or missing' : '';
}
