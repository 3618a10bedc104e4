import assert from 'node:assert/strict';
import {test} from 'node:test';
import {parseCount} from './format';
import {parseNumbers} from './number_list';

const parse = (text: string) => parseNumbers(text, {what: 'numbers of devices', most: 3, parse: part => parseCount(part, 1, 1e12)});

test('commas separate numbers, with a blank or without', () => {
  for (const text of ['1000,2000', '1000, 2000', ' 1000 2000 ', '1000;2000,', '1000 , 2000']) {
    assert.deepEqual(parse(text), {values: [1000, 2000], problem: null}, text);
  }
  assert.deepEqual(parse('500, 100,2000').values, [500, 100, 2000]);
});

test('a comma that may stand between thousands is refused', () => {
  for (const [text, quoted] of [['10,000', '10,000'], ['5 10,000', '10,000'], ['1000,20,100', '20,100'], ['1,000,000; 7', '1,000,000'], ['10,000, 20', '10,000']] as const) {
    assert.deepEqual(parse(text), {values: null, problem: `"${quoted}" may be one number or several: leave the comma out, or put a blank after it.`}, text);
  }
});

test('what does not fit is named', () => {
  assert.equal(parse(' , ').problem, 'Give 1 to 3 numbers of devices, by commas.');
  assert.equal(parse('1 2 3 4').problem, 'These are 4 numbers: give at most 3 numbers of devices.');
  for (const part of ['0', '1.5', 'x', '2000000000000']) assert.equal(parse(`7, ${part}`).problem, `"${part}" does not fit: give 1 to 3 numbers of devices, by commas.`);
  assert.match(parse('\u202e1').problem!, /^"\\u\{202e\}1" does not fit/);
});
