/** Texts of keys are short and printable, and differ for different entries. */

import { toByteString } from '../../../src/domain/descriptor/byte-string';
import type { Entry } from '../../../src/domain/descriptor/descriptor';
import { sharedEntry } from '../../../src/domain/bucket/bucket-key';
import { readDescriptors } from '../../../src/program/cli/read-descriptor';
import { KeyForm, type KeyFormInput } from '../../../src/state/top/key-text';
import { TOP_TEXT_BYTES_MAX } from '../../../src/state/top/top-keys';
import { randomFrom, seeded, type Random } from '../../support/random/random';

function entriesOf(...pairs: readonly (readonly [string, string])[]): Entry[] {
  return pairs.map(([key, value]) => ({ key: toByteString(key), value: toByteString(value) }));
}

function textOf(input: KeyFormInput): string {
  const form = new KeyForm(input);
  return form.textOf(form.keyOf(input.entries));
}

test.each([
  ['one value', ['merchant'], entriesOf(['merchant', 'm1']), 'merchant=m1'],
  ['a configured value', ['route_/pay', 'client'], entriesOf(['route', '/pay'], ['client', '10.0.0.7']), 'route=/pay,client=10.0.0.7'],
  ['only configured values', ['route_/pay'], entriesOf(['route', '/pay']), 'route=/pay'],
  ['several values', ['a', 'b'], entriesOf(['a', '1,2'], ['b', '']), 'a=1\\,2,b='],
  ['a pattern', ['path_/api/*'], entriesOf(['path', '/api/*']), 'path=/api/*'],
  ['no rule', [], entriesOf(['x', '1'], ['y', '2']), 'x=1,y=2'],
  ['text', ['name'], entriesOf(['name', 'Zoë=日本']), 'name=Zoë\\=日本'],
  ['unprintable bytes', ['name'], entriesOf(['name', 'a\n\u001b[31m']), 'name=a\\x0a\\x1b[31m'],
])('%s', (_, path, entries, text) => {
  expect(textOf({ path, entries })).toBe(text);
});

test('bytes outside UTF-8 are shown, and differ', () => {
  const of = (value: string) => textOf({ path: ['id'], entries: [{ key: 'id', value }] });
  expect(of('\xff')).toBe('id=\\xff');
  expect(of('\xfe')).toBe('id=\\xfe');
});

test('a level with share_threshold is one key, as it is one bucket', () => {
  const shared = [sharedEntry({ key: 'path', value: '/api/*' })];
  const form = new KeyForm({ path: ['path_/api/*'], entries: entriesOf(['path', '/api/1']), shared });
  const keys = ['/api/1', '/api/2'].map((value) => form.keyOf(entriesOf(['path', value])));
  expect(keys[0]).toBe(keys[1]);
  expect(form.textOf(keys[0]!)).toBe('path=/api/*');
});

test('the first request of a pattern may be the pattern itself', () => {
  const form = new KeyForm({ path: ['path_/api/*'], entries: entriesOf(['path', '/api/*']) });
  expect(form.keyOf(entriesOf(['path', '/api/1']))).not.toBe(form.keyOf(entriesOf(['path', '/api/2'])));
});

test('long values are cut, and still differ', () => {
  const form = new KeyForm({ path: ['token'], entries: entriesOf(['token', 'x']) });
  const keys = ['a', 'b'].map((end) => form.keyOf(entriesOf(['token', `${'x'.repeat(5_000)}${end}`])));
  expect(keys[0]).not.toBe(keys[1]);
  expect(keys[0]!.length).toBeLessThanOrEqual(TOP_TEXT_BYTES_MAX);
  for (const key of keys) expect(Buffer.byteLength(form.textOf(key))).toBeLessThanOrEqual(TOP_TEXT_BYTES_MAX);
  const wide = textOf({ path: ['name'], entries: entriesOf(['name', '日'.repeat(85)]) });
  expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(TOP_TEXT_BYTES_MAX);
  expect(wide).toMatch(/^name=日+~[0-9a-f]{16}$/);
});

function randomText(random: Random): string {
  const signs = ['a', 'b', ',', '=', '\\', ';', '1', '~', '_', ' '];
  return Array.from({ length: random(5) }, () => signs[random(signs.length)]).join('');
}

test('different entries have different keys and texts, which weir explain reads back', () => {
  const { numRuns, seed } = seeded(4_000);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    const path = [['k'], ['k', 'l'], ['k_v', 'l', 'm'], []][random(4)]!;
    const draw = () =>
      path.length === 0
        ? entriesOf([`k${randomText(random)}`, randomText(random)], [`l${randomText(random)}`, randomText(random)])
        : entriesOf(...path.map((level) => [level[0]!, level === 'k_v' ? 'v' : randomText(random)] as const));
    const [a, b] = [draw(), draw()];
    const form = new KeyForm({ path, entries: a });
    const [first, second] = [form.keyOf(a), form.keyOf(b)];
    const isEqual = JSON.stringify(a) === JSON.stringify(b);
    expect(first === second).toBe(isEqual);
    expect(form.textOf(first) === form.textOf(second)).toBe(isEqual);
    expect(readDescriptors('--descriptor', [form.textOf(first)])).toEqual([a]);
  }
});
