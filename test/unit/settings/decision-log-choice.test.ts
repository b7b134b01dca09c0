/** The decision log is off by default, and hashes need a secret that cannot be found by trying all. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chooseDecisionLog } from '../../../src/configuration/settings/decision-log-choice';
import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';

const SECRET = '0123456789abcdef';

let folder: string;
let file: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-secret-'));
  file = path.join(folder, 'secret');
  writeFileSync(file, `${SECRET}\n`);
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function choiceOf(env: Environment) {
  return chooseDecisionLog(readSettings(env));
}

test.each([
  [{}, undefined],
  [{ DECISION_LOG: 'OFF', DECISION_LOG_HASH_KEYS: 'client' }, undefined],
  [{ DECISION_LOG: 'stdout' }, { place: 'stdout' }],
  [{ DECISION_LOG: '/var/log/decisions' }, { place: { path: '/var/log/decisions' } }],
  [
    { DECISION_LOG: 'stdout', DECISION_LOG_HASH_KEYS: ' client,*', DECISION_LOG_HASH_SECRET: SECRET },
    { place: 'stdout', hashing: { keys: ['client', '*'], secret: SECRET } },
  ],
])('%j is %j', (env, choice) => {
  expect(choiceOf(env)).toEqual(choice);
});

test('a secret may be in a file, which ends with a line break', () => {
  const env = { DECISION_LOG: 'stdout', DECISION_LOG_HASH_KEYS: 'client', DECISION_LOG_HASH_SECRET_FILE: file };
  expect(choiceOf(env)?.hashing?.secret).toBe(SECRET);
  expect(() => choiceOf({ ...env, DECISION_LOG_HASH_SECRET: SECRET })).toThrow(/^DECISION_LOG_HASH_SECRET: .*set only one/m);
  expect(() => choiceOf({ ...env, DECISION_LOG_HASH_SECRET_FILE: folder })).toThrow(/_FILE: .* cannot be read: EISDIR/);
});

test('without a secret, or with a short one, values are not hashed badly: the start is refused, and shows no secret', () => {
  const env = { DECISION_LOG: 'stdout', DECISION_LOG_HASH_KEYS: 'client' };
  expect(() => choiceOf(env)).toThrow(/^DECISION_LOG_HASH_KEYS: hashes need a secret/m);
  expect(() => choiceOf({ ...env, DECISION_LOG_HASH_SECRET: SECRET.slice(1) })).toThrow(/^(?!.*12345).*fewer than 16 bytes/m);
});

test.each([
  { DECISION_LOG: 'decisions.log' },
  { DECISION_LOG: '/var/log/' },
  { DECISION_LOG_SAMPLE: '1.5' },
  { DECISION_LOG_ONLY: 'allowed' },
  { DECISION_LOG_FIELDS: 'code,client' },
  { DECISION_LOG_HASH_KEYS: 'client,' },
  { DECISION_LOG_FILES: '0' },
])('%j is refused', (env) => {
  expect(() => readSettings(env)).toThrow(Object.keys(env)[0]);
});

test('the fields are chosen in any case', () => {
  expect(readSettings({ DECISION_LOG_FIELDS: 'Code, rule' }).decisionLogFields).toEqual(['code', 'rule']);
});
