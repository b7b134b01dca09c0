/** The versions of Envoy before the one that the other tests use. */

import { listPinned, type PinnedVersion } from './pinned-versions';

export function listOlderEnvoys(): PinnedVersion[] {
  return listPinned('install/older-envoys.mjs');
}
