/** A command line gives descriptors, their limits and Go's flags as written, or an error that quotes them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readTls } from '../../../src/program/cli/ask';
import { EXPLAIN_OPTIONS } from '../../../src/program/cli/explain/explain';
import { readGoFlags } from '../../../src/program/cli/reference/go-flags';
import { readDescriptors } from '../../../src/program/cli/read-descriptor';
import { readOverrides } from '../../../src/program/cli/read-override';
import { readChoice, readWhole, UsageError } from '../../../src/program/cli/usage-error';
import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { grpcAuthorities } from '../../../src/configuration/settings/tls/trusted-authorities';
import { makeCertificates } from '../../support/servers/certificates';

describe('A descriptor', () => {
  test.each([
    ['a=b', [{ key: 'a', value: 'b' }]],
    [
      'a=b,c=d',
      [
        { key: 'a', value: 'b' },
        { key: 'c', value: 'd' },
      ],
    ],
    ['path=/x?y=z', [{ key: 'path', value: '/x?y=z' }]],
    ['a=', [{ key: 'a', value: '' }]],
    ['a=1\\,2', [{ key: 'a', value: '1,2' }]],
    ['a\\=b=c\\\\', [{ key: 'a=b', value: 'c\\' }]],
    ['name=Łódź', [{ key: 'name', value: toByteString('Łódź') }]],
    ['a=two\nlines', [{ key: 'a', value: 'two\nlines' }]],
  ])('%j is read', (text, entries) => {
    expect(readDescriptors('--descriptor', [text])).toEqual([entries]);
  });

  test.each([
    [[], '--descriptor is missing'],
    [[''], '--descriptor is empty'],
    [['=v'], 'has no key'],
    [['a=b,c'], '"c" has no value; write c=VALUE, or c= for an empty value'],
    [['user:ann'], '"user:ann" has no value; write user=ann, or user:ann= for an empty value'],
    [[Array.from({ length: ENTRIES_MAX + 1 }, () => 'a=b').join(',')], `a descriptor has at most ${ENTRIES_MAX}`],
    [Array.from({ length: DESCRIPTORS_MAX + 1 }, () => 'a=b'), `a request has at most ${DESCRIPTORS_MAX}`],
  ])('%#: an invalid descriptor is rejected', (texts, message) => {
    expect(() => readDescriptors('--descriptor', texts)).toThrow(UsageError);
    expect(() => readDescriptors('--descriptor', texts)).toThrow(message);
  });
});

describe('a limit of a descriptor', () => {
  const read = (args: readonly string[]) => readOverrides(parseArgs({ args: [...args], options: EXPLAIN_OPTIONS, tokens: true }).tokens);

  test('the limit belongs to the descriptor before it', () => {
    const args = ['--limit=7/day', '--descriptor', 'c=d', '--domain', 'd', '--descriptor', 'e=f', '--limit', '20/5minute'];
    expect(read(['--descriptor', 'a=b', ...args])).toEqual(
      new Map([
        [0, { requestsPerUnit: 7, unit: 'day', unitMultiplier: 1 }],
        [2, { requestsPerUnit: 20, unit: 'minute', unitMultiplier: 5 }],
      ]),
    );
  });

  test.each([
    [['--limit', '7/day'], 'has no --descriptor before it'],
    [['--descriptor', 'a=b', '--limit', '7/day', '--limit', '8/day'], 'is the second --limit'],
    [['--descriptor', 'a=b', '--limit', '7/eon'], '"7/eon" is not accepted; use 20/minute'],
    [['--descriptor', 'a=b', '--limit', '7'], '"7" is not accepted; use 20/minute'],
    [['--descriptor', 'a=b', '--limit', '4294967296/day'], 'requests_per_unit must be a whole number'],
    [['--descriptor', 'a=b', '--limit', '1/0day'], 'unit_multiplier must be a whole number'],
    [['--descriptor', 'a=b', '--limit', '1/101year'], 'makes a window of over 100 years'],
  ])('%j is rejected', (args, message) => {
    expect(() => read(args)).toThrow(UsageError);
    expect(() => read(args)).toThrow(message);
  });
});

describe("Go's flags", () => {
  const KINDS = { text: 'string', on: 'boolean', many: 'list' } as const;

  test.each([
    [[], { text: undefined, on: false, many: [] }],
    [['-text', 'a', '-on'], { text: 'a', on: true, many: [] }],
    [['--text=a=b', '--on=false'], { text: 'a=b', on: false, many: [] }],
    [['-many', '1', '-many=2', '-on=T'], { text: undefined, on: true, many: ['1', '2'] }],
    [['-text', '-on'], { text: '-on', on: false, many: [] }],
    [['-on', 'word', '-text', 'a'], { text: undefined, on: true, many: [] }],
    [['-on', '--', '-text', 'a'], { text: undefined, on: true, many: [] }],
    [['-text='], { text: '', on: false, many: [] }],
  ])('%j is read', (args, values) => {
    expect(readGoFlags(args, KINDS)).toEqual(values);
  });

  test.each([
    [['-other'], 'flag provided but not defined: -other'],
    [['-constructor', 'x'], 'flag provided but not defined: -constructor'],
    [['-text'], 'flag needs an argument: -text'],
    [['-on=maybe'], 'invalid boolean value "maybe" for -on'],
  ])('%j is rejected', (args, message) => {
    expect(() => readGoFlags(args, KINDS)).toThrow(message);
  });
});

test('one of several words and a number in a range are read', () => {
  expect(readChoice('--format', undefined, ['text', 'json'])).toBe('text');
  expect(readChoice('--format', 'json', ['text', 'json'])).toBe('json');
  expect(() => readChoice('--format', 'xml', ['text', 'json'])).toThrow('--format: "xml" is not accepted; use text, json');
  expect(readWhole('--cost', undefined, { min: 1, max: 9, otherwise: 3 })).toBe(3);
  expect(readWhole('--cost', '9', { min: 1, max: 9, otherwise: 3 })).toBe(9);
  for (const word of ['0', '10', '-1', '1.5', 'x', ''])
    expect(() => readWhole('--cost', word, { min: 1, max: 9, otherwise: 3 })).toThrow(UsageError);
});

describe('PEM files', () => {
  const { ca, client, server } = makeCertificates();
  const filesOf = (named: { readonly ca?: string; readonly cert?: string; readonly key?: string }) => ({
    ca: { name: '--ca', file: named.ca },
    cert: { name: '--cert', file: named.cert },
    key: { name: '--key', file: named.key },
  });

  test('a PEM file gives its certificates and keys', () => {
    const { authorities, certificate, key } = readTls(filesOf({ ca: ca.cert, cert: client.cert, key: client.key }));
    expect([authorities, certificate, key]).toEqual([ca.cert, client.cert, client.key].map((file) => readFileSync(file)));
  });

  test('without files no certificate is sent, and the authorities of the machine are trusted', () => {
    const { authorities, ...none } = readTls(filesOf({}));
    expect(none).toEqual({ certificate: undefined, key: undefined });
    // Which they are depends on the machine, and they are too long to print.
    const digest = (pem: Buffer | undefined) => pem && createHash('sha256').update(pem).digest('hex');
    expect(digest(authorities)).toBe(digest(grpcAuthorities()));
  });

  test.each([
    [{ cert: client.cert }, '--key: it is not set, but --cert is; set both or neither'],
    [{ ca: '/nowhere' }, "--ca: /nowhere can't be read (ENOENT); name a PEM file"],
    [
      { ca: client.key, cert: ca.cert, key: '/nowhere' },
      `--ca: ${client.key} holds no certificate; name a PEM file with one\n--key: /nowhere can't be read`,
    ],
    [{ cert: client.cert, key: server.key }, '--key: it is not the key of the certificate in --cert; name a matching pair'],
  ])('%j: every fault of the files is listed', (named, message) => {
    expect(() => readTls(filesOf(named))).toThrow(UsageError);
    expect(() => readTls(filesOf(named))).toThrow(message);
  });
});
