import assert from 'node:assert/strict';
import {test} from 'node:test';
import * as format from './format';
import {cut, visible} from './text';

test('epsilons are exact', () => {
  for (const [nanos, text] of [[500_000_000n, '0.5'], [1n, '0.000000001'], [20_000_000_000n, '20'], [0n, '0'], [1_234_567_891n, '1.234567891']] as const) {
    assert.equal(format.epsilon(nanos), text);
  }
  assert.equal(format.parseEpsilon('1.234567891'), 1_234_567_891n);
  assert.equal(format.parseEpsilon(' 2 '), 2_000_000_000n);
  for (const text of ['', '0', '-1', '1e3', '1.0000000001', 'x', '1,5']) assert.equal(format.parseEpsilon(text), null, text);
});

test('deltas', () => {
  assert.equal(format.delta(0n), '0');
  assert.equal(format.delta(10n ** 12n), '1e−6');
  assert.equal(format.parseDelta('1e-6'), 10n ** 12n);
  for (const text of ['', '1', '-1e-9', 'x', '.', '1e-19', '0.0000000000000000009', '10e-1', '0x1', 'e-6', '1e-6 1', '+1e-6']) assert.equal(format.parseDelta(text), null, text);
});

test('a delta is never rounded up, and written as it is', () => {
  const cases: [string, bigint][] = [['1.9e-18', 1n], ['0.9999999999999999999', 999_999_999_999_999_999n], ['0.1234567890123456789', 123_456_789_012_345_678n],
    [' .5 ', 5n * 10n ** 17n], ['0.00001E1', 10n ** 14n], ['100e-4', 10n ** 16n], ['0.0', 0n], ['0e9', 0n], ['3e-6', 3n * 10n ** 12n]];
  for (const [text, atto] of cases) assert.equal(format.parseDelta(text), atto, text);
  for (const [atto, text] of [[1n, '1e−18'], [123_456_789_012_345_678n, '0.123456789012345678'], [12n * 10n ** 13n, '1.2e−4'], [10n ** 15n, '0.001']] as const) {
    assert.equal(format.delta(atto), text);
    assert.equal(format.parseDelta(text.replace('−', '-')), atto);
  }
});

test('counts', () => {
  assert.equal(format.count(12_345_678_901_234_567_890n), '12,345,678,901,234,567,890');
  assert.equal(format.countOf(1n, 'report'), '1 report');
  assert.equal(format.countOf(0, 'leaf', 'leaves'), '0 leaves');
  assert.equal(format.parseCount('10,000'), 10_000);
  for (const text of ['', '-1', '1.5', 'x', '99999999999999999']) assert.equal(format.parseCount(text), null, text);
  assert.equal(format.parseCount('5', 6), null);
});

test('numbers that are none are said so', () => {
  assert.equal(format.decimal(undefined), '–');
  assert.equal(format.decimal(-0.1239), '−0.124');
  assert.equal(format.decimal(Infinity), '∞');
  assert.equal(format.signedDecimal(0.5), '+0.500');
  assert.equal(format.significant(1234567), '1235000');
  assert.equal(format.percent(0.2834), '28.3 %');
});

test('durations and times', () => {
  assert.equal(format.duration(93_784), '1 day 2 h');
  assert.equal(format.duration(59.6), '1 min');
  assert.equal(format.duration(0.2), 'less than a second');
  assert.equal(format.relative(1000, 1180), '3 min ago');
  assert.equal(format.relative(100_000n, 10_000), 'in 1 day');
  assert.equal(format.time(0), '–');
});

test('sizes', () => {
  assert.equal(format.bytes(999n), '999 bytes');
  assert.equal(format.bytes(1_234_567), '1.23 MB');
  assert.equal(format.hex(new Uint8Array([0, 255, 16]), 2), '00ff…');
});

test('what cannot be seen is shown', () => {
  assert.equal(visible('a\u202eb\u0000c\u200b'), 'a\\u{202e}b\\u{0}c\\u{200b}');
  assert.equal(visible('\u034f\u180b\u{1d173}'), '\\u{34f}\\u{180b}\\u{1d173}');
  assert.equal(visible('\ud800'), '\\u{d800}');
  assert.equal(visible('größer – 日本 👍'), 'größer – 日本 👍');
});

test('text is cut between characters', () => {
  assert.equal(cut('abcdef', 4), 'abc…');
  assert.equal(cut('a👍b', 3), 'a…');
  assert.equal(cut('abc', 3), 'abc');
});
