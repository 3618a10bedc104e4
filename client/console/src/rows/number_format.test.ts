import assert from 'node:assert/strict';
import {test} from 'node:test';
import {formatText, parseNumberFormat, plainNumber, type NumberFormat} from './number_format';

const read = (text: string, format: string) => plainNumber(text, parseNumberFormat(format) as NumberFormat) ?? 'none';

// The cases of tests/common/table/number_format_test.cc.
const READ: [string, string, string][] = [
  ['1,234,567.25', '1,234.5', '1234567.25'], ['675', '$1,234.5', '675.0'], [' -1,000 ', '1,234.5', '-1000.0'], ['1234.5', '1,234.5', '1234.5'],
  ['1\u202f234\u00a0567,5', '1 234,5', '1234567.5'], ['\u22121\u2019234.5', '1\'234.5', '-1234.5'],
  ['$1,200.50', '$1,234.5', '1200.50'], ['-$5', '$1,234.5', '-5.0'], ['$ -5', '$1,234.5', '-5.0'], ['5', '$1,234.5', '5.0'], ['€5', '$1,234.5', 'none'],
  ['5 EUR', '1.234,5 EUR', '5.0'], ['EUR 5', '1.234,5 EUR', 'none'], ['45 %', '1234.5%', '45.0'], ['0.45', '1234.5%', 'none'], [',5', '1.234,5', '0.5'],
];

test('reads numbers as they are written', () => {
  for (const [text, format, number] of READ) assert.equal(read(text, format), number, `${text} as ${format}`);
  for (const wrong of ['1,23', '1,2345', ',123', '1,,234', '1,234,56', '12,34.5', '1.234,5', '1,234.', '', '-', ',', '.', '1,234.5.6', '1 234', '1e5', '0x10']) {
    assert.equal(read(wrong, '1,234.5'), 'none', wrong);
  }
});

test('a format is written as it is read', () => {
  for (const text of ['1,234.5', '$1,234.5', '1.234,5 EUR', '1234.5%', 'US$1\'234.5']) assert.equal(formatText(parseNumberFormat(text) as NumberFormat), text);
  for (const wrong of ['', '$', '1,234.56', '-1,234.5', '1,234.5 1,234.5', '5 1,234.5', '1,234.5 of a rather long unit']) {
    assert.match(parseNumberFormat(wrong) as string, /^a number format is how 1234\.5 is written/, wrong);
  }
});
