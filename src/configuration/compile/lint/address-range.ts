/** Warns of values that look like address ranges, but are compared literally. */

import { joinPath, show } from '../../../lib/quote';
import { parseNetwork } from '../../../lib/address';
import type { Declared } from './declared-level';

export function warnOfAddressRange({ spec }: Declared): void {
  if (spec.network !== undefined || !spec.value.includes('/') || parseNetwork(spec.value) === undefined) return;
  const message = `${show(spec.value)} looks like an address range, but is compared literally; add match: cidr`;
  spec.problems.warn({ rule: 'address-range', offset: spec.offset, path: joinPath(spec.path, 'value'), message });
}
