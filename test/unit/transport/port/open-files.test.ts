/** Connections of all ports together leave some of the open files that the system allows. */

import { limitConnections } from '../../../../src/server/transport/port/open-files';

test.each<[number | undefined, boolean]>([
  [undefined, false],
  [1_048_576, false],
  [65_536, false],
  [1_024, true],
  [256, true],
  [64, true],
])('all ports together leave some of %s open files', (filesMax, isLowered) => {
  const limits = limitConnections({ grpc: 16_384, http: 10_000, debug: 1_000 }, filesMax);
  expect(limits.isLowered).toBe(isLowered);
  expect(limits.grpc + limits.http + 2 * limits.debug).toBeLessThanOrEqual((filesMax ?? Infinity) - 40);
  expect(Math.min(limits.grpc, limits.http, limits.debug)).toBeGreaterThanOrEqual(1);
});
