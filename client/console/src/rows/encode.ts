// Encodes a table's fields for the API (Row in schema.proto), by the rules of common/schema/schema.cc.

import type {Feature, Schema} from 'proto/schema_pb';

export type FieldNote = 'none' | 'missing' | 'clamped' | 'rounded' | 'unknown' | 'unreadable';

export interface EncodedField {
  /** NaN for a missing value. */
  value: number;
  note: FieldNote;
}

const MISSING: EncodedField = {value: NaN, note: 'missing'};
const UNREADABLE: EncodedField = {value: NaN, note: 'unreadable'};
// Blanks are those of ASCII alone, from tab to carriage return and the space.
const NUMBER = /^[\t-\r ]*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?[\t-\r ]*$/i;

/** A finite decimal number, or null: what ParseFinite() of common/schema/number.cc takes. */
export function parseFinite(text: string): number | null {
  if (!NUMBER.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value + 0 : null; // -0 becomes 0
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

/** Rounds halves away from zero. */
function round(value: number): number {
  return value < 0 ? -Math.round(-value) + 0 : Math.round(value);
}

/** Returns an encoder of one feature's fields; made once per table. */
export function fieldEncoder(feature: Feature): (text: string) => EncodedField {
  const {type} = feature;
  if (type.case === 'categorical') {
    const codes = new Map(type.value.values.map((value, code) => [value, code]));
    return text => {
      if (text === '') return MISSING;
      const code = codes.get(text);
      return code === undefined ? {value: codes.size, note: 'unknown'} : {value: code, note: 'none'};
    };
  }
  if (type.case !== 'numeric') throw new Error(`feature "${feature.name}" is neither numeric nor categorical`);
  const {min, max, integer} = type.value;
  return text => {
    if (text === '') return MISSING;
    const number = parseFinite(text);
    if (number === null) return UNREADABLE;
    const inside = clamp(number, min, max);
    if (inside !== number) return {value: inside, note: 'clamped'};
    return !integer || Number.isInteger(number) ? {value: number, note: 'none'} : {value: round(number), note: 'rounded'};
  };
}

/** Encodes one field that was typed by hand. */
export function encodeField(feature: Feature, text: string): EncodedField {
  return fieldEncoder(feature)(text);
}

/** The class of a label's text, or -1. */
export function classEncoder(schema: Schema): (text: string) => number {
  const codes = new Map(schema.classes.map((name, code) => [name, code]));
  return text => codes.get(text) ?? -1;
}

export function encodeTarget(schema: Schema, text: string): EncodedField {
  const number = parseFinite(text);
  if (number === null || schema.target === undefined) return UNREADABLE;
  const inside = clamp(number, schema.target.min, schema.target.max);
  return {value: inside, note: inside === number ? 'none' : 'clamped'};
}

/** The value of a feature in words: "37.5 mmHg", "clerk", "other", "missing". */
export function valueText(feature: Feature, value: number): string {
  if (Number.isNaN(value)) return 'missing';
  if (feature.type.case === 'categorical') return feature.type.value.values[value] ?? 'other';
  const unit = feature.type.case === 'numeric' ? feature.type.value.unit : '';
  return unit === '' ? String(value) : `${value} ${unit}`;
}
