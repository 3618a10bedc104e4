// The row that a user tries: what was typed, and what the daemon answers.

import {useMemo, useState} from 'preact/hooks';
import type {Explanation, Prediction} from 'proto/model_pb';
import type {Schema} from 'proto/schema_pb';
import {models} from '../api/clients';
import {useAction, type Action} from '../api/load';
import {InputError} from '../rows/errors';
import {encodeTyped, startOf} from './typed_fields';

/** What was typed for a numeric feature, or the code of a category as text. Empty means missing. */
export type Fields = readonly string[];

export interface Tried {
  fields: Fields;
  prediction: Prediction;
  explanation: Explanation;
  classes: readonly string[];
}

export interface TriedRow {
  fields: Fields;
  setField: (feature: number, text: string) => void;
  setFields: (fields: Fields) => void;
  /** Features whose fields cannot be read. */
  unreadable: readonly number[];
  predict: Action<[]>;
  /** The last answer; the fields may have changed since. */
  answer: Tried | null;
}

export function useTriedRow(id: string, schema: Schema): TriedRow {
  const [fields, setFields] = useState<Fields>(() => schema.features.map(startOf));
  const [answer, setAnswer] = useState<Tried | null>(null);
  const predict = useAction(async signal => {
    const values = schema.features.map((feature, i) => encodeTyped(feature, fields[i]!).value);
    const {predictions, explanations, classes} = await models.predict({name: `models/${id}`, rows: [{values}], explain: true}, {signal});
    const prediction = predictions[0], explanation = explanations[0];
    if (prediction === undefined || explanation === undefined) throw new InputError('The daemon answered without a prediction.');
    setAnswer({fields, prediction, explanation, classes});
  });
  const unreadable = useMemo(() => schema.features.flatMap((feature, i) => encodeTyped(feature, fields[i]!).note === 'unreadable' ? [i] : []), [schema, fields]);
  const setField = (feature: number, text: string) => setFields(before => before.map((each, i) => i === feature ? text : each));
  return {fields, setField, setFields, unreadable, predict, answer};
}
