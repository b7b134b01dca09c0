/** The index of selectors finds the right record among thousands of changing values and keys. */

import type { SelectorRecord } from '../../../src/state/control/control-record';
import { SelectorIndex, type Selector } from '../../../src/state/control/selector-index';
import { randomFrom, seededInFull } from '../../support/random/random';

function blockOn(key: string, value: string | undefined, id: string): SelectorRecord {
  return { kind: 'block', domain: 'd', id, entries: [{ key, ...(value !== undefined && { value }) }] };
}

const selected = (index: SelectorIndex, key: string, value: string) => index.select([{ key, value }])?.block?.id;

test('random changes of thousands of values: the block with the least id of each value is found', () => {
  const { numRuns, seed } = seededInFull(40_000);
  const random = randomFrom({ seed });
  const index = new SelectorIndex();
  const model = new Map<string, Map<string, Selector>>();
  for (let run = 0; run < numRuns; run += 1) {
    const value = `${random(2) === 0 ? 'prefix-' : ''}${random(3_000)}`;
    const id = `i${random(3)}`;
    const ofValue = model.get(value) ?? new Map<string, Selector>();
    model.set(value, ofValue);
    const there = ofValue.get(id);
    if (there === undefined) {
      ofValue.set(id, index.add({ record: blockOn('k', value, id), version: run, mark: 0, expiry: undefined }));
    } else if (random(3) > 0) {
      index.remove(there);
      index.remove(there);
      ofValue.delete(id);
    }
    const asked = `${random(2) === 0 ? 'prefix-' : ''}${random(3_000)}`;
    expect(selected(index, 'k', asked)).toBe([...(model.get(asked)?.keys() ?? [])].sort()[0]);
  }
  expect(index.size).toBe([...model.values()].reduce((sum, { size }) => sum + size, 0));
  for (const ofValue of model.values()) for (const selector of ofValue.values()) index.remove(selector);
  expect(index.size).toBe(0);
});

test('records with few keys and with many keys are found, also after some are gone', () => {
  const index = new SelectorIndex();
  const keys = Array.from({ length: 12 }, (_, i) => `key${i}`);
  const added = keys.map((key, i) =>
    index.add({ record: blockOn(key, i % 2 === 0 ? 'v' : undefined, key), version: i, mark: 0, expiry: undefined }),
  );
  expect(keys.map((key) => selected(index, key, 'v'))).toEqual(keys);
  expect(keys.map((key) => selected(index, key, 'w'))).toEqual(keys.map((key, i) => (i % 2 === 0 ? undefined : key)));
  for (const selector of added.slice(2)) index.remove(selector);
  expect(keys.map((key) => selected(index, key, 'v'))).toEqual(keys.map((key, i) => (i < 2 ? key : undefined)));
});

test('a value longer than any record may have is not looked up', () => {
  const index = new SelectorIndex();
  index.add({ record: blockOn('k', 'v', 'b'), version: 1, mark: 0, expiry: undefined });
  expect(selected(index, 'k', 'v'.repeat(1_000_000))).toBeUndefined();
});
