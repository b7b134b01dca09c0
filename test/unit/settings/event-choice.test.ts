/** Events need a receiver and a secret that cannot be found by trying all. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chooseEvents } from '../../../src/configuration/settings/event-choice';
import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';

const SECRET = 'a secret of at least 24 bytes';
const ENCODED = `whsec_${Buffer.from(SECRET).toString('base64')}`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-events-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function fileWith(text: string): string {
  const file = path.join(folder, 'secret');
  writeFileSync(file, text);
  return file;
}

const choiceOf = (env: Environment) => chooseEvents(readSettings(env));
const choiceWith = (text: string, more: Environment = {}) =>
  choiceOf({ EVENTS_URL: 'https://hooks.example/a?b=c', EVENTS_SECRET_FILE: fileWith(text), ...more });

test('without EVENTS_URL there are none', () => {
  expect(choiceOf({})).toBeUndefined();
});

test.each([
  [`${SECRET}\n`, [SECRET]],
  [`${ENCODED}\r\n${SECRET}\n\n`, [ENCODED, SECRET]],
])('the file %j has the secrets %j', (text, secrets) => {
  expect(choiceWith(text)).toEqual({ url: 'https://hooks.example/a?b=c', secrets, hashing: undefined });
});

test('values are hashed as in the decision log, whether it is on or not', () => {
  const hashing = { DECISION_LOG_HASH_KEYS: 'client', DECISION_LOG_HASH_SECRET: '0123456789abcdef' };
  expect(choiceWith(SECRET, hashing)?.hashing).toEqual({ keys: ['client'], secret: '0123456789abcdef' });
  expect(() => choiceWith(SECRET, { DECISION_LOG_HASH_KEYS: 'client' })).toThrow(/^DECISION_LOG_HASH_KEYS: hashes need a secret/m);
});

test.each([
  ['', /^EVENTS_SECRET_FILE: .* has 0 secrets/m],
  [`${SECRET}\n${SECRET}\n${SECRET}\n`, /^EVENTS_SECRET_FILE: .* has 3 secrets/m],
  ['short', /^EVENTS_SECRET_FILE: a secret has fewer than 24 bytes/m],
  ['whsec_c2hvcnQ=', /^EVENTS_SECRET_FILE: a secret has fewer than 24 bytes/m],
  [`whsec_${SECRET}`, /^EVENTS_SECRET_FILE: a secret is not Base64 after whsec_/m],
])('the file %j is refused, and its secret is not shown', (text, message) => {
  expect(() => choiceWith(text)).toThrow(message);
  expect(() => choiceWith(text)).not.toThrow(text === '' ? /^$/ : new RegExp(text.trim().split('\n')[0]!));
});

test('a secret alone, a URL alone, and a file that is none are refused', () => {
  expect(() => choiceOf({ EVENTS_SECRET_FILE: fileWith(SECRET) })).toThrow(/^EVENTS_SECRET_FILE: it has no effect without EVENTS_URL/m);
  expect(() => choiceOf({ EVENTS_URL: 'https://hooks.example/' })).toThrow(/^EVENTS_URL: events need a secret/m);
  expect(() => choiceOf({ EVENTS_URL: 'https://hooks.example/', EVENTS_SECRET_FILE: folder })).toThrow(/cannot be read: EISDIR/);
});

test.each(['ftp://hooks.example/', 'https://user:pass@hooks.example/', 'hooks.example', 'https://hooks.example/#part', 'https://'])(
  'the URL %s is refused, and not shown',
  (url) => {
    const start = () => choiceOf({ EVENTS_URL: url, EVENTS_SECRET_FILE: fileWith(SECRET) });
    expect(start).toThrow(/^EVENTS_URL/m);
    expect(start).not.toThrow(/hooks/);
  },
);
