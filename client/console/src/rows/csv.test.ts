import assert from 'node:assert/strict';
import {test} from 'node:test';
import {CsvReader, findDelimiter, type Delimiter} from './csv';

function read(text: string, {delimiter = '' as Delimiter, piece = Infinity} = {}) {
  const rows: string[][] = [], lines: number[] = [];
  const reader = new CsvReader(delimiter, {
    onHeader: (names, line) => { rows.push(names); lines.push(line); },
    onRow: (fields, line) => { rows.push(fields); lines.push(line); },
  });
  for (let i = 0; i < text.length; i += piece) reader.add(text.slice(i, i + piece));
  reader.finish();
  return {rows, lines};
}

const CASES: [string, string, string[][]][] = [
  ['plain', 'a,b\n1,2\n3,4\n', [['a', 'b'], ['1', '2'], ['3', '4']]],
  ['no line end at the end', 'a,b\n1,2', [['a', 'b'], ['1', '2']]],
  ['CRLF and empty lines', '\r\n\r\na;b\r\n\r\n1;2\r\n  \r\n', [['a', 'b'], ['1', '2']]],
  ['blanks around', ' a ,\tb \n 1 2 ,3 \n', [['a', 'b'], ['1 2', '3']]],
  ['quotes', '"a","b"\n"1,5" , " x ""y"" "\n', [['a', 'b'], ['1,5', ' x "y" ']]],
  ['lines in quotes', 'a,b\n"1\r\n2",3\n', [['a', 'b'], ['1\r\n2', '3']]],
  ['empty fields', 'a,b,c\n,,\n"",1,\n', [['a', 'b', 'c'], ['', '', ''], ['', '1', '']]],
  ['an empty last field at the end', 'a,b\n1,', [['a', 'b'], ['1', '']]],
  ['tabs', 'a\tb\n1\t\n', [['a', 'b'], ['1', '']]],
];

for (const [name, text, expected] of CASES) {
  test(`reads ${name}, whole and in pieces`, () => {
    for (const piece of [Infinity, 1, 2, 3, 7]) assert.deepEqual(read(text, {piece}).rows, expected, `pieces of ${piece}`);
  });
}

test('says on which line a row begins', () => {
  assert.deepEqual(read('a,b\n\n"1\n2",3\n4,5\n').lines, [1, 3, 5]);
});

test('finds the delimiter in the header alone, and not in quotes', () => {
  assert.equal(findDelimiter('"a,b,c";d;e\n1,2,3,4'), ';');
  assert.equal(findDelimiter('a'), ',');
  assert.deepEqual(read('\u00a0\na;b\n').rows, [['\u00a0'], ['a;b']]);
});

const WRONG: [string, RegExp][] = [
  ['a,b\n1,"2\n3', /^line 2: a quoted field that starts here is never closed: close the quote of column "b"$/],
  ['a,b\n1,2"3\n', /^line 2: a quote inside a field must be doubled/],
  ['a,b\n"1"2,3\n', /^line 2: a quote inside a field must be doubled/],
  ['a,b\n"1" "2",3\n', /^line 2: a quote inside a field must be doubled/],
  ['a,b\n"1\n2"3,4\n', /^line 2: a quoted field that starts here goes on to a quote on line 3/],
  ['', /the file is empty/],
  [' \n\n', /the file is empty/],
  [`a,b\n"${'x'.repeat(1 << 21)}`, /^line 2: a field has more than 1048576 characters; is a quote left open\? See column "a"/],
];

test('refuses what is no CSV, with line and column', () => {
  for (const [text, error] of WRONG) {
    for (const piece of text.length > 100 ? [65536] : [Infinity, 1]) assert.throws(() => read(text, {piece}), {message: error}, JSON.stringify(text.slice(0, 40)));
  }
});
