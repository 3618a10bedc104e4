// The parameters of algorithms: what they accept, and whether a text fits.

import {type Algorithm, type Parameter, ParameterType} from 'proto/training_pb';
import {Neighbours, NeighboursSchema, type Dataset} from 'proto/dataset_pb';
import {wordOf} from '../parts/enums';
import {plain} from '../parts/format';

export type Settings = Readonly<Record<string, string>>;

/** What was typed for a parameter, whatever its name is; '' if nothing was. */
export function textOf(texts: Settings, name: string): string {
  return Object.hasOwn(texts, name) ? texts[name]! : '';
}

/** "a whole number from 1 to 64". */
export function rangeText({type, min, max, choices}: Parameter): string {
  if (type === ParameterType.CHOICE) return `one of ${choices.join(', ')}`;
  return `a ${type === ParameterType.INTEGER ? 'whole number' : 'number'} from ${plain(min)} to ${plain(max)}`;
}

/** What is wrong with a value, or null. Empty: the default. */
export function problemOf(parameter: Parameter, text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const {type, min, max, choices} = parameter;
  if (type === ParameterType.CHOICE) return choices.includes(trimmed) ? null : `It must be ${rangeText(parameter)}.`;
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : NaN;
  const isWhole = type !== ParameterType.INTEGER || Number.isInteger(number);
  return number >= min && number <= max && isWhole ? null : `It must be ${rangeText(parameter)}.`;
}

/** The settings of a job: what was typed, without the empty fields, which keep their defaults. */
export function settingsOf(algorithm: Algorithm, texts: Settings): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const {name} of algorithm.parameters) {
    const text = textOf(texts, name).trim();
    if (text !== '') settings[name] = text;
  }
  return settings;
}

export function hasProblem(algorithm: Algorithm, texts: Settings): boolean {
  return algorithm.parameters.some(parameter => problemOf(parameter, textOf(texts, parameter.name)) !== null);
}

/** Why an algorithm cannot be trained on a dataset, or null. */
export function misfitOf(algorithm: Algorithm, dataset: Dataset): string | null {
  const isRegression = dataset.schema?.target !== undefined;
  if (isRegression && !algorithm.regression) return 'it predicts classes alone';
  if (!isRegression && !algorithm.classification) return 'it predicts numbers alone';
  const relation = dataset.cap?.neighbours ?? Neighbours.UNSPECIFIED;
  if (algorithm.neighbours !== relation) return `its guarantee is about another relation: ${wordOf(NeighboursSchema, algorithm.neighbours)}`;
  return null;
}
