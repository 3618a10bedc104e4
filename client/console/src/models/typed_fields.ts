// The fields of a row typed by hand, one text per feature: a number, or the code of a category. Empty means missing.

import type {Feature} from 'proto/schema_pb';
import {trimBlanks} from '../rows/csv';
import {encodeField, type EncodedField} from '../rows/encode';

/** The middle of a number's bounds, or the first of a category's values. */
export function startOf({type}: Feature): string {
  if (type.case === 'categorical') return '0';
  if (type.case !== 'numeric') return '';
  const {min, max, integer} = type.value, middle = min + (max - min) / 2;
  return String(integer ? Math.round(middle) : Number(middle.toPrecision(6)));
}

/** A field as the API takes it. */
export function encodeTyped(feature: Feature, text: string): EncodedField {
  if (text === '') return {value: NaN, note: 'missing'};
  return feature.type.case === 'categorical' ? {value: Number(text), note: 'none'} : encodeField(feature, trimBlanks(text));
}
