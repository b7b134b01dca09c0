/** CSV is read alike however its parts are cut, with the line of each record and a bound on its size. */

import { CsvReader, type CsvRecord } from '../../../../../src/program/cli/control/import/csv-reader';

function read(parts: readonly string[]): readonly CsvRecord[] {
  const reader = new CsvReader();
  return [...parts.flatMap((part) => [...reader.push(part)]), ...reader.end()];
}

const TEXT = 'tenant,plan\r\n"a, b",gold\n\n"say ""hi""","two\nlines"\nlast,\n"",x';

const RECORDS: readonly CsvRecord[] = [
  { line: 1, fields: ['tenant', 'plan'] },
  { line: 2, fields: ['a, b', 'gold'] },
  { line: 4, fields: ['say "hi"', 'two\nlines'] },
  { line: 6, fields: ['last', ''] },
  { line: 7, fields: ['', 'x'] },
];

test('quotes, commas and line feeds in quotes, empty lines and fields, each with the line where it begins', () => {
  expect(read([TEXT])).toEqual(RECORDS);
});

test('parts cut at any place are read as the whole', () => {
  for (let at = 0; at <= TEXT.length; at += 1) expect(read([TEXT.slice(0, at), TEXT.slice(at)])).toEqual(RECORDS);
  expect(read(Array.from(TEXT))).toEqual(RECORDS);
});

test.each([
  ['a quote in a field', 'a,b\nc"d,e\n', 'line 2: a quote inside of a field'],
  ['text after quotes', '"a"b,c\n', 'line 1: text after the closing quote'],
  ['no last quote', 'a,b\n"c,d\ne,f\n', 'line 2: the last quote is missing'],
  ['a record without an end', `a,b\n"${'x'.repeat(70_000)}`, 'line 2: the record has over 65536 characters'],
])('%s', (_, text, message) => {
  expect(() => read([text])).toThrow(message);
});
