/** The digest by which a store recognizes that a repeated id belongs to the same write. */

import { createHash } from 'node:crypto';
import type { ControlWrite } from './control-store';

/** Whether a store has lost what is to be deleted may change between two tries of one write. */
export function digestOf({ changes, audit }: Pick<ControlWrite, 'changes' | 'audit'>): string {
  const asked = changes.map(({ expect, ...change }) => ({ ...change, ...(expect !== undefined && expect !== 'lost' && { expect }) }));
  return createHash('sha256')
    .update(JSON.stringify([asked, audit.action, audit.details]))
    .digest('hex');
}
