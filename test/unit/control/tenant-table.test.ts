/** The table of tenants has the same tenants as a Map. */

import { TenantTable } from '../../../src/state/control/tenants/tenant-table';
import { randomFrom, seededInFull } from '../../support/random/random';

test('random changes: the same tenants as in a Map', () => {
  const { numRuns, seed } = seededInFull(60_000);
  const random = randomFrom({ seed });
  const table = new TenantTable();
  const model = new Map<string, { plan: number; version: number; mark: number }>();
  for (let run = 0; run < numRuns; run += 1) {
    const name = { domain: random(2), tenant: 'x'.repeat(random(3)) + String(random(6_000)) };
    const key = `${name.domain} ${name.tenant}`;
    const action = random(10);
    if (action < 5) {
      const entry = { plan: random(5), version: 1.7e15 + random(1e9), mark: random(65_536) };
      table.set(name, entry);
      model.set(key, entry);
    } else if (action < 8) {
      expect(table.delete(name)).toBe(model.delete(key));
    } else if (action === 8) {
      expect(table.get(name)).toEqual(model.get(key));
    } else {
      expect(table.planOf(name.domain, name.tenant)).toBe(model.get(key)?.plan ?? -1);
    }
  }
  expect(table.size).toBe(model.size);
  const names = [...table.namesInParts()].flat().map(({ domain, tenant }) => `${domain} ${tenant}`);
  expect(names.sort()).toEqual([...model.keys()].sort());
});

test('names of all bytes and lengths are apart', () => {
  const table = new TenantTable();
  const names = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).concat('', 'é'.repeat(300));
  names.forEach((tenant, plan) => {
    table.set({ domain: 0, tenant }, { plan, version: 1, mark: 0 });
  });
  expect(names.map((tenant) => table.planOf(0, tenant))).toEqual(names.map((_, plan) => plan));
  expect(table.planOf(1, '')).toBe(-1);
});
