/** Texts of callers reach the terminal without control characters. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { refusalOf } from '../../../../src/program/cli/admin/admin-error';
import { readConnection } from '../../../../src/program/cli/admin/connection';
import { printable } from '../../../../src/program/cli/admin/printable';
import { readDescriptorText, readSelector, showEntries } from '../../../../src/program/cli/control/values/entries-text';
import { readLimit, showLimit } from '../../../../src/program/cli/control/values/limit-text';
import { readPages } from '../../../../src/program/cli/control/values/pages';
import { fieldList, textTable } from '../../../../src/program/cli/control/values/text-table';
import { readUntil, showDuration, showTime } from '../../../../src/program/cli/control/values/until';
import { UsageError } from '../../../../src/program/cli/usage-error';

const NOW = Date.parse('2026-11-23T12:00:00Z');

describe('An end', () => {
  test.each([
    ['90s', '2026-11-23T12:01:30.000Z'],
    ['90m', '2026-11-23T13:30:00.000Z'],
    ['1d12h', '2026-11-25T00:00:00.000Z'],
    ['2w', '2026-12-07T12:00:00.000Z'],
    ['2026-11-27T18:00:00Z', '2026-11-27T18:00:00.000Z'],
    ['2026-11-27T18:00+02:00', '2026-11-27T16:00:00.000Z'],
    ['2028-02-29T00:00:00.5Z', '2028-02-29T00:00:00.500Z'],
  ])('%s', (text, expected) => {
    expect(readUntil(text, NOW)).toBe(expected);
  });

  test.each([
    ['friday', 'is not accepted'],
    ['2026-11-27', 'is not accepted'],
    ['2026-11-27T18:00:00', 'is not accepted'],
    ['2027-02-29T00:00:00Z', 'is not accepted'],
    ['2026-11-31T00:00:00Z', 'is not accepted'],
    ['2026-13-01T00:00:00Z', 'is not accepted'],
    ['', 'is not accepted'],
    ['1.5h', 'is not accepted'],
    ['0s', 'is not in the future'],
    ['2026-11-23T12:00:00Z', 'is not in the future'],
    ['999999999w', 'days ahead'],
    ['9999-01-01T00:00:00Z', 'days ahead'],
  ])('%j is refused', (text, fault) => {
    expect(() => readUntil(text, NOW)).toThrow(UsageError);
    expect(() => readUntil(text, NOW)).toThrow(fault);
  });

  test.each([
    [0, '0ms'],
    [999, '999ms'],
    [61_000, '1m 1s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [90_000_000, '1d 1h'],
    [30 * 86_400_000, '30d'],
  ])('%d ms are %s', (durationMs, expected) => {
    expect(showDuration(durationMs)).toBe(expected);
  });

  test('is shown with its distance from now', () => {
    expect(showTime('2026-11-27T12:00:00.000Z', NOW)).toBe('2026-11-27T12:00:00Z (in 4d)');
    expect(showTime('2026-11-23T11:00:00.123Z', NOW)).toBe('2026-11-23T11:00:00Z (59m 59s ago)');
    expect(showTime('2026-11-23T12:00:00.900Z', NOW)).toBe('2026-11-23T12:00:00Z (now)');
  });
});

describe('A limit', () => {
  test.each([
    ['300/minute', { requests_per_unit: 300, unit: 'minute' }],
    ['0/day', { requests_per_unit: 0, unit: 'day' }],
    ['20/5minute+50', { requests_per_unit: 20, unit: 'minute', unit_multiplier: 5, burst: 50 }],
    ['per merchant=1/second', { name: 'per merchant', requests_per_unit: 1, unit: 'second' }],
    ['a=b=1/second+0', { name: 'a=b', requests_per_unit: 1, unit: 'second', burst: 0 }],
  ])('%s is read, and shown as it was written', (text, expected) => {
    expect(readLimit(text)).toEqual(expected);
    expect(showLimit(readLimit(text))).toBe(text);
  });

  test.each(['', '300', '300/fortnight', '-1/minute', '1/minute+', '99999999999999999/minute', '=1/minute'])('%j is refused', (text) => {
    expect(() => readLimit(text)).toThrow(UsageError);
  });
});

describe('Entries', () => {
  test.each([
    ['merchant=42', [{ key: 'merchant', value: '42' }]],
    ['merchant', [{ key: 'merchant' }]],
    ['merchant=,path', [{ key: 'merchant', value: '' }, { key: 'path' }]],
    ['path=/x?y=z', [{ key: 'path', value: '/x?y=z' }]],
    ['a\\=b=1\\,2\\\\', [{ key: 'a=b', value: '1,2\\' }]],
    ['name=Łódź', [{ key: 'name', value: 'Łódź' }]],
  ])('%s selects, and is shown as it was written', (text, entries) => {
    expect(readSelector(text)).toEqual(entries);
    expect(showEntries(entries)).toBe(text);
  });

  test('a selector needs a key, an entry of a descriptor a value', () => {
    expect(() => readSelector('=1')).toThrow('has no key');
    expect(() => readDescriptorText('merchant')).toThrow('has no value');
    expect(readDescriptorText('name=Łódź')).toEqual([{ key: 'name', value: 'Łódź' }]);
  });
});

describe('What is shown', () => {
  test('has nothing that a terminal obeys', () => {
    expect(printable('a\u001b[31m\r\n\u009b\u202eb')).toBe('a\\u001b[31m\\u000d\\u000a\\u009b\\u202eb');
    expect(textTable(['KEY'], [['\u001b]0;x\u0007']])).toBe('KEY\n\\u001b]0;x\\u0007');
    expect(fieldList([['key', '\u001b']])).toBe('  key  \\u001b');
  });

  test('is a table whose columns are as wide as their longest cell, with numbers at the right', () => {
    expect(
      textTable(
        ['ID', 'HITS', 'WHY'],
        [
          ['a', 5, undefined],
          ['long', 1000, 'x'.repeat(200)],
        ],
      ),
    ).toBe(['ID    HITS  WHY', 'a        5  -', `long  1000  ${'x'.repeat(119)}…`].join('\n'));
  });
});

describe('A list', () => {
  const pages = [{ items: [1, 2], next: 'a' }, { items: [], next: 'b' }, { items: [3] }];
  const read = () => {
    const asked: unknown[] = [];
    return { asked, page: (query: object) => Promise.resolve(pages[asked.push(query) - 1]!) };
  };

  test('goes on to its last page, over pages that are empty', async () => {
    const { asked, page } = read();
    expect(await readPages(undefined, page)).toEqual({ items: [1, 2, 3], hasMore: false });
    expect(asked).toEqual([{ limit: 1000 }, { limit: 998, cursor: 'a' }, { limit: 998, cursor: 'b' }]);
  });

  test('ends after --count items, and says that there are more', async () => {
    const { asked, page } = read();
    expect(await readPages('1', page)).toEqual({ items: [1], hasMore: true });
    expect(asked).toEqual([{ limit: 1 }]);
    await expect(readPages('0', page)).rejects.toThrow(UsageError);
  });
});

describe('A refusal', () => {
  test.each([
    [
      { detail: 'x', errors: [{ field: 'body/until', problem: 'must be in the future' }] },
      'refused with 400: --until: must be in the future',
    ],
    [{ detail: 'x', errors: [{ field: 'body/limits/0/unit', problem: 'bad' }] }, 'refused with 400: --limit (0/unit): bad'],
    [
      {
        detail: 'x',
        errors: [
          { field: 'path/id', problem: 'bad' },
          { field: 'body/y', problem: 'bad' },
        ],
      },
      'refused with 400: ID: bad; body/y: bad',
    ],
    [{ title: 'Broken', detail: 'a \u001b[2J' }, 'refused with 400: a \\u001b[2J'],
  ])('%j names the option', (problem, expected) => {
    expect(refusalOf(400, JSON.stringify(problem), ['until', 'limit']).message).toBe(expected);
  });

  test('of another server says so', () => {
    expect(refusalOf(502, '<html>', []).message).toContain('is not of Weir');
  });
});

describe('A connection', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'weir-connection-'));
    for (const [name, text] of Object.entries({ good: 'abc\n', two: 'abc def', empty: '\n' })) writeFileSync(path.join(folder, name), text);
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const url = 'http://localhost:8090';

  test('is of the options, then of the environment', () => {
    const env = { WEIR_ADMIN_URL: 'http://other:1', WEIR_ADMIN_TOKEN_FILE: path.join(folder, 'good') };
    expect(readConnection({ url: 'https://weir:2/admin', timeout: '1s' }, env)).toMatchObject({ token: 'abc', timeoutMs: 1_000 });
    expect(readConnection({ url: 'https://weir:2/admin' }, env).url.href).toBe('https://weir:2/admin');
    expect(readConnection({}, env).url.href).toBe('http://other:1/');
  });

  test('warns of a token in clear text, except on this machine', () => {
    const WEIR_ADMIN_TOKEN_FILE = path.join(folder, 'good');
    expect(readConnection({ url: 'http://weir:1' }, { WEIR_ADMIN_TOKEN_FILE }).warning).toContain('clear text');
    for (const own of ['http://localhost:1', 'http://127.0.0.2:1', 'http://[::1]:1', 'https://weir:1'])
      expect(readConnection({ url: own }, { WEIR_ADMIN_TOKEN_FILE }).warning).toBeUndefined();
    expect(readConnection({ url: 'http://weir:1' }, {}).warning).toBeUndefined();
  });

  test.each([
    [{}, 'WEIR_ADMIN_URL is not set'],
    [{ url: 'localhost:8090' }, 'is not accepted'],
    [{ url: 'http://ann:secret@weir:1' }, 'without user'],
    [{ url, 'token-file': 'none' }, "can't be read"],
    [{ url, 'token-file': 'two' }, 'holds no token'],
    [{ url, 'token-file': 'empty' }, 'holds no token'],
    [{ url, ca: 'two' }, '--ca'],
    [{ url, timeout: '1' }, '--timeout'],
  ])('%j is refused', (values, fault) => {
    const inFolder = Object.entries(values).map(([name, value]) => [name, /file|ca/.test(name) ? path.join(folder, value) : value]);
    const read = () => readConnection(Object.fromEntries(inFolder) as Record<string, string>, {});
    expect(read).toThrow(UsageError);
    expect(read).toThrow(fault);
    expect(read).not.toThrow('secret');
  });
});
