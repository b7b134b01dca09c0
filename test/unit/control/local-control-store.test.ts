/** A page of a scan of control data in memory is small, whatever the names have in common. */

import { CHANGES_MAX } from '../../../src/state/control/control-store';
import { LocalControlStore } from '../../../src/state/control/local-control-store';
import { NOTE } from '../../support/control/control-harness';

test('pages of a scan are small, whatever the names have in common', async () => {
  const store = new LocalControlStore({ nowUs: () => 1 });
  const names = Array.from({ length: 5_000 }, (_, i) => `customer-${i}@example.com`);
  for (let at = 0; at < names.length; at += CHANGES_MAX) {
    const changes = names
      .slice(at, at + CHANGES_MAX)
      .map((tenant) => ({ put: { kind: 'tenant', domain: 'd', tenant, plan: 'p' } as const }));
    await store.write({ changes, audit: NOTE });
  }
  const sizes: number[] = [];
  let cursor: string | undefined;
  do {
    const { records, next } = await store.scan({ kind: 'tenant', limit: 100, ...(cursor !== undefined && { cursor }) });
    sizes.push(records.length);
    cursor = next;
  } while (cursor !== undefined);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(names.length);
  expect(Math.max(...sizes)).toBeLessThan(200);
});
